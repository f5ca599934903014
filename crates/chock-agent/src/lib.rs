//! Reads what is owed next from the log and does it.
