//! Turns a tool call into an act, and an outcome into words for the model.
