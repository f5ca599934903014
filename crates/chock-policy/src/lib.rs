//! Answers how much of an action an agent may do.
