//! What a server said instead of a reply, and what that means.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::wait;

/// How much of the server's words is kept, in bytes: five lines of a terminal.
const MESSAGE_BYTES_MAX: usize = 400;

/// An error of a server in its own words.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Told {
    /// The URL that was asked; empty for an error inside a stream.
    pub(crate) url: String,
    /// The HTTP status, or the one an error inside a stream names; 0 if it names none.
    pub(crate) status: u16,
    /// `code` and `type` of the error, in lower case.
    pub(crate) codes: Vec<String>,
    /// The words, on one line.
    pub(crate) message: String,
    /// How long it asks to wait.
    pub(crate) wait: Option<Duration>,
    /// Whether another try makes sense, if it said.
    pub(crate) retry: Option<bool>,
    /// The answer was a page for a browser.
    pub(crate) page: bool,
}

/// What an error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The credential is wrong.
    Key,
    /// There is no such model.
    NoSuchModel,
    /// The conversation is too long.
    ContextTooLong,
    /// The account is used up.
    OutOfCredit,
    /// Too many requests for now.
    RateLimited,
    /// The server failed for now.
    Failed,
    /// The content was refused.
    Refused,
    /// It is no API at all.
    NotAnApi,
    /// A picture was refused, or something else about pictures.
    Picture,
    /// The request is wrong in another way.
    Rejected,
}

