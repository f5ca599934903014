//! Turns chock.zon and config.zon into typed values.
