//! A signature over the head of a chain, beside the log.

use std::fmt;

use jiff::Timestamp;

use crate::id::SessionId;
use crate::sshsig::{self, SignatureFault};

/// What a seal's signature is made for; `ssh-keygen -Y verify -n` takes it.
pub const SEAL_NAMESPACE: &str = "chock-seal-v1";

/// The most bytes of a seal's file. One of a large RSA key has four thousand.
pub const SEAL_BYTES_MAX: usize = 65_536;

/// What kind of key signed. It is part of what is signed, so it cannot be made out to be more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealKey {
    /// A key that an ssh agent holds, in hardware or not.
    Agent,
    /// The key of this installation, which lies in a file.
    Installation,
}

impl SealKey {
    /// Returns the word that the file has for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Agent => "ssh-agent",
            Self::Installation => "installation",
        }
    }
}

/// What a seal says of a log.
///
/// It is a few lines of text, so that anybody can check it with `sha256sum` and `ssh-keygen`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The session.
    pub session: SessionId,
    /// How many records the log had.
    pub records: u64,
    /// The SHA-256 of the last one's line, without its newline, in lower hex.
    pub head: String,
    /// What kind of key signed.
    pub key: SealKey,
    /// When, as the clock of the machine had it.
    pub time: Timestamp,
}

impl fmt::Display for Statement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{SEAL_NAMESPACE}")?;
        writeln!(out, "session {}", self.session)?;
        writeln!(out, "records {}", self.records)?;
        writeln!(out, "head {}", self.head)?;
        writeln!(out, "key {}", self.key.word())?;
        writeln!(out, "time {:.3}", self.time)
    }
}

impl Statement {
    /// Returns the bytes that a key signs.
    #[must_use]
    pub fn to_be_signed(&self) -> Vec<u8> {
        sshsig::to_be_signed(SEAL_NAMESPACE, self.to_string().as_bytes())
    }

    /// Reads the lines exactly as they are written.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != SEAL_NAMESPACE {
            return None;
        }
        let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        let statement = Self {
            session: value("session")?.parse().ok()?,
            records: value("records")?.parse().ok()?,
            head: value("head")?.to_owned(),
            key: match value("key")? {
                "ssh-agent" => SealKey::Agent,
                "installation" => SealKey::Installation,
                _ => return None,
            },
            time: value("time")?.parse().ok()?,
        };
        // There is one spelling, and only what was signed is read.
        (statement.to_string() == text).then_some(statement)
    }
}

/// A statement with its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    statement: Statement,
    key: Vec<u8>,
    signature: Vec<u8>,
}

impl Seal {
    /// Puts a statement, a public key and a signature together, both as SSH writes them.
    ///
    /// # Errors
    ///
    /// The signature is not one of this key over this statement.
    pub fn new(
        statement: Statement,
        key: Vec<u8>,
        signature: Vec<u8>,
    ) -> Result<Self, SignatureFault> {
        sshsig::check(&key, &signature, &statement.to_be_signed())?;
        Ok(Self { statement, key, signature })
    }

    /// Reads a seal's file, and checks its signature.
    ///
    /// # Errors
    ///
    /// It is not written as [`Seal::text`] writes it, or the signature does not match.
    pub fn read(text: &str) -> Result<Self, SignatureFault> {
        let (key, signature, rest) = sshsig::read_armour(SEAL_NAMESPACE, text)?;
        let statement = Statement::read(rest).ok_or(SignatureFault::Malformed)?;
        Self::new(statement, key, signature)
    }

    /// Writes the seal's file: the signature as `ssh-keygen -Y verify -s` takes it, then what
    /// was signed.
    #[must_use]
    pub fn text(&self) -> String {
        let armour = sshsig::armour(SEAL_NAMESPACE, &self.key, &self.signature);
        format!("{armour}{}", self.statement)
    }

    /// Returns what was signed.
    #[must_use]
    pub fn statement(&self) -> &Statement {
        &self.statement
    }

    /// Returns the public key, as SSH writes it.
    #[must_use]
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Says whether a seal could be made with this public key.
    #[must_use]
    pub fn takes(key: &[u8]) -> bool {
        sshsig::is_supported(key)
    }
}

/// Names a public key as `ssh-keygen -l` does: `SHA256:` and 43 characters.
#[must_use]
pub fn key_fingerprint(key: &[u8]) -> String {
    sshsig::fingerprint(key)
}

/// What a seal says of the log as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sealed {
    /// It covers every record.
    Whole,
    /// It covers the records up to this one; the log went on since.
    Earlier {
        /// How many records it covers.
        records: u64,
    },
    /// The log is not what was sealed.
    Rewritten {
        /// The record whose line has another hash.
        at: u64,
    },
    /// Records that were sealed are missing at the end.
    Shortened {
        /// How many were sealed.
        sealed: u64,
    },
    /// It is the seal of another session.
    OtherSession,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        Statement {
            session: SessionId::from_parts(1_000, [7; 10]),
            records: 3,
            head: "ab".repeat(32),
            key: SealKey::Installation,
            time: Timestamp::from_second(1_700_000_000).expect("a time"),
        }
    }

    #[test]
    fn a_statement_is_read_in_one_spelling_only() {
        let text = statement().to_string();
        assert_eq!(Statement::read(&text), Some(statement()));
        let others = [
            text.replace("records 3", "records 03"),
            text.replace("chock-seal-v1", "chock-seal-v2"),
            format!("{text}more\n"),
            text.trim_end().to_owned(),
            text.replace("installation", "card"),
            String::new(),
        ];
        for other in others {
            assert_eq!(Statement::read(&other), None, "{other}");
        }
    }

    #[test]
    fn no_cut_or_changed_byte_of_a_seal_is_good() {
        use ring::signature::{Ed25519KeyPair, KeyPair};
        let pair = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).expect("a key");
        let [mut key, mut signature] = [Vec::new(), Vec::new()];
        sshsig::field(&mut key, b"ssh-ed25519");
        sshsig::field(&mut key, pair.public_key().as_ref());
        sshsig::field(&mut signature, b"ssh-ed25519");
        sshsig::field(&mut signature, pair.sign(&statement().to_be_signed()).as_ref());
        let seal = Seal::new(statement(), key, signature).expect("a seal");
        let text = seal.text();
        assert_eq!(Seal::read(&text), Ok(seal));
        for place in 0..text.len() {
            assert!(Seal::read(&text[..place]).is_err(), "cut at {place}");
            let mut changed = text.clone().into_bytes();
            changed[place] ^= 1;
            let Ok(changed) = String::from_utf8(changed) else { continue };
            assert!(Seal::read(&changed).is_err(), "changed at {place}");
        }
    }
}