impl Told {
    /// Reads an answer whose status was an error.
    pub(crate) fn from_answer(status: u16, headers: &HeaderMap, kind: &str, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body);
        let retry = headers.get("x-should-retry").and_then(|value| value.to_str().ok());
        let mut told = match serde_json::from_str::<Value>(&text) {
            Ok(value) => Self::from_value(&value, wait::server_time(headers)),
            Err(_) => Self { page: is_page(kind, &text), ..Self::default() },
        };
        told.status = status;
        if told.page {
            told.message = "an HTML page".to_owned();
        } else if told.message.is_empty() {
            told.message = if text.trim().is_empty() {
                "no reason was given".to_owned()
            } else {
                one_line(&text)
            };
        }
        told.wait = told.wait.max(wait::asked(headers, &told.message));
        told.retry = retry.and_then(|value| value.parse().ok());
        told
    }

    /// Reads an error that came inside an answer whose status was 200.
    pub(crate) fn from_stream(value: &Value) -> Self {
        let mut told = Self::from_value(value, None);
        told.wait = told.wait.max(wait::asked(&HeaderMap::new(), &told.message));
        if told.message.is_empty() {
            told.message = one_line(&value.to_string());
        }
        told
    }

    /// Reads the shapes of known servers: an `error` object or text, the error itself, `detail`.
    fn from_value(value: &Value, now: Option<u64>) -> Self {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
        let words = ["message", "detail", "error", "msg"].iter().find_map(|name| {
            let words = error.get(name)?;
            Some(words.as_str().map_or_else(|| words.to_string(), str::to_owned))
        });
        let words = words.or_else(|| error.as_str().map(str::to_owned));
        let code = |name: &str| match error.get(name)? {
            Value::String(code) => Some(code.to_lowercase()),
            Value::Number(code) => Some(code.to_string()),
            _ => None,
        };
        let codes: Vec<_> = ["code", "type", "status"].into_iter().filter_map(code).collect();
        let status = codes.iter().filter_map(|code| code.parse().ok());
        let status = status.into_iter().find(|status| (400..600).contains(status)).unwrap_or(0);
        let message = one_line(&words.unwrap_or_default());
        Self { status, codes, message, wait: resets(error, now), ..Self::default() }
    }

    /// Says what the error means: by its code first, by its status next, by its words last.
    pub(crate) fn meaning(&self) -> Meaning {
        let words = self.message.to_lowercase();
        let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
        let coded = |known: &[&str]| self.codes.iter().any(|code| known.contains(&code.as_str()));

        if coded(TOO_LONG_CODES) {
            Meaning::ContextTooLong
        } else if coded(CREDIT_CODES) || self.status == 402 {
            Meaning::OutOfCredit
        } else if coded(REFUSED_CODES) {
            Meaning::Refused
        } else if self.page && !matches!(self.status, 401 | 429 | 500..) {
            Meaning::NotAnApi
        } else if matches!(self.status, 401 | 403) || coded(KEY_CODES) {
            Meaning::Key
        } else if coded(&["model_not_found"])
            || (coded(&["not_found_error"]) && words.starts_with("model:"))
            || (self.is_about_the_request() && says_no_model(&words))
        {
            Meaning::NoSuchModel
        } else if self.wait.is_none() && says(CREDIT_WORDS) {
            Meaning::OutOfCredit
        } else if self.status == 413 || (self.is_about_the_request() && says(TOO_LONG_WORDS)) {
            Meaning::ContextTooLong
        } else {
            self.passing(&words)
        }
    }

    /// Says whether the server has more to do than it can, so that another may be asked instead.
    pub(crate) fn is_overload(&self) -> bool {
        let coded = |part: &str| self.codes.iter().any(|code| code.contains(part));
        matches!(self.status, 503 | 529)
            || coded("overloaded")
            || coded("slow_down")
            || (self.status == 0 && self.message.to_lowercase().contains("overloaded"))
    }

    /// Tells whether words about the request can be meant.
    fn is_about_the_request(&self) -> bool {
        // llama.cpp and some gateways answer 500 to a request that is too long.
        self.status != 429 && self.status <= 500
    }

    /// Tells what passes from what stays.
    fn passing(&self, words: &str) -> Meaning {
        let coded = |part: &str| self.codes.iter().any(|code| code.contains(part));
        let limited = self.status == 429 || coded("rate_limit");
        let failed = matches!(self.status, 408 | 409 | 500 | 502..)
            || ["overloaded", "slow_down", "server_error", "api_error", "unavailable", "timeout"]
                .iter()
                .any(|part| coded(part))
            || (self.status == 0 && words.contains("overloaded"));
        match (limited, failed, self.retry) {
            (true, _, _) => Meaning::RateLimited,
            (false, true, _) | (false, false, Some(true)) => Meaning::Failed,
            (false, false, _) if self.status == 404 && self.codes.is_empty() => Meaning::NotAnApi,
            (false, false, _) if matches!(self.status, 400 | 415 | 422) && says_picture(words) => {
                Meaning::Picture
            }
            (false, false, _) => Meaning::Rejected,
        }
    }

    /// Finds how many tokens the model takes, in the words of a context that was too long.
    pub(crate) fn context_limit(&self) -> Option<u64> {
        let words = self.message.to_lowercase();
        let number = |text: &str| {
            let start = text.find(|c: char| c.is_ascii_digit())?;
            let text = &text[start..];
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text[..end].parse::<u64>().ok()
        };
        ["maximum context length", "context size", "context window", "tokens > "]
            .iter()
            .find_map(|phrase| number(words.split_once(phrase)?.1))
    }

    /// Puts the wait into a few words for the person.
    pub(crate) fn reason(&self) -> String {
        match (self.meaning(), self.status) {
            (Meaning::RateLimited, _) => "the rate limit is reached".to_owned(),
            (_, 503 | 529) => format!("the server is overloaded ({})", self.status),
            (_, 0) => "the server broke off its reply".to_owned(),
            (_, status) => format!("the server failed ({status})"),
        }
    }
}

const TOO_LONG_CODES: &[&str] =
    &["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"];
