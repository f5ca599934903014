//! The issuer's token endpoint: codes and refresh tokens against new tokens, and their end.

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use super::claims::Claims;
use super::wire::{Answer, Body, Told, Wire, WireFault, post};
use super::{Account, Issuer, SignInFault};

/// How long an access token is taken to last when nobody says it: an hour.
const LIFE_SECONDS: u64 = 3600;

/// What the endpoint answers. More fields may be there.
#[derive(Deserialize)]
struct Tokens {
    access_token: String,
    refresh_token: Option<String>,
    id_token: Option<String>,
    expires_in: Option<u64>,
}

/// Why a refresh token gave nothing.
pub(crate) enum Unrenewed {
    /// It never will.
    ForGood(String),
    /// It may later.
    ForNow(String),
    /// There was no answer.
    Silent(WireFault),
}

/// Whether the issuer forgot an account's tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    /// It did.
    Yes,
    /// It does not do that, or did not answer.
    No,
}

/// Redeems a code. `verifier` proves that it was asked for here.
pub(crate) fn redeem(
    issuer: &Issuer,
    wire: &dyn Wire,
    code: &SecretString,
    verifier: &SecretString,
    redirect: &str,
) -> Result<Answer, SignInFault> {
    let (code, verifier) = (code.expose_secret(), verifier.expose_secret());
    let url = issuer.at("/oauth/token");
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect),
        ("client_id", &issuer.client_id),
        ("code_verifier", verifier),
    ];
    let answer = post(wire, &url, &Body::Form(&fields))
        .map_err(|source| SignInFault::Unreachable { url, source })?;
    if answer.status != 200 {
        let words = Told::of(&answer, &[code, verifier]).words;
        return Err(SignInFault::Refused { status: answer.status, words });
    }
    Ok(answer)
}

/// Makes an account of a redeemed code's answer.
pub(crate) fn account(issuer: &Issuer, answer: &Answer, now: u64) -> Result<Account, SignInFault> {
    let nonsense = |reason| SignInFault::Nonsense { reason };
    let tokens = tokens(answer).ok_or(nonsense("it holds no access token"))?;
    if tokens.refresh_token.is_none() {
        return Err(nonsense("it holds no refresh token"));
    }
    Ok(tokens.account(issuer, now))
}

/// Spends a refresh token.
pub(crate) fn refresh(
    issuer: &Issuer,
    wire: &dyn Wire,
    account: &Account,
    now: u64,
) -> Result<Account, Unrenewed> {
    let Some(token) = &account.refresh else {
        return Err(Unrenewed::ForGood("there is no refresh token".to_owned()));
    };
    let token = token.expose_secret();
    let fields = [
        ("grant_type", "refresh_token"),
        ("refresh_token", token),
        ("client_id", account.client_id.as_str()),
    ];
    let answer = post(wire, &issuer.at("/oauth/token"), &Body::Json(&fields));
    let answer = answer.map_err(Unrenewed::Silent)?;
    if answer.status == 200 {
        let tokens = tokens(&answer);
        let tokens =
            tokens.ok_or_else(|| Unrenewed::ForNow("it answered without a token".to_owned()))?;
        return Ok(tokens.account(issuer, now).after(account));
    }
    let told = Told::of(&answer, &[token]);
    // A page of a proxy has no code, and says nothing about the token.
    let for_good = matches!(answer.status, 400 | 401) && !told.codes.is_empty();
    let words = format!("{} (status {})", told.words, answer.status);
    Err(if for_good { Unrenewed::ForGood(words) } else { Unrenewed::ForNow(words) })
}

/// Asks the issuer of an account to forget its tokens. Source: RFC 7009.
pub fn revoke(wire: &dyn Wire, account: &Account) -> Revoked {
    let (token, hint) = match &account.refresh {
        Some(token) => (token, "refresh_token"),
        None => (&account.access, "access_token"),
    };
    let fields = [
        ("token", token.expose_secret()),
        ("token_type_hint", hint),
        ("client_id", account.client_id.as_str()),
    ];
    let url = format!("{}/oauth/revoke", account.issuer);
    match post(wire, &url, &Body::Form(&fields)) {
        Ok(answer) if answer.status == 200 => Revoked::Yes,
        Ok(_) | Err(_) => Revoked::No,
    }
}

fn tokens(answer: &Answer) -> Option<Tokens> {
    let tokens: Tokens = serde_json::from_slice(&answer.body).ok()?;
    let fits = |token: &String| chock_config::Token::new(token.as_str()).is_ok();
    let good = fits(&tokens.access_token) && tokens.refresh_token.as_ref().is_none_or(fits);
    good.then_some(tokens)
}

impl Tokens {
    fn account(self, issuer: &Issuer, now: u64) -> Account {
        let access = Claims::of(&self.access_token);
        let told = self.expires_in.map(|seconds| now.saturating_add(seconds));
        let expires = access.expires.or(told).unwrap_or(now.saturating_add(LIFE_SECONDS));
        let claims = Claims::of(self.id_token.as_deref().unwrap_or_default()).or(access);
        Account {
            issuer: issuer.url.clone(),
            client_id: issuer.client_id.clone(),
            access: self.access_token.into(),
            refresh: self.refresh_token.map(SecretString::from),
            expires,
            renewed: now,
            id: claims.account,
            plan: claims.plan,
            email: claims.email,
        }
    }
}

impl Account {
    /// Fills in what the tokens before these said.
    fn after(self, before: &Self) -> Self {
        Self {
            client_id: before.client_id.clone(),
            refresh: self.refresh.or_else(|| before.refresh.clone()),
            id: self.id.or_else(|| before.id.clone()),
            plan: self.plan.or_else(|| before.plan.clone()),
            email: self.email.or_else(|| before.email.clone()),
            ..self
        }
    }
}
