//! Runs the house rules and the benchmarks.

fn main() {}