const TOO_LONG_WORDS: &[&str] = &[
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "available context size",
    "context window",
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "maximum number of tokens",
    "too many tokens",
];
const CREDIT_CODES: &[&str] = &[
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_credits",
    "usage_limit_reached",
    "usage_not_included",
];
const CREDIT_WORDS: &[&str] = &[
    "credit balance",
    "insufficient credit",
    "insufficient balance",
    "insufficient funds",
    "exceeded your current quota",
    "out of credit",
    "requires more credits",
];
const REFUSED_CODES: &[&str] =
    &["content_filter", "content_policy_violation", "cyber_policy", "responsibleaipolicyviolation"];
const KEY_CODES: &[&str] =
    &["invalid_api_key", "authentication_error", "permission_error", "invalid_authentication"];

const NO_MODEL_WORDS: &[&str] = &[
    "does not exist",
    "not found",
    "not a valid model",
    "unknown model",
    "no such model",
    "model is not supported",
];

fn says_no_model(words: &str) -> bool {
    words.contains("model") && NO_MODEL_WORDS.iter().any(|phrase| words.contains(phrase))
}

/// Tells whether the words are about a picture. Only whoever sent one need care.
fn says_picture(words: &str) -> bool {
    words.contains("image") || words.contains("picture")
}

/// Finds when a used-up account has something again.
fn resets(error: &Value, now: Option<u64>) -> Option<Duration> {
    let after = error.get("resets_in_seconds").and_then(Value::as_f64).and_then(wait::seconds);
    let at = error.get("resets_at").and_then(Value::as_u64);
    let until = at.zip(now).map(|(at, now)| Duration::from_secs(at.saturating_sub(now)));
    after.or(until)
}

fn is_page(kind: &str, text: &str) -> bool {
    let start: String = text.trim_start().chars().take(15).collect();
    let start = start.to_lowercase();
    kind.contains("html") || start.starts_with("<!doctype") || start.starts_with("<html")
}

/// Puts a stranger's words on one bounded line without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() || is_directional(c) { ' ' } else { c };
    let text: String = text.chars().take(4 * MESSAGE_BYTES_MAX).map(plain).collect();
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MESSAGE_BYTES_MAX {
        line.truncate(line.floor_char_boundary(MESSAGE_BYTES_MAX));
        line.push_str(" ...");
    }
    line
}

