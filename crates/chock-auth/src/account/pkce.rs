//! Random words of a sign-in, and the proof that who redeems a code is who asked for it.
//!
//! Source: RFC 7636, method S256.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use secrecy::{ExposeSecret, SecretString};

use super::SignInFault;

/// A verifier that stays here and the challenge that is shown.
pub(crate) struct Pkce {
    pub(crate) verifier: SecretString,
    pub(crate) challenge: String,
}

impl Pkce {
    pub(crate) fn new() -> Result<Self, SignInFault> {
        Ok(Self::of(word()?))
    }

    fn of(verifier: String) -> Self {
        let verifier = SecretString::from(verifier);
        let challenge =
            URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.expose_secret().as_bytes()));
        Self { verifier, challenge }
    }
}

/// Makes 43 characters out of 32 random bytes.
pub(crate) fn word() -> Result<String, SignInFault> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| SignInFault::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard_comes_out() {
        // RFC 7636, appendix B.
        let pkce = Pkce::of("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned());
        assert_eq!(pkce.challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, two) = (word().expect("a word"), word().expect("a word"));
        assert!(one != two && one.len() == 43);
    }
}
