//! Finds the credential of a provider.

use std::path::Path;

use chock_config::{Credential, PersonPath, Provider, TEXT_BYTES_MAX, Token, TokenFault, Tokens};
use secrecy::SecretString;

use crate::fault::AuthFault;
use crate::private::{self, TOKEN_BYTES_MAX};

/// The file beside `config.zon` that holds tokens by the name of their provider.
pub const TOKENS_FILE: &str = "tokens.zon";

/// Lends the credential of a provider; none when nothing names one.
///
/// `config` is the directory of `config.zon`, `home` the person's own. The row's `token`
/// or `token_file` comes first, [`TOKENS_FILE`] in `config` last.
///
/// # Errors
///
/// A file that should hold the credential cannot be used.
pub fn lend(
    provider: &Provider,
    config: &Path,
    home: Option<&Path>,
) -> Result<Option<SecretString>, AuthFault> {
    match &provider.credential {
        Credential::Token(token) => Ok(Some(secret(token))),
        Credential::TokenFile(path) => from_file(path, config, home).map(Some),
        Credential::Absent => from_tokens(&provider.name, config),
    }
}

fn secret(token: &Token) -> SecretString {
    SecretString::from(token.reveal())
}

fn from_file(
    path: &PersonPath,
    config: &Path,
    home: Option<&Path>,
) -> Result<SecretString, AuthFault> {
    let path = path.resolve(config, home);
    let Some(bytes) = private::read(&path, TOKEN_BYTES_MAX)? else {
        return Err(AuthFault::Absent { path });
    };
    // An editor puts a line end behind what was typed.
    let text = String::from_utf8(bytes).map_err(|_| TokenFault::Character);
    let token = text.and_then(|text| Token::new(text.trim_ascii()));
    token.as_ref().map(secret).map_err(|source| AuthFault::Unusable { path, source: *source })
}

fn from_tokens(provider: &str, config: &Path) -> Result<Option<SecretString>, AuthFault> {
    let path = config.join(TOKENS_FILE);
    let Some(bytes) = private::read(&path, TEXT_BYTES_MAX)? else { return Ok(None) };
    let tokens = Tokens::read_bytes(TOKENS_FILE, &bytes);
    let tokens = tokens.map_err(|source| AuthFault::Tokens { path, source })?;
    Ok(tokens.get(provider).map(secret))
}
