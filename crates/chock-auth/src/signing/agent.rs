//! The ssh agent: lists its keys and has one of them sign.
//!
//! Source: the IETF's draft of the SSH agent protocol (draft-ietf-sshm-ssh-agent).

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::{PublicKey, SigningFault, field};

const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES_ANSWER: u8 = 12;
const SIGN_REQUEST: u8 = 13;
const SIGN_RESPONSE: u8 = 14;
/// Asks for SHA-512 when the key is one of RSA; others ignore it.
const RSA_SHA2_512: u32 = 4;

/// The most bytes of an answer. Source: OpenSSH's own `AGENT_MAX_LEN`.
const ANSWER_BYTES_MAX: u32 = 256 << 10;

/// How long the agent may take to list its keys.
const LIST_TIME: Duration = Duration::from_secs(10);

/// How long it may take to sign: a person has to find the hardware key and touch it.
const SIGN_TIME: Duration = Duration::from_secs(120);

/// An ssh agent, by its socket.
#[derive(Debug, Clone)]
pub struct Agent {
    socket: PathBuf,
}

impl Agent {
    /// Takes the socket that `SSH_AUTH_SOCK` names.
    #[must_use]
    pub fn at(socket: PathBuf) -> Self {
        Self { socket }
    }

    /// Lists the keys that the agent holds, in its order.
    ///
    /// # Errors
    ///
    /// Nobody answers within ten seconds, or the answer makes no sense.
    pub fn keys(&self) -> Result<Vec<PublicKey>, SigningFault> {
        let answer = self.ask(&[REQUEST_IDENTITIES], LIST_TIME)?;
        let mut rest = Answer(answer.strip_prefix(&[IDENTITIES_ANSWER]).ok_or(REFUSED)?);
        let count = rest.number()?;
        let mut keys = Vec::new();
        for _ in 0..count {
            let blob = rest.field()?.to_vec();
            let comment = String::from_utf8_lossy(rest.field()?).into_owned();
            keys.push(PublicKey { blob, comment });
        }
        Ok(keys)
    }

    /// Has a key sign `data`, and returns the signature as SSH writes it.
    ///
    /// # Errors
    ///
    /// As [`Agent::keys`], with two minutes, or the agent refuses.
    pub fn sign(&self, key: &PublicKey, data: &[u8]) -> Result<Vec<u8>, SigningFault> {
        let mut request = vec![SIGN_REQUEST];
        field(&mut request, &key.blob);
        field(&mut request, data);
        request.extend_from_slice(&RSA_SHA2_512.to_be_bytes());
        let answer = self.ask(&request, SIGN_TIME)?;
        let mut rest = Answer(answer.strip_prefix(&[SIGN_RESPONSE]).ok_or(REFUSED)?);
        Ok(rest.field()?.to_vec())
    }

    fn ask(&self, request: &[u8], time: Duration) -> Result<Vec<u8>, SigningFault> {
        let fault = |source| SigningFault::Agent { socket: self.socket.clone(), source };
        self.exchange(request, time).map_err(fault)
    }

    fn exchange(&self, request: &[u8], time: Duration) -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(&self.socket)?;
        stream.set_read_timeout(Some(time))?;
        stream.set_write_timeout(Some(LIST_TIME))?;
        let mut framed = Vec::with_capacity(request.len() + 4);
        field(&mut framed, request);
        stream.write_all(&framed)?;
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length);
        if length == 0 || length > ANSWER_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer of this length"));
        }
        let mut answer = vec![0; usize::try_from(length).expect("invariant: the bound is small")];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    }
}

const REFUSED: SigningFault = SigningFault::Refused;

/// What is left to read of an answer.
struct Answer<'a>(&'a [u8]);

impl<'a> Answer<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], SigningFault> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(SigningFault::Nonsense)?;
        self.0 = rest;
        Ok(front)
    }

    fn number(&mut self) -> Result<u32, SigningFault> {
        let bytes = self.take(4)?.try_into().expect("invariant: four bytes were taken");
        Ok(u32::from_be_bytes(bytes))
    }

    fn field(&mut self) -> Result<&'a [u8], SigningFault> {
        let length = usize::try_from(self.number()?).map_err(|_| SigningFault::Nonsense)?;
        self.take(length)
    }
}
