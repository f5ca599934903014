//! What an observer on the machine sees of a call, and after it.
