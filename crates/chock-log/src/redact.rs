//! Replaces secrets before a record is hashed.

use std::fmt;
use std::sync::LazyLock;

use hmac::{Hmac, KeyInit, Mac};
use regex::{Captures, Regex};
use serde_json::Value;
use sha2::Sha256;

/// The shortest exact value that is looked for; shorter ones would hit ordinary words.
const EXACT_BYTES_MIN: usize = 8;

/// How a marker begins. No shape below matches a marker.
const MARKER: &str = "[secret removed: ";

/// The well-known shapes. A named group is the kind, and what it matches is replaced.
///
/// Sources: the vendors' own descriptions of their key prefixes; RFC 7468 for PEM
/// (with `\n` as two characters too, as JSON text inside JSON has it); RFC 7519 for
/// JSON Web Tokens; RFC 3986 for the password of a URL. Words end where ASCII's do: a key behind
/// a letter of another alphabet is one, and the engine's fast paths know no other boundary.
static SHAPES: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"(?<provider_key>(?-u:\b)sk-(?:ant-|proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,})",
        r"(?<aws_key_id>(?-u:\b)(?:AKIA|ASIA)[0-9A-Z]{16}(?-u:\b))",
        r#"(?i:aws_secret_access_key|secretaccesskey)["'\\]*\s*[=:]\s*["'\\]*(?<aws_secret>[A-Za-z0-9/+]{40})"#,
        r"(?<github_token>(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}))",
        r"(?<private_key>-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z))",
        r"(?<json_web_token>(?-u:\b)eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})",
        r#"(?-u:\b)[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@"'\\]*:(?<url_password>[^/\s@"'\\]+)@"#,
    ];
    Regex::new(&shapes.join("|")).expect("invariant: the shapes are one valid expression")
});

/// What every shape has in it: text without any of these has no shape, which most text is told by
/// at the speed of a search for words.
static HINTS: LazyLock<Regex> = LazyLock::new(|| {
    let words = r"sk-|AKIA|ASIA|gh[pousr]_|github_pat_|-----BEGIN|eyJ|://|(?i:cces)";
    Regex::new(words).expect("invariant: the words are one valid expression")
});

/// Whether `text` can hold a shape.
pub(crate) fn is_hinted(text: &str) -> bool {
    HINTS.is_match(text)
}

/// How much is replaced in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// Lent values and everything that looks like a secret.
    All,
    /// Lent values only: a question shows every other byte of what it approves.
    LentOnly,
}

