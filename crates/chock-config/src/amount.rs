//! A number with a unit, as limits are written.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// `512`, `"25%"` or `"2 GiB"`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// A bare number.
    Number(u64),
    /// A part of what the machine has, 1 to 100.
    Percent(u8),
    /// A number with a unit, in bytes.
    Bytes(u64),
}

/// The units of sizes, largest first.
const UNITS: [(&str, u32); 5] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10), ("B", 0)];

/// Why a text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AmountFault {
    /// It has another form.
    #[error("expected a whole number, a percentage such as \"25%\" or a size such as \"512 MiB\"")]
    Form,
    /// Its unit is not one.
    #[error("the units are B, KiB, MiB, GiB and TiB")]
    Unit,
    /// It is not from 1 to 100.
    #[error("a percentage is from 1 to 100")]
    Percent,
    /// It has more than 64 bits.
    #[error("the size is too large")]
    TooLarge,
}

impl std::str::FromStr for Amount {
    type Err = AmountFault;

    fn from_str(text: &str) -> Result<Self, AmountFault> {
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = (&text[..digits], text[digits..].trim_start_matches(' '));
        if number.is_empty() || unit.is_empty() {
            return Err(AmountFault::Form);
        }
        let number: u64 = number.parse().map_err(|_| AmountFault::TooLarge)?;
        if unit == "%" {
            let percent = u8::try_from(number).ok().filter(|percent| (1..=100).contains(percent));
            return percent.map(Self::Percent).ok_or(AmountFault::Percent);
        }
        let (_, shift) =
            UNITS.into_iter().find(|(name, _)| *name == unit).ok_or(AmountFault::Unit)?;
        let bytes = number.checked_mul(1 << shift).ok_or(AmountFault::TooLarge)?;
        Ok(Self::Bytes(bytes))
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AmountVisitor;

        impl Visitor<'_> for AmountVisitor {
            type Value = Amount;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a whole number, a percentage or a size")
            }

            fn visit_u64<E>(self, number: u64) -> Result<Amount, E> {
                Ok(Amount::Number(number))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Amount, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_any(AmountVisitor)
    }
}

impl fmt::Display for Amount {
    /// Writes the amount as a file has it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(out, "{number}"),
            Self::Percent(percent) => write!(out, "\"{percent}%\""),
            Self::Bytes(bytes) => write!(out, "\"{}\"", size(*bytes)),
        }
    }
}

/// `bytes` in the largest unit that divides it.
pub(crate) fn size(bytes: u64) -> String {
    let unit = UNITS.into_iter().find(|(_, shift)| bytes != 0 && bytes.is_multiple_of(1 << shift));
    let (name, shift) = unit.unwrap_or(("B", 0));
    format!("{} {name}", bytes >> shift)
}
