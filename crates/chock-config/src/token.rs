//! A credential as it stands in a file.

use std::fmt;

use serde::Deserialize;

/// A token that shows itself to nobody by accident.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Token(String);

/// The longest token in bytes. The longest known ones have about four thousand.
const TOKEN_BYTES_MAX: usize = 65_536;

/// Why a text is no token. The text itself is never part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenFault {
    /// There is nothing in it.
    #[error("the token is empty")]
    Empty,
    /// It has more than 65,536 bytes.
    #[error("the token is longer than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    /// It could not stand in a header.
    #[error("a token has only visible ASCII characters, without blanks")]
    Character,
}

impl Token {
    /// Takes a token.
    ///
    /// # Errors
    ///
    /// It is empty, too long, or could not stand in an HTTP header.
    pub fn new(text: impl Into<String>) -> Result<Self, TokenFault> {
        let text = text.into();
        if text.is_empty() {
            return Err(TokenFault::Empty);
        }
        if text.len() > TOKEN_BYTES_MAX {
            return Err(TokenFault::TooLong);
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenFault::Character);
        }
        Ok(Self(text))
    }

    /// Shows the token, to be sent or to be kept out of a log.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Token {
    type Error = TokenFault;

    fn try_from(text: String) -> Result<Self, TokenFault> {
        Self::new(text)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(..)")
    }
}
