//! Finds the credential of a provider.

use std::path::Path;

use chock_config::{Credential, Provider, TEXT_BYTES_MAX, Token, TokenFault, Tokens};
use secrecy::SecretString;

use crate::fault::AuthFault;
use crate::private::{self, TOKEN_BYTES_MAX};
use crate::store::{Store, Stored};

/// The file beside `config.zon` that holds tokens by the name of their provider.
pub const TOKENS_FILE: &str = "tokens.zon";

/// Lends the credential of a provider; none when nothing names one.
///
/// `config` is the directory of `config.zon`, `home` the person's own. The row's `token`
/// or `token_file` comes first, then [`TOKENS_FILE`] in `config`, then what signing in stored.
///
/// # Errors
///
/// A file that should hold the credential cannot be used.
pub fn lend(
    provider: &Provider,
    config: &Path,
    home: Option<&Path>,
    store: &Store,
) -> Result<Option<Stored>, AuthFault> {
    let key = match &provider.credential {
        Credential::Token(token) => Some(secret(token)),
        Credential::TokenFile(path) => Some(token_in(&path.resolve(config, home))?),
        Credential::Absent => from_tokens(&provider.name, config)?,
    };
    match key {
        Some(key) => Ok(Some(Stored::Key(key))),
        None => store
            .read(&provider.name)
            .map_err(|source| AuthFault::Stored { source: Box::new(source) }),
    }
}

fn secret(token: &Token) -> SecretString {
    SecretString::from(token.reveal())
}

/// Reads the token in a file that only its person may read.
///
/// # Errors
///
/// It is not there, others may read it, or it holds no token.
pub fn token_in(path: &Path) -> Result<SecretString, AuthFault> {
    let Some(bytes) = private::read(path, TOKEN_BYTES_MAX)? else {
        return Err(AuthFault::Absent { path: path.to_owned() });
    };
    // An editor puts a line end behind what was typed.
    let text = String::from_utf8(bytes).map_err(|_| TokenFault::Character);
    let token = text.and_then(|text| Token::new(text.trim_ascii()));
    let unusable = |source| AuthFault::Unusable { path: path.to_owned(), source };
    token.map(|token| secret(&token)).map_err(unusable)
}

fn from_tokens(provider: &str, config: &Path) -> Result<Option<SecretString>, AuthFault> {
    let path = config.join(TOKENS_FILE);
    let Some(bytes) = private::read(&path, TEXT_BYTES_MAX)? else { return Ok(None) };
    let tokens = Tokens::read_bytes(TOKENS_FILE, &bytes);
    let tokens = tokens.map_err(|source| AuthFault::Tokens { path, source })?;
    Ok(tokens.get(provider).map(secret))
}
