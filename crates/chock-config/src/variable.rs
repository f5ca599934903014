//! Names of environment variables that are let in.

use std::fmt;

use serde::Deserialize;

/// The most variables that one project asks for.
pub const VARIABLES_MAX: usize = 64;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 128;

/// Variables whose value inside the sandbox is chock's own.
const OWN: [&str; 8] = ["HOME", "PATH", "PWD", "SHELL", "TMPDIR", "USER", "LOGNAME", "OLDPWD"];

/// The exact name of an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct VariableName(String);

/// Why a variable cannot be let in by its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VariableFault {
    /// It is no name, or a pattern.
    #[error(
        "a variable's name has letters, digits and `_`, at most {NAME_BYTES_MAX}, and is exact"
    )]
    Spelling,
    /// Its value inside is chock's own.
    #[error("chock sets `{0}` itself; the value outside means nothing inside")]
    Own(String),
}

impl VariableName {
    /// Shows the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for VariableName {
    type Error = VariableFault;

    fn try_from(text: String) -> Result<Self, VariableFault> {
        let starts = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        let fits = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !starts || !fits || text.len() > NAME_BYTES_MAX {
            return Err(VariableFault::Spelling);
        }
        if OWN.contains(&text.as_str()) || text.starts_with("CHOCK_") {
            return Err(VariableFault::Own(text));
        }
        Ok(Self(text))
    }
}

impl fmt::Display for VariableName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
