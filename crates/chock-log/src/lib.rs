//! Keeps the session as an append-only hash chain and turns a durable approval into a permit.
