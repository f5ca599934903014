//! Sends a context to a model and yields what it says.
