//! What a token says of its account: read, and trusted for nothing but names and times.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Where the issuer of ChatGPT accounts keeps its own claims.
const AUTH: &str = "https://api.openai.com/auth";
const PROFILE: &str = "https://api.openai.com/profile";

/// The longest value that is taken over, in bytes.
const VALUE_BYTES_MAX: usize = 256;

/// What the middle part of a token says. The signature is the issuer's own matter: the token
/// came from it, over TLS, and goes back to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) account: Option<String>,
    pub(crate) plan: Option<String>,
    pub(crate) email: Option<String>,
    pub(crate) expires: Option<u64>,
}

impl Claims {
    /// Reads a token; one that is none says nothing.
    pub(crate) fn of(token: &str) -> Self {
        let payload = token.split('.').nth(1).unwrap_or_default();
        let bytes = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).unwrap_or_default();
        let claims: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let own = &claims[AUTH];
        let first = |values: [&Value; 4]| values.into_iter().find_map(word);
        Self {
            account: first([
                &claims["chatgpt_account_id"],
                &own["chatgpt_account_id"],
                &own["organizations"][0]["id"],
                &claims["organizations"][0]["id"],
            ]),
            plan: word(&own["chatgpt_plan_type"]),
            email: word(&claims["email"]).or_else(|| word(&claims[PROFILE]["email"])),
            expires: claims["exp"].as_u64(),
        }
    }

    /// Fills in what `other` knows and this does not.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            account: self.account.or(other.account),
            plan: self.plan.or(other.plan),
            email: self.email.or(other.email),
            expires: self.expires.or(other.expires),
        }
    }
}

/// A value that can stand in a header and on a terminal.
fn word(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let fits = (1..=VALUE_BYTES_MAX).contains(&text.len());
    (fits && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn names_are_found_where_issuers_put_them() {
        let own = json!({ "chatgpt_account_id": "a-1", "chatgpt_plan_type": "plus" });
        let claims = Claims::of(&token(&json!({ AUTH: own, "email": "x@y", "exp": 17 })));
        assert_eq!(claims.account.as_deref(), Some("a-1"));
        assert_eq!(claims.plan.as_deref(), Some("plus"));
        assert_eq!((claims.email.as_deref(), claims.expires), (Some("x@y"), Some(17)));

        let top = Claims::of(&token(&json!({ "chatgpt_account_id": "a-2", AUTH: own })));
        assert_eq!(top.account.as_deref(), Some("a-2"));
        let organisation = json!({ "organizations": [{ "id": "org-1" }] });
        assert_eq!(Claims::of(&token(&organisation)).account.as_deref(), Some("org-1"));
        let profile = json!({ PROFILE: { "email": "p@y" } });
        assert_eq!(Claims::of(&token(&profile)).email.as_deref(), Some("p@y"));
    }

    #[test]
    fn what_is_no_token_or_no_word_says_nothing() {
        let odd = json!({ "chatgpt_account_id": "a\r\nHost: b", "email": "\u{1b}[2J", "exp": "x" });
        for text in ["", "x", "a.b.c", "a.!!.c", &token(&odd), &token(&json!([1]))] {
            assert_eq!(Claims::of(text), Claims::default(), "{text}");
        }
    }
}
