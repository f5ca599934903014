//! Parses words, builds the house and prints.

fn main() {}
