//! Signatures as OpenSSH writes them: the wire format, the armour, and checking one.
//!
//! Sources: OpenSSH's `PROTOCOL.sshsig` and `PROTOCOL.u2f`; RFC 4251, 4253, 5656, 8332 and 8709
//! for keys and signatures.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};
use sha2::{Digest, Sha256, Sha512};

/// What every signature and everything signed begins with.
const MAGIC: &[u8] = b"SSHSIG";
const VERSION: u32 = 1;
const HASH: &[u8] = b"sha512";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// How long a line of the armour is. `ssh-keygen` writes the same.
const ARMOUR_WIDTH: usize = 70;
/// The flag by which a hardware key says that somebody touched it.
const TOUCHED: u8 = 1;

/// Why a signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureFault {
    /// It is not written as OpenSSH writes one, or for another purpose.
    #[error("it is not a signature that chock made")]
    Malformed,
    /// Its key is of a kind that is not checked here.
    #[error(
        "keys of this kind are not supported; use an ed25519, ECDSA (256 or 384) or RSA key, in hardware or not"
    )]
    Unsupported,
    /// It was not made by its key over these words.
    #[error("the signature does not match")]
    Mismatch,
}

/// Writes a field as SSH does: its length, then its bytes.
pub(crate) fn field(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("invariant: fields are far below 4 GiB");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Reads fields from the front of some bytes.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], SignatureFault> {
        let (front, rest) = self.0.split_at_checked(count).ok_or(SignatureFault::Malformed)?;
        self.0 = rest;
        Ok(front)
    }

    fn number(&mut self) -> Result<u32, SignatureFault> {
        let bytes = self.take(4)?.try_into().expect("invariant: four bytes were taken");
        Ok(u32::from_be_bytes(bytes))
    }

    pub(crate) fn field(&mut self) -> Result<&'a [u8], SignatureFault> {
        let length = usize::try_from(self.number()?).map_err(|_| SignatureFault::Malformed)?;
        self.take(length)
    }

    fn finish(self) -> Result<(), SignatureFault> {
        if self.0.is_empty() { Ok(()) } else { Err(SignatureFault::Malformed) }
    }
}

/// Returns the bytes that a key signs for `message`.
pub(crate) fn to_be_signed(namespace: &str, message: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    field(&mut bytes, namespace.as_bytes());
    field(&mut bytes, b"");
    field(&mut bytes, HASH);
    field(&mut bytes, &Sha512::digest(message));
    bytes
}

/// Writes a signature in its armour, with a newline at the end.
pub(crate) fn armour(namespace: &str, key: &[u8], signature: &[u8]) -> String {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&VERSION.to_be_bytes());
    field(&mut bytes, key);
    field(&mut bytes, namespace.as_bytes());
    field(&mut bytes, b"");
    field(&mut bytes, HASH);
    field(&mut bytes, signature);
    let text = STANDARD.encode(bytes);
    let mut armour = format!("{BEGIN}\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(ARMOUR_WIDTH));
        armour.push_str(line);
        armour.push('\n');
        rest = more;
    }
    armour + END + "\n"
}

/// Reads an armoured signature at the front of `text`: the key, the signature, and what follows.
pub(crate) fn read_armour<'a>(
    namespace: &str,
    text: &'a str,
) -> Result<(Vec<u8>, Vec<u8>, &'a str), SignatureFault> {
    let malformed = || SignatureFault::Malformed;
    let inner = text.strip_prefix(BEGIN).ok_or_else(malformed)?;
    let (inner, rest) = inner.split_once(END).ok_or_else(malformed)?;
    let rest = rest.strip_prefix('\n').ok_or_else(malformed)?;
    let packed: String = inner.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(packed).map_err(|_| malformed())?;
    let mut fields = Fields(&bytes);
    let front = (fields.take(MAGIC.len())?, fields.number()?);
    let (key, space) = (fields.field()?.to_vec(), fields.field()?);
    let (_reserved, hash) = (fields.field()?, fields.field()?);
    let signature = fields.field()?.to_vec();
    fields.finish()?;
    if front != (MAGIC, VERSION) || space != namespace.as_bytes() || hash != HASH {
        return Err(malformed());
    }
    Ok((key, signature, rest))
}

/// Names a key as `ssh-keygen -l` does.
pub(crate) fn fingerprint(key: &[u8]) -> String {
    format!("SHA256:{}", STANDARD_NO_PAD.encode(Sha256::digest(key)))
}

