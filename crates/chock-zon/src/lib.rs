//! Reads ZON text into any serde type, with the line and column of every fault.
