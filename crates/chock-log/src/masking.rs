//! Replaces secrets in a stream that comes in pieces, as they are replaced in the whole.

use std::sync::LazyLock;

use regex::Regex;

use crate::redact::{Mask, Redactor, is_hinted};

/// How much is held back at most, in bytes. The longest keys have a few thousand.
const HELD_BYTES_MAX: usize = 64 << 10;

/// How much of what was let go is remembered, in bytes: longer than any name or scheme that tells
/// a secret behind it.
const BEHIND_BYTES: usize = 256;

/// More bytes than any word has that hints at a shape.
const HINT_BYTES: usize = 32;

/// How much of a private key that is left out is looked at again, in bytes: more than the line
/// that ends it has, which may be cut in two.
const KEY_END_BYTES: usize = 128;

/// What could be the beginning of a shape of [`Redactor`], up to the end of what came so far. The
/// words that only tell of a secret behind them are not held back: they are remembered.
static BEGINNINGS: LazyLock<Regex> = LazyLock::new(|| {
    let shapes = [
        r"(?-u:\b)s(?:k(?:-[A-Za-z0-9_-]*)?)?",
        r"(?-u:\b)A(?:K(?:I(?:A[0-9A-Z]{0,16})?)?|S(?:I(?:A[0-9A-Z]{0,16})?)?)?",
        r#"(?i:aws_secret_access_key|secretaccesskey)["'\\]*\s*(?:[=:]\s*["'\\]*[A-Za-z0-9/+]{0,39})?"#,
        r"(?-u:\b)g(?:h(?:[pousr](?:_[A-Za-z0-9]*)?)?)?",
        r"(?-u:\b)g(?:i(?:t(?:h(?:u(?:b(?:_(?:p(?:a(?:t(?:_[A-Za-z0-9_]*)?)?)?)?)?)?)?)?)?)?",
        r"-{1,5}|-----B(?:E(?:G(?:I(?:N(?: [A-Z ]*-{0,5})?)?)?)?)?",
        r"(?-u:\b)e(?:y(?:J[A-Za-z0-9_-]*(?:\.(?:e(?:y(?:J[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*)?)?)?)?)?)?)?",
        r#"(?-u:\b)[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@"'\\]*(?::[^/\s@"'\\]*)?"#,
    ];
    let all = format!(r"(?:{})\z", shapes.join("|"));
    Regex::new(&all).expect("invariant: the beginnings are one valid expression")
});

/// Where a private key begins, and where it ends.
static KEY: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    ["BEGIN", "END"].map(|word| {
        let line = format!("-----{word} [A-Z ]*PRIVATE KEY-----");
        Regex::new(&line).expect("invariant: this is a valid expression")
    })
});

/// A stream whose secrets are replaced as it comes, wherever it is cut.
///
/// What could be the beginning of a secret is held back until it is known. A secret of more than
/// 64 KiB is replaced in part, except for a private key: everything up to its end is left out.
#[derive(Debug, Clone)]
pub struct Masking {
    redactor: Redactor,
    /// Bytes of a character that is not whole.
    broken: Vec<u8>,
    /// The last of what was let go, without its secrets.
    behind: String,
    held: String,
    /// Whether a private key was let go as a marker before its end came.
    in_key: bool,
}

impl Masking {
    /// Begins a stream.
    #[must_use]
    pub fn new(redactor: Redactor) -> Self {
        let (behind, held) = (String::new(), String::new());
        Self { redactor, broken: Vec::new(), behind, held, in_key: false }
    }

    /// Takes the next piece, and returns what can be let go.
    ///
    /// What is no UTF-8 stays as it is, and no secret reaches over it.
    #[must_use]
    pub fn feed(&mut self, piece: &[u8]) -> Vec<u8> {
        let bytes = if self.broken.is_empty() {
            piece.to_vec()
        } else {
            let mut bytes = std::mem::take(&mut self.broken);
            bytes.extend_from_slice(piece);
            bytes
        };
        let mut free = Vec::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.held.push_str(chunk.valid());
            let invalid = chunk.invalid();
            if chunks.peek().is_none() && is_unfinished(invalid) {
                self.broken = invalid.to_vec();
            } else if !invalid.is_empty() {
                self.let_go(self.held.len(), &mut free);
                free.extend_from_slice(invalid);
                self.behind.clear();
                self.in_key = false;
            }
        }
        self.let_go(self.ready(), &mut free);
        free
    }

    /// Takes text, and returns what can be let go.
    #[must_use]
    pub fn feed_text(&mut self, piece: &str) -> String {
        let free = self.feed(piece.as_bytes());
        String::from_utf8(free).expect("invariant: text without its secrets is text")
    }

    /// Ends the stream, and returns what was held back.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let mut free = Vec::new();
        self.let_go(self.held.len(), &mut free);
        free.append(&mut self.broken);
        self.held.clear();
        self.behind.clear();
        self.in_key = false;
        free
    }

    /// Returns how much of what is held can be let go.
    fn ready(&self) -> usize {
        if self.held.len() > HELD_BYTES_MAX {
            return self.held.len();
        }
        let all = [self.behind.as_str(), &self.held].concat();
        // Without a hint nothing has begun but a hint itself, at the very end.
        let hinted = is_hinted(&all);
        let end = all.floor_char_boundary(all.len().saturating_sub(HINT_BYTES));
        let from = if hinted { 0 } else { end };
        let shape = BEGINNINGS.find(&all[from..]).map_or(all.len(), |found| from + found.start());
        let key = if hinted { open_key(&all) } else { None };
        let key = key.unwrap_or(all.len());
        let lent = all.len() - self.redactor.begun(&all);
        let end = self.redactor.uncut(&all, shape.min(key).min(lent));
        end.saturating_sub(self.behind.len())
    }

    /// Lets the first bytes of what is held go.
    fn let_go(&mut self, length: usize, free: &mut Vec<u8>) {
        let rest = self.held.split_off(length);
        let mut ready = std::mem::replace(&mut self.held, rest);
        if self.in_key {
            let Some(end) = KEY[1].find(&ready) else {
                let kept = ready.floor_char_boundary(ready.len().saturating_sub(KEY_END_BYTES));
                self.held.insert_str(0, &ready[kept..]);
                return;
            };
            ready.drain(..end.end());
        }
        self.in_key = is_hinted(&ready) && open_key(&ready).is_some();
        let all = [self.behind.as_str(), &ready].concat();
        let masked = self.redactor.text(&all, Mask::All).unwrap_or(all);
        let masked = match masked.strip_prefix(&self.behind) {
            Some(rest) => rest.to_owned(),
            // A beginning that only seems one, since what is remembered is cut.
            None => self.redactor.text(&ready, Mask::All).unwrap_or(ready),
        };
        free.extend_from_slice(masked.as_bytes());
        self.behind.push_str(&masked);
        let from = self.behind.len().saturating_sub(BEHIND_BYTES);
        self.behind.drain(..self.behind.ceil_char_boundary(from));
    }
}