/// Says whether a character turns the direction of what follows on a terminal.
fn is_directional(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::Meaning::{
        ContextTooLong, Failed, Key, NoSuchModel, NotAnApi, OutOfCredit, Picture, RateLimited,
        Refused, Rejected,
    };
    use super::*;

    fn told(status: u16, body: &str) -> Told {
        let kind = if body.starts_with('<') { "text/html" } else { "application/json" };
        Told::from_answer(status, &HeaderMap::new(), kind, body.as_bytes())
    }

    #[test]
    fn known_servers_are_understood() {
        let cases = [
            // OpenAI
            (
                401,
                r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
                Key,
            ),
            (
                404,
                r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
                NoSuchModel,
            ),
            (
                400,
                r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
                ContextTooLong,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}"#,
                RateLimited,
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
                OutOfCredit,
            ),
            (503, r#"{"error":{"message":"busy","code":"server_is_overloaded"}}"#, Failed),
            (500, r#"{"error":{"message":"Internal server error","type":"server_error"}}"#, Failed),
            (400, r#"{"error":{"message":"Unrecognized request argument supplied: x"}}"#, Rejected),
            (
                400,
                r#"{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid.","type":"invalid_request_error","code":"image_parse_error"}}"#,
                Picture,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}"#,
                Picture,
            ),
            (500, r#"{"error":{"message":"the image service is down"}}"#, Failed),
            (
                400,
                r#"{"error":{"message":"The response was filtered","code":"content_filter"}}"#,
                Refused,
            ),
            // llama.cpp, vLLM, Ollama, OpenRouter, Gemini, ai&, a ChatGPT account
            (
                400,
                r#"{"error":{"code":400,"type":"exceed_context_size_error","message":"request (6031 tokens) exceeds the available context size (4096 tokens)"}}"#,
                ContextTooLong,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}"#,
                ContextTooLong,
            ),
            (
                404,
                r#"{"object":"error","message":"The model `x` does not exist.","type":"NotFoundError","code":404}"#,
                NoSuchModel,
            ),
            (404, r#"{"error":"model 'x' not found"}"#, NoSuchModel),
            (400, r#"{"error":{"message":"x is not a valid model ID","code":400}}"#, NoSuchModel),
            (
                402,
                r#"{"error":{"message":"This request requires more credits","code":402}}"#,
                OutOfCredit,
            ),
            (
                429,
                r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota. Please retry in 17.3s."}}]"#,
                RateLimited,
            ),
            (
                429,
                r#"{"error":{"type":"usage_limit_reached","message":"limit","resets_in_seconds":3600}}"#,
                OutOfCredit,
            ),
            (400, r#"{"detail":"Stream must be set to true"}"#, Rejected),
            (
                400,
                r#"{"detail":"The 'x' model is not supported when using Codex with a ChatGPT account."}"#,
                NoSuchModel,
            ),
            // pages and odd answers
            (502, "<html><h1>502 Bad Gateway</h1></html>", Failed),
            (403, "<!DOCTYPE html><title>Just a moment...</title>", NotAnApi),
            (404, "<html>nginx</html>", NotAnApi),
            (404, "404 page not found", NotAnApi),
            (401, "<html>login</html>", Key),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Failed,
            ),
            (413, "", ContextTooLong),
            (408, "", Failed),
            (409, "", Failed),
            (501, "", Rejected),
            (418, "", Rejected),
        ];
        for (status, body, expected) in cases {
            assert_eq!(told(status, body).meaning(), expected, "{status} {body}");
        }
    }

    #[test]
    fn an_error_inside_a_stream_is_understood() {
        let cases = [
            (
                r#"{"error":{"message":"The server had an error","type":"server_error","code":null}}"#,
                Failed,
            ),
            (r#"{"error":{"message":"Provider returned error","code":502}}"#, Failed),
            (r#"{"error":{"message":"slow down","code":429}}"#, RateLimited),
            (r#"{"error":{"message":"bad"}}"#, Rejected),
            (r#"{"error":"something"}"#, Rejected),
        ];
        for (text, expected) in cases {
            let value = serde_json::from_str(text).expect("a test's own JSON");
            assert_eq!(Told::from_stream(&value).meaning(), expected, "{text}");
        }
    }

    #[test]
    fn the_limit_is_found_in_the_words() {
        for (message, expected) in [
            ("This model's maximum context length is 8192 tokens. However", Some(8192)),
            ("request (6031 tokens) exceeds the available context size (4096 tokens)", Some(4096)),
            ("prompt is too long: 213405 tokens > 200000 maximum", Some(200_000)),
            ("the request exceeds the available context size, try increasing it", None),
        ] {
            let told = Told { message: message.to_owned(), ..Told::default() };
            assert_eq!(told.context_limit(), expected, "{message}");
        }
    }

    #[test]
    fn resets_are_counted_from_the_servers_clock() {
        let body = r#"{"error":{"type":"usage_limit_reached","resets_at":1795974827}}"#;
        let mut headers = HeaderMap::new();
        assert_eq!(Told::from_answer(429, &headers, "", body.as_bytes()).wait, None);
        let date = "Sun, 29 Nov 2026 17:52:47 GMT".parse().expect("a header");
        headers.insert("date", date);
        let told = Told::from_answer(429, &headers, "", body.as_bytes());
        assert_eq!(told.wait, Some(Duration::from_secs(60)));
    }

    #[test]
    fn a_strangers_words_stay_on_one_bounded_line() {
        assert_eq!(one_line("a\n\tb\u{1b}[31m\u{202e}c"), "a b [31m c");
        let line = one_line(&"é".repeat(1000));
        assert!(line.len() <= MESSAGE_BYTES_MAX + 4, "{}", line.len());
    }
}
