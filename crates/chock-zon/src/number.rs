//! Reads what a number literal says.

/// A whole number of any size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Integer {
    /// Whether a minus stands in front of it.
    pub negative: bool,
    /// Its digits, or `None` when they do not fit in 128 bits.
    pub magnitude: Option<u128>,
    /// The nearest float, which is never `None`.
    pub nearest: f64,
}

impl Integer {
    /// The number as an `i128`, when it fits.
    #[must_use]
    pub fn signed(&self) -> Option<i128> {
        let magnitude = self.magnitude?;
        if self.negative {
            0_i128.checked_sub_unsigned(magnitude)
        } else {
            magnitude.try_into().ok()
        }
    }

    /// The number as a `u128`, when it fits.
    #[must_use]
    pub fn unsigned(&self) -> Option<u128> {
        self.magnitude.filter(|magnitude| !self.negative || *magnitude == 0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Integer(Integer),
    Float(f64),
}

/// Why a number is refused: the offset in it, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadNumber {
    pub(crate) at: usize,
    pub(crate) why: &'static str,
}

/// Reads the literal `text`, which starts with a digit and holds ASCII only.
pub(crate) fn number(text: &str) -> Result<Number, BadNumber> {
    let (base, prefix) = base(text)?;
    let form = Check { base, prefix, text: text.as_bytes() }.form()?;
    let digits = text[prefix..].replace('_', "");
    Ok(match (form, base) {
        (Form::Integer, _) => Number::Integer(integer(&digits, base)),
        (Form::Float, 16) => Number::Float(hex_float(&digits)),
        (Form::Float, _) => Number::Float(decimal_float(&digits)),
    })
}

/// The base of a literal, and the length of the prefix that says so.
fn base(text: &str) -> Result<(u32, usize), BadNumber> {
    let mut bytes = text.bytes();
    if bytes.next() != Some(b'0') {
        return Ok((10, 0));
    }
    let base = match bytes.next() {
        None | Some(b'.' | b'e' | b'E') => return Ok((10, 0)),
        Some(b'x') => 16,
        Some(b'o') => 8,
        Some(b'b') => 2,
        Some(b'X' | b'O' | b'B') => {
            return Err(BadNumber { at: 1, why: "the letter of a number's base is lower case" });
        }
        Some(_) => return Err(BadNumber { at: 0, why: "a number does not start with a zero" }),
    };
    if text.len() == 2 {
        return Err(BadNumber { at: 0, why: "expected digits after the base" });
    }
    Ok((base, 2))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Integer,
    Float,
}

/// What stood just before a byte of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Digit,
    Separator,
    /// The base's prefix, a point, an exponent's letter or its sign.
    Mark,
    ExponentLetter,
}

struct Check<'text> {
    base: u32,
    prefix: usize,
    text: &'text [u8],
}

impl Check<'_> {
    fn form(&self) -> Result<Form, BadNumber> {
        let mut before = if self.prefix == 0 { Before::Digit } else { Before::Mark };
        let (mut point, mut exponent) = (false, false);
        for at in self.prefix..self.text.len() {
            let byte = self.text[at];
            let refuse = |why| Err(BadNumber { at, why });
            before = match byte {
                b'_' => match before {
                    Before::Digit => Before::Separator,
                    Before::Separator => return refuse("two `_` in a row"),
                    Before::Mark | Before::ExponentLetter => {
                        return refuse("`_` stands between digits");
                    }
                },
                b'+' | b'-' if before == Before::ExponentLetter => Before::Mark,
                b'+' | b'-' => return refuse("a sign stands only after an exponent's letter"),
                _ if self.is_exponent(byte) => {
                    if exponent {
                        return refuse("a number has one exponent");
                    }
                    if before != Before::Digit {
                        return refuse("an exponent stands after a digit");
                    }
                    exponent = true;
                    Before::ExponentLetter
                }
                b'.' => {
                    if self.base != 10 && self.base != 16 {
                        return refuse("a number with a point is decimal or hexadecimal");
                    }
                    if point || exponent {
                        return refuse("a number has one point, before its exponent");
                    }
                    if before != Before::Digit {
                        return refuse("a point stands between digits");
                    }
                    point = true;
                    Before::Mark
                }
                _ => {
                    let base = if exponent { 10 } else { self.base };
                    if !char::from(byte).is_digit(base) {
                        return refuse("not a digit of this number");
                    }
                    Before::Digit
                }
            };
        }
        let last = self.text.len() - 1;
        match before {
            Before::Digit if point || exponent => Ok(Form::Float),
            Before::Digit => Ok(Form::Integer),
            Before::Separator => Err(BadNumber { at: last, why: "a number does not end with `_`" }),
            Before::Mark | Before::ExponentLetter => {
                Err(BadNumber { at: last, why: "expected digits at the number's end" })
            }
        }
    }

    fn is_exponent(&self, byte: u8) -> bool {
        match self.base {
            10 => matches!(byte, b'e' | b'E'),
            16 => matches!(byte, b'p' | b'P'),
            _ => false,
        }
    }
}