/// Returns where a private key begins that does not end.
fn open_key(text: &str) -> Option<usize> {
    let [begin, end] = &*KEY;
    let mut from = 0;
    loop {
        let found = begin.find_at(text, from)?;
        match end.find_at(text, found.end()) {
            Some(last) => from = last.end(),
            None => return Some(found.start()),
        }
    }
}

/// Says whether bytes could become a character with those that follow.
fn is_unfinished(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|fault| fault.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor() -> Redactor {
        let lent = ["lent-value-0123", "lent-value-0123-longer", "with a space"];
        Redactor::new(lent.map(str::to_owned), [7; 32])
    }

    /// Secrets of every shape, put together here so that no line of this file looks like one.
    fn text() -> String {
        let body = "abcdefghij0123456789";
        let key = format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE");
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        let pem = |kind: &str| {
            format!("-----BEGIN {kind} KEY-----\nMIIabc def\nghi\n-----END {kind} KEY-----")
        };
        let token = format!("{}.{}.{body}", "eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0");
        format!(
            "日本語{key}語 words, see https://me:pässw0rd@h/x and sk-ipped {key}X\n\
             aws_secret_access_key =\n  {secret}\n\"SecretAccessKey\": \"{secret}\"\n\
             a secret {} and {}\nsk-ant-api03-{body}{body} {}_{body}{body}.\n\
             {} {}_{body}{body}\n{token}\nlent-value-0123! lent-value-0123-longer lent-value-01\n\
             with a space, with a spade http://a/b c://d xsk-{body}{body} -----\n",
            pem("RSA PRIVATE"),
            pem("PUBLIC"),
            "ghp",
            pem("PRIVATE"),
            "github_pat",
        )
    }

    fn stream(bytes: &[u8], size: usize) -> Vec<u8> {
        let mut masking = Masking::new(redactor());
        let mut shown: Vec<_> = bytes.chunks(size).flat_map(|piece| masking.feed(piece)).collect();
        shown.extend(masking.finish());
        shown
    }

    #[test]
    fn no_cutting_of_a_stream_lets_a_piece_of_a_secret_go() {
        let text = text();
        let whole = redactor().text(&text, Mask::All).expect("secrets");
        assert_eq!(whole.matches("[secret removed: ").count(), 13, "{whole}");
        for size in 1..text.len() {
            let shown = stream(text.as_bytes(), size);
            assert_eq!(String::from_utf8_lossy(&shown), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_text_stays_and_ends_a_secret() {
        let bytes = b"a\xff\xfelent-value\xff-0123 \xe6\x97 lent-value-0123\xe6\x97";
        let whole = redactor().bytes(bytes, Mask::All).expect("a secret");
        for size in 1..bytes.len() {
            assert_eq!(stream(bytes, size), whole, "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_that_is_not_ended_is_let_go_unless_it_could_be_a_secret() {
        let cases = [
            ("ready", "ready"),
            ("Password: ", "Password: "),
            ("listening on http", "listening on http"),
            ("listening on http://h:8080/", "listening on http://h:8080/"),
            ("words", "words"),
            ("see lent-va", "see "),
            ("see sk-", "see "),
            ("see AKIA", "see "),
            ("https://me:pass", ""),
            ("-----BEGIN PUBLIC KEY-----\nMII", "-----BEGIN PUBLIC KEY-----\nMII"),
        ];
        for (text, expected) in cases {
            assert_eq!(Masking::new(redactor()).feed_text(text), expected, "{text}");
        }
    }

    #[test]
    fn a_private_key_without_an_end_is_left_out_to_the_last_byte() {
        let begin = format!("before -----BEGIN {} KEY-----\n", "PRIVATE");
        let line = format!("{}\n", "MIIabcdef".repeat(7));
        let long = line.repeat(4000);
        let end = format!("-----END {} KEY-----\nafter\n", "PRIVATE");
        let begin = format!("{begin}{}", begin.trim_start_matches("before "));
        for size in [100, 4096, 100_000] {
            let shown = stream([begin.as_str(), &long].concat().as_bytes(), size);
            let text = String::from_utf8_lossy(&shown).into_owned();
            assert!(text.starts_with("before [secret removed: private_key "), "{text}");
            assert!(!text.contains("MIIabc"), "in pieces of {size}");
            let shown = stream([begin.as_str(), &long, &end].concat().as_bytes(), size);
            let text = String::from_utf8_lossy(&shown).into_owned();
            assert!(text.ends_with("\nafter\n") && !text.contains("MIIabc"), "{text}");
        }
    }
}