/// Checks that the key made the signature over `signed`.
pub(crate) fn check(key: &[u8], signature: &[u8], signed: &[u8]) -> Result<(), SignatureFault> {
    let (mut key, mut made) = (Fields(key), Fields(signature));
    let (kind, algorithm, bytes) = (key.field()?, made.field()?, made.field()?);
    match (kind, algorithm) {
        (b"ssh-ed25519", b"ssh-ed25519") => {
            let public = key.field()?;
            both_end(key, made)?;
            plain(&ED25519, public, signed, bytes)
        }
        (b"sk-ssh-ed25519@openssh.com", b"sk-ssh-ed25519@openssh.com") => {
            let public = key.field()?;
            plain(&ED25519, public, &touched(key, made, signed)?, bytes)
        }
        (b"ecdsa-sha2-nistp256", b"ecdsa-sha2-nistp256") => {
            let public = point(&mut key, b"nistp256")?;
            both_end(key, made)?;
            plain(&ECDSA_P256_SHA256_FIXED, public, signed, &two_numbers(bytes, 32)?)
        }
        (b"ecdsa-sha2-nistp384", b"ecdsa-sha2-nistp384") => {
            let public = point(&mut key, b"nistp384")?;
            both_end(key, made)?;
            plain(&ECDSA_P384_SHA384_FIXED, public, signed, &two_numbers(bytes, 48)?)
        }
        (b"sk-ecdsa-sha2-nistp256@openssh.com", b"sk-ecdsa-sha2-nistp256@openssh.com") => {
            let public = point(&mut key, b"nistp256")?;
            let signed = touched(key, made, signed)?;
            plain(&ECDSA_P256_SHA256_FIXED, public, &signed, &two_numbers(bytes, 32)?)
        }
        (b"ssh-rsa", b"rsa-sha2-512" | b"rsa-sha2-256") => {
            let (exponent, modulus) = (unsigned(key.field()?), unsigned(key.field()?));
            both_end(key, made)?;
            let public = RsaPublicKeyComponents { n: modulus, e: exponent };
            let parameters = if algorithm == b"rsa-sha2-512" {
                &RSA_PKCS1_2048_8192_SHA512
            } else {
                &RSA_PKCS1_2048_8192_SHA256
            };
            public.verify(parameters, signed, bytes).map_err(|_| SignatureFault::Mismatch)
        }
        _ => Err(SignatureFault::Unsupported),
    }
}

/// Says whether a signature of this public key can be checked here.
pub(crate) fn is_supported(key: &[u8]) -> bool {
    let kinds: [&[u8]; 6] = [
        b"ssh-ed25519",
        b"sk-ssh-ed25519@openssh.com",
        b"ecdsa-sha2-nistp256",
        b"ecdsa-sha2-nistp384",
        b"sk-ecdsa-sha2-nistp256@openssh.com",
        b"ssh-rsa",
    ];
    Fields(key).field().is_ok_and(|kind| kinds.contains(&kind))
}

fn both_end(key: Fields<'_>, made: Fields<'_>) -> Result<(), SignatureFault> {
    key.finish()?;
    made.finish()
}

fn plain(
    algorithm: &'static dyn VerificationAlgorithm,
    public: &[u8],
    signed: &[u8],
    signature: &[u8],
) -> Result<(), SignatureFault> {
    let key = UnparsedPublicKey::new(algorithm, public);
    key.verify(signed, signature).map_err(|_| SignatureFault::Mismatch)
}

/// Returns what a hardware key signs, when it says that somebody touched it.
fn touched(
    mut key: Fields<'_>,
    mut made: Fields<'_>,
    signed: &[u8],
) -> Result<Vec<u8>, SignatureFault> {
    let application = key.field()?;
    key.finish()?;
    let (flags, counter) = (made.take(1)?, made.take(4)?);
    made.finish()?;
    if flags[0] & TOUCHED == 0 {
        return Err(SignatureFault::Mismatch);
    }
    let mut bytes = Sha256::digest(application).to_vec();
    bytes.extend_from_slice(flags);
    bytes.extend_from_slice(counter);
    bytes.extend_from_slice(&Sha256::digest(signed));
    Ok(bytes)
}

fn point<'a>(key: &mut Fields<'a>, curve: &[u8]) -> Result<&'a [u8], SignatureFault> {
    if key.field()? != curve {
        return Err(SignatureFault::Malformed);
    }
    key.field()
}

/// Cuts the zero byte off that keeps a number of SSH from being negative.
fn unsigned(number: &[u8]) -> &[u8] {
    number.strip_prefix(&[0]).unwrap_or(number)
}

/// Writes the two numbers of an ECDSA signature at their full length.
fn two_numbers(bytes: &[u8], length: usize) -> Result<Vec<u8>, SignatureFault> {
    let mut fields = Fields(bytes);
    let mut whole = Vec::with_capacity(2 * length);
    for number in [fields.field()?, fields.field()?].map(unsigned) {
        let missing = length.checked_sub(number.len()).ok_or(SignatureFault::Malformed)?;
        whole.resize(whole.len() + missing, 0);
        whole.extend_from_slice(number);
    }
    fields.finish()?;
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use ring::signature::{Ed25519KeyPair, KeyPair};

    use super::*;

    /// Signs as a key in hardware does, with these flags.
    fn hardware(flags: u8, told: u8) -> Result<(), SignatureFault> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).expect("a key");
        let (kind, application) = (b"sk-ssh-ed25519@openssh.com", b"ssh:");
        let mut key = Vec::new();
        for part in [&kind[..], pair.public_key().as_ref(), application] {
            field(&mut key, part);
        }
        let signed = to_be_signed("x", b"words");
        let mut message = Sha256::digest(application).to_vec();
        message.extend([flags, 0, 0, 0, 7]);
        message.extend(Sha256::digest(&signed));
        let mut signature = Vec::new();
        field(&mut signature, kind);
        field(&mut signature, pair.sign(&message).as_ref());
        signature.extend([told, 0, 0, 0, 7]);
        check(&key, &signature, &signed)
    }

    #[test]
    fn a_key_in_hardware_counts_when_it_was_touched() {
        assert_eq!(hardware(TOUCHED, TOUCHED), Ok(()));
        assert_eq!(hardware(0, 0), Err(SignatureFault::Mismatch));
        assert_eq!(hardware(0, TOUCHED), Err(SignatureFault::Mismatch), "the flags are signed");
    }
}
