//! How an issuer is asked: a seam, since HTTP is another's.

use std::error::Error;

use serde_json::Value;

/// The most bytes of an issuer's answer. Three tokens of 64 KiB are the most that makes sense.
pub const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// How much of an issuer's words is kept, in characters.
const WORDS_MAX: usize = 300;

/// Posts small bodies to an issuer.
///
/// What is posted and what comes back is secret: it is neither kept nor shown, and no redirect
/// is followed with it.
pub trait Wire {
    /// Posts `body` to `url` and returns the answer, whatever its status.
    ///
    /// # Errors
    ///
    /// There is no answer in time, or it has more than [`ANSWER_BYTES_MAX`] bytes.
    fn post(&self, url: &str, content_type: &str, body: Vec<u8>) -> Result<Answer, WireFault>;
}

/// What an issuer answered.
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct WireFault {
    /// What is wrong, in lower case.
    pub reason: String,
    /// The cause, if another error is one.
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// What is posted: names with their values.
pub(crate) enum Body<'a> {
    Form(&'a [(&'a str, &'a str)]),
    Json(&'a [(&'a str, &'a str)]),
}

/// What an issuer said instead of tokens.
pub(crate) struct Told {
    /// Its codes, in lower case.
    pub(crate) codes: Vec<String>,
    /// Its words on one bounded line.
    pub(crate) words: String,
}

pub(crate) fn post(wire: &dyn Wire, url: &str, body: &Body<'_>) -> Result<Answer, WireFault> {
    let (kind, bytes) = match body {
        Body::Form(fields) => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(*fields);
            ("application/x-www-form-urlencoded", form.finish().into_bytes())
        }
        Body::Json(fields) => {
            let value: serde_json::Map<_, _> = fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
                .collect();
            ("application/json", Value::Object(value).to_string().into_bytes())
        }
    };
    wire.post(url, kind, bytes)
}

impl Told {
    /// Reads the shapes of known issuers: `error` as an object or a code, `detail`.
    ///
    /// `secrets` are taken out of the words, should they be quoted there.
    pub(crate) fn of(answer: &Answer, secrets: &[&str]) -> Self {
        let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let error = value.get("error").filter(|error| error.is_object()).unwrap_or(&value);
        let text = |name: &str| error.get(name).and_then(Value::as_str);
        let codes = ["code", "type", "error"].into_iter().filter_map(text);
        let codes = codes.map(str::to_lowercase).collect();
        let words = ["message", "error_description", "detail", "error"].into_iter().find_map(text);
        let mut words = words.unwrap_or("no reason was given").to_owned();
        for secret in secrets.iter().filter(|secret| !secret.is_empty()) {
            words = words.replace(secret, "(hidden)");
        }
        Self { codes, words: one_line(&words) }
    }

    pub(crate) fn says(&self, part: &str) -> bool {
        self.codes.iter().any(|code| code.contains(part))
    }
}

/// Puts a stranger's words on one bounded line without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().take(WORDS_MAX).map(plain).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issuer_is_understood_in_its_shapes() {
        let cases = [
            (
                r#"{"error":{"code":"Refresh_Token_Reused","message":"used"}}"#,
                "refresh_token_reused",
                "used",
            ),
            (r#"{"error":"invalid_grant","error_description":"a\nb"}"#, "invalid_grant", "a b"),
            (r#"{"error":"invalid_grant"}"#, "invalid_grant", "invalid_grant"),
            (r#"{"detail":"the token t-1 is bad"}"#, "", "the token (hidden) is bad"),
            ("<html>", "", "no reason was given"),
        ];
        for (body, code, words) in cases {
            let answer = Answer { status: 400, body: body.as_bytes().to_vec() };
            let told = Told::of(&answer, &["t-1", ""]);
            assert_eq!(told.codes.join(","), code, "{body}");
            assert_eq!(told.words, words, "{body}");
        }
    }
}