/// Knows the secrets of a run and replaces them with markers.
///
/// A marker holds the kind and a digest keyed by the installation, so that the same
/// secret is recognised in two records and cannot be guessed from either.
#[derive(Clone)]
pub struct Redactor {
    lent: Vec<String>,
    /// Any of them: one search for all.
    any_lent: Option<Regex>,
    key: [u8; 32],
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Redactor").field("lent", &self.lent.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Takes the exact values lent to this run and the installation's key.
    ///
    /// Values under 8 bytes are left out. Each value is also looked for as JSON spells it.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = String>, key: [u8; 32]) -> Self {
        let mut lent = Vec::new();
        for value in values {
            if value.len() < EXACT_BYTES_MIN {
                continue;
            }
            let spelled = serde_json::to_string(&value)
                .expect("invariant: text is always JSON")
                .trim_matches('"')
                .to_owned();
            if spelled != value {
                lent.push(spelled);
            }
            lent.push(value);
        }
        // The longest match at a place is replaced, so longer values are tried first.
        lent.sort_by_key(|value| std::cmp::Reverse(value.len()));
        lent.dedup();
        let any: Vec<_> = lent.iter().map(|value| regex::escape(value)).collect();
        // Values that are too large for one search are searched for one by one.
        let any_lent = (!any.is_empty()).then(|| Regex::new(&any.join("|")).ok()).flatten();
        Self { lent, any_lent, key }
    }

    /// Replaces the secrets in `text`; nothing when there are none.
    #[must_use]
    pub fn text(&self, text: &str, mask: Mask) -> Option<String> {
        let mut replaced = None;
        for value in self.lent_in(text) {
            let now = replaced.as_deref().unwrap_or(text);
            if now.contains(value.as_str()) {
                replaced = Some(now.replace(value.as_str(), &self.marker("lent", value)));
            }
        }
        let now = replaced.as_deref().unwrap_or(text);
        if mask == Mask::All && is_hinted(now) && SHAPES.is_match(now) {
            replaced = Some(
                SHAPES.replace_all(now, |found: &Captures<'_>| self.shape(found)).into_owned(),
            );
        }
        replaced
    }

    /// Replaces the secrets in bytes that need not be text; nothing when there are none.
    ///
    /// What is no UTF-8 stays as it is, and no secret reaches over it.
    #[must_use]
    pub fn bytes(&self, bytes: &[u8], mask: Mask) -> Option<Vec<u8>> {
        let (mut replaced, mut any) = (Vec::with_capacity(bytes.len()), false);
        for chunk in bytes.utf8_chunks() {
            let masked = self.text(chunk.valid(), mask);
            any |= masked.is_some();
            replaced.extend_from_slice(masked.as_deref().unwrap_or(chunk.valid()).as_bytes());
            replaced.extend_from_slice(chunk.invalid());
        }
        any.then_some(replaced)
    }

    /// Replaces the secrets in every text of `value` and says whether there were any.
    ///
    /// Signed reasoning is left as it is: a provider refuses it with one byte changed.
    pub fn value(&self, value: &mut Value, mask: Mask) -> bool {
        match value {
            Value::String(text) => match self.text(text, mask) {
                Some(replaced) => {
                    *text = replaced;
                    true
                }
                None => false,
            },
            Value::Array(items) => {
                items.iter_mut().fold(false, |any, item| self.value(item, mask) | any)
            }
            Value::Object(fields) if fields.contains_key("signature") => false,
            Value::Object(fields) => {
                fields.values_mut().fold(false, |any, field| self.value(field, mask) | any)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns the lent values if any of them stands in `text`.
    fn lent_in(&self, text: &str) -> &[String] {
        let is_there = self.any_lent.as_ref().is_none_or(|any| any.is_match(text));
        if is_there { &self.lent } else { &[] }
    }

    /// Returns how many bytes at the end of `text` could be the beginning of a lent value.
    pub(crate) fn begun(&self, text: &str) -> usize {
        let text = text.as_bytes();
        let begun = |value: &String| {
            let value = value.as_bytes();
            (1..value.len()).rev().find(|length| text.ends_with(&value[..*length])).unwrap_or(0)
        };
        self.lent.iter().map(begun).max().unwrap_or(0)
    }

    /// Returns the last place in `text`, up to `place`, that cuts no secret in two.
    pub(crate) fn uncut(&self, text: &str, mut place: usize) -> usize {
        let hinted = is_hinted(text);
        while place < text.len() {
            let lent = self.lent_in(text).iter().flat_map(|value| {
                text.match_indices(value.as_str()).map(|(start, value)| start..start + value.len())
            });
            let shaped = if hinted { text } else { "" };
            let all = SHAPES.find_iter(shaped).map(|found| found.range()).chain(lent);
            let cut = all.filter(|found| found.start < place && found.end > place);
            let Some(start) = cut.map(|found| found.start).min() else { return place };
            place = start;
        }
        place
    }

    fn shape(&self, found: &Captures<'_>) -> String {
        let whole = found.get_match();
        let secret = SHAPES
            .capture_names()
            .flatten()
            .find_map(|kind| found.name(kind).map(|secret| (kind, secret)))
            .filter(|(_, secret)| !secret.as_str().starts_with(MARKER));
        let Some((kind, secret)) = secret else { return whole.as_str().to_owned() };
        let text = whole.as_str();
        let (start, end) = (secret.start() - whole.start(), secret.end() - whole.start());
        format!("{}{}{}", &text[..start], self.marker(kind, secret.as_str()), &text[end..])
    }

    fn marker(&self, kind: &str, secret: &str) -> String {
        let mut digest = Hmac::<Sha256>::new_from_slice(&self.key)
            .expect("invariant: a keyed digest takes a key of any length");
        digest.update(secret.as_bytes());
        let bytes = digest.finalize().into_bytes();
        let short: String = bytes[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{MARKER}{kind} {short}]")
    }
}

/// Says whether `text` holds a marker, so that it is not taken for the original.
#[must_use]
pub fn holds_marker(text: &str) -> bool {
    text.contains(MARKER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(["hunter2-hunter2".to_owned(), "short".to_owned()], [7; 32])
    }

    fn check(text: &str, secret: &str, kind: &str) {
        assert!(is_hinted(text), "{text}");
        let replaced = redactor().text(text, Mask::All).unwrap_or_else(|| panic!("kept: {text}"));
        assert!(!replaced.contains(secret), "{replaced}");
        assert!(replaced.contains(&format!("{MARKER}{kind} ")), "{replaced}");
        let again = redactor().text(&replaced, Mask::All);
        assert_eq!(again, None, "a marker is left alone");
    }

    #[test]
    fn every_shape_is_replaced() {
        // Pieces are joined here so that no line of this file looks like a secret itself.
        let body = "abcdefghij0123456789";
        let key = format!("sk-{}{body}{body}", "ant-api03-");
        check(&format!("key={key}."), &key, "provider_key");
        let id = format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE");
        check(&id, &id, "aws_key_id");
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        check(&format!("aws_secret_access_key = {secret}"), secret, "aws_secret");
        let token = format!("{}_{body}{body}", "ghp");
        check(&token, &token, "github_token");
        let pem = |newline: &str| {
            let (begin, end) = ("-----BEGIN RSA", "-----END RSA");
            format!("{begin} PRIVATE KEY-----{newline}{body}{newline}{end} PRIVATE KEY-----")
        };
        check(&pem("\n"), body, "private_key");
        check(&pem("\\n"), body, "private_key");
        let token = format!("{}.{}.{body}", "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0");
        check(&format!("Bearer {token}"), &token, "json_web_token");
        check("git clone https://me:s3cret@example.com/x", "s3cret", "url_password");
        check(&format!("鍵は{id}です"), &id, "aws_key_id");
    }

    #[test]
    fn lent_values_go_even_where_shapes_stay() {
        let url = "https://me:s3cret@example.com and hunter2-hunter2";
        let replaced = redactor().text(url, Mask::LentOnly).expect("a lent value is there");
        assert!(replaced.contains("s3cret") && !replaced.contains("hunter2"));
    }

    #[test]
    fn bytes_around_a_secret_stay() {
        let masked =
            redactor().bytes(b"\xff\x00hunter2-hunter2\xfe\n", Mask::All).expect("a secret");
        assert!(masked.starts_with(b"\xff\x00[secret") && masked.ends_with(b"]\xfe\n"));
        assert_eq!(redactor().bytes(b"\xffhunter2\xfe-hunter2", Mask::All), None);
    }

    #[test]
    fn ordinary_text_is_untouched() {
        for text in ["", "short", "sk-1", "http://localhost:8080/x", "a:b@c", "task-01 is sk-ipped"]
        {
            assert_eq!(redactor().text(text, Mask::All), None, "{text:?}");
        }
    }

    #[test]
    fn signed_reasoning_is_untouched() {
        let mut value = serde_json::json!({ "text": "hunter2-hunter2", "signature": "x" });
        assert!(!redactor().value(&mut value, Mask::All));
    }
}
