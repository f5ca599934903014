//! The sign-in with a browser on this machine.

use std::time::Duration;

use secrecy::SecretString;
use url::Url;
use url::form_urlencoded::Serializer;

use super::callback::{Callback, Visit};
use super::pkce::{Pkce, word};
use super::wire::{Wire, one_line};
use super::{Account, Issuer, SignInFault, grant};

/// Where the issuer sends the browser back to, at the callback's port.
const PATH: &str = "/auth/callback";

/// What the page of the browser says when it came back.
const DONE: &str = "Chock has what it needs. Close this page and go back to the terminal.";

/// A sign-in that waits for the browser to come back.
pub struct BrowserSignIn {
    issuer: Issuer,
    callback: Callback,
    pkce: Pkce,
    state: String,
    url: String,
}

/// What the browser brought back, to be redeemed once.
pub struct Code(SecretString);

/// What an address that the browser was sent to says.
enum Returned {
    Code(Code),
    /// The issuer's words.
    No(String),
    /// It belongs to no sign-in, or not to this one.
    Strange(&'static str),
}

impl BrowserSignIn {
    /// Listens at a port that the issuer knows, and makes the address to open.
    ///
    /// # Errors
    ///
    /// All ports are taken, or the system gives no random bytes.
    pub fn begin(issuer: &Issuer) -> Result<Self, SignInFault> {
        let callback = Callback::open(&issuer.ports)?;
        let (pkce, state) = (Pkce::new()?, word()?);
        let redirect = redirect(callback.port);
        let mut query = Serializer::new(String::new());
        query.extend_pairs([
            ("response_type", "code"),
            ("client_id", &issuer.client_id),
            ("redirect_uri", &redirect),
            ("scope", &issuer.scopes),
            ("code_challenge", &pkce.challenge),
            ("code_challenge_method", "S256"),
            ("id_token_add_organizations", "true"),
            ("codex_cli_simplified_flow", "true"),
            ("state", &state),
            ("originator", &issuer.originator),
        ]);
        let url = issuer.at(&format!("/oauth/authorize?{}", query.finish()));
        Ok(Self { issuer: issuer.clone(), callback, pkce, state, url })
    }

    /// The address to open in a browser. It holds nothing secret.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Waits up to `wait` for the browser.
    ///
    /// # Errors
    ///
    /// The issuer or the person said no, or another sign-in asked for the port.
    pub fn look(&mut self, wait: Duration) -> Result<Option<Code>, SignInFault> {
        let Some(visit) = self.callback.look(wait)? else { return Ok(None) };
        self.judge(visit)
    }

    fn judge(&self, visit: Visit) -> Result<Option<Code>, SignInFault> {
        let Some(target) = visit.target.clone() else {
            visit.answer("405 Method Not Allowed", "Only GET is answered here.");
            return Ok(None);
        };
        match target.split('?').next() {
            Some(PATH) => {}
            Some("/cancel") => {
                visit.answer("200 OK", "The sign-in has ended.");
                return Err(SignInFault::Displaced);
            }
            Some(_) | None => {
                visit.answer("404 Not Found", "There is nothing here.");
                return Ok(None);
            }
        }
        match self.returned(&target) {
            Returned::Code(code) => {
                visit.answer("200 OK", DONE);
                Ok(Some(code))
            }
            Returned::No(words) => {
                visit.answer("200 OK", "The sign-in was refused. Go back to the terminal.");
                Err(SignInFault::Denied { words })
            }
            // Any page can send a browser here: that must not end the sign-in.
            Returned::Strange(_) => {
                visit.answer("400 Bad Request", "This does not belong to the sign-in that waits.");
                Ok(None)
            }
        }
    }

    /// Takes the address that the browser was sent to, when it could not come here by itself.
    ///
    /// # Errors
    ///
    /// It is none, or of another sign-in, or says no.
    pub fn pasted(&self, text: &str) -> Result<Code, SignInFault> {
        match self.returned(text.trim()) {
            Returned::Code(code) => Ok(code),
            Returned::No(words) => Err(SignInFault::Denied { words }),
            Returned::Strange(reason) => Err(SignInFault::Pasted { reason }),
        }
    }

    fn returned(&self, target: &str) -> Returned {
        let base = Url::parse("http://localhost").expect("invariant: a constant URL");
        let Ok(url) = base.join(target) else { return Returned::Strange("that is no address") };
        let value = |name: &str| {
            let mut pairs = url.query_pairs();
            pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
        };
        match value("state") {
            None => return Returned::Strange("it has no state"),
            Some(state) if state != self.state => {
                return Returned::Strange("it belongs to another sign-in");
            }
            Some(_) => {}
        }
        if let Some(error) = value("error") {
            return Returned::No(one_line(&value("error_description").unwrap_or(error)));
        }
        match value("code").filter(|code| !code.is_empty()) {
            Some(code) => Returned::Code(Code(code.into())),
            None => Returned::Strange("it has no code"),
        }
    }

    /// Redeems what the browser brought. `now` is in seconds since 1970.
    ///
    /// # Errors
    ///
    /// The issuer cannot be reached, or does not take the code.
    pub fn redeem(&self, code: &Code, wire: &dyn Wire, now: u64) -> Result<Account, SignInFault> {
        let redirect = redirect(self.callback.port);
        let answer = grant::redeem(&self.issuer, wire, &code.0, &self.pkce.verifier, &redirect)?;
        grant::account(&self.issuer, &answer, now)
    }
}

/// The redirect address as the issuer knows it: with a name, though 127.0.0.1 is listened at.
fn redirect(port: u16) -> String {
    format!("http://localhost:{port}{PATH}")
}
