//! Stores and lends credentials.
