//! Runs one permitted program in the operating system's sandbox, or refuses.
