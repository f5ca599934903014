//! What was lent, so that no record shows it.

use secrecy::{ExposeSecret, SecretString};

/// The shortest value that is looked for. A shorter one stands in ordinary words.
pub const LENT_BYTES_MIN: usize = 8;

/// The exact values that were lent.
#[derive(Debug, Clone, Default)]
pub struct Lent {
    values: Vec<SecretString>,
    too_short: usize,
}

impl Lent {
    /// Notes a value that was lent. A value that is known already is not noted twice.
    pub fn add(&mut self, value: &SecretString) {
        let text = value.expose_secret();
        if text.len() < LENT_BYTES_MIN {
            self.too_short += 1;
        } else if !self.values.iter().any(|known| known.expose_secret() == text) {
            self.values.push(value.clone());
        }
    }

    /// The values that are to be kept out of records, each of at least [`LENT_BYTES_MIN`] bytes.
    pub fn values(&self) -> impl Iterator<Item = &SecretString> {
        self.values.iter()
    }

    /// How many values were too short to be looked for, to be reported.
    #[must_use]
    pub fn too_short(&self) -> usize {
        self.too_short
    }
}
