//! Judges one act, records the answer and hands over the permit.