fn integer(digits: &str, base: u32) -> Integer {
    let magnitude = u128::from_str_radix(digits, base).ok();
    let nearest = match (magnitude, base) {
        (Some(magnitude), _) => scaled(magnitude, 0),
        (None, 10) => decimal_float(digits),
        (None, base) => {
            let (mantissa, exponent) = leading(digits.bytes(), base);
            scaled(mantissa, exponent)
        }
    };
    Integer { negative: false, magnitude, nearest }
}

fn decimal_float(digits: &str) -> f64 {
    digits.parse().expect("invariant: checked digits, point and exponent are a float")
}

/// Reads `1.8p1` as 1.5 times 2 to the power of 1.
fn hex_float(digits: &str) -> f64 {
    let (mantissa, exponent) = digits.split_once(['p', 'P']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (mantissa, shift) = leading(whole.bytes().chain(fraction.bytes()), 16);
    let moved = i64::try_from(fraction.len() * 4).unwrap_or(i64::MAX);
    // An exponent that does not fit is past every float, on the side that its sign says.
    let edge = if exponent.starts_with('-') { i64::MIN } else { i64::MAX };
    let exponent = exponent.parse().unwrap_or(edge);
    scaled(mantissa, shift.saturating_sub(moved).saturating_add(exponent))
}

/// The leading bits of digits in a base that is a power of two, and the exponent of 2
/// that they lack. Bits that fall off are kept as one, so that rounding sees them.
fn leading(digits: impl Iterator<Item = u8>, base: u32) -> (u128, i64) {
    let bits = base.ilog2();
    let (mut mantissa, mut lacking) = (0_u128, 0_i64);
    for byte in digits {
        let digit = u128::from(char::from(byte).to_digit(base).unwrap_or(0));
        if mantissa >> (128 - bits) == 0 {
            mantissa = (mantissa << bits) | digit;
        } else {
            mantissa |= u128::from(digit != 0);
            lacking += i64::from(bits);
        }
    }
    (mantissa, lacking)
}

/// `mantissa` times 2 to the power of `exponent`, rounded once, ties to even.
fn scaled(mantissa: u128, exponent: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let top = exponent.saturating_add(127 - i64::from(mantissa.leading_zeros()));
    if top > 1023 {
        return f64::INFINITY;
    }
    // The last bit of the result: 52 below the first one, or that of the smallest float.
    let last = (top.saturating_sub(52)).max(-1074);
    let dropped = last.saturating_sub(exponent);
    let kept = match u32::try_from(dropped) {
        Err(_) if dropped < 0 => return whole(mantissa << dropped.unsigned_abs().min(127), last),
        Err(_) | Ok(129..) => 0,
        Ok(0) => mantissa,
        Ok(dropped) => rounded(mantissa, dropped),
    };
    whole(kept, last)
}

/// `mantissa` without its last `dropped` bits (1 to 128), ties to even.
fn rounded(mantissa: u128, dropped: u32) -> u128 {
    let kept = mantissa.checked_shr(dropped).unwrap_or(0);
    let half = 1_u128 << (dropped - 1);
    let rest = if dropped == 128 { mantissa } else { mantissa & ((1 << dropped) - 1) };
    let up = rest > half || (rest == half && kept & 1 == 1);
    kept + u128::from(up)
}

/// `mantissa`, at most 2 to the power of 53, times an exact power of two.
fn whole(mantissa: u128, exponent: i64) -> f64 {
    let bits = if exponent >= -1022 {
        u64::try_from(exponent + 1023).map_or(0, |biased| biased << 52)
    } else {
        1_u64 << (exponent + 1074)
    };
    let mantissa = u64::try_from(mantissa).expect("invariant: at most 53 bits are kept");
    #[expect(clippy::cast_precision_loss, reason = "at most 53 bits are kept")]
    let mantissa = mantissa as f64;
    mantissa * f64::from_bits(bits)
}
