//! Reads what a string, a character or a quoted name says.

/// Why a literal is refused: the offset in it, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadEscape {
    pub(crate) at: usize,
    pub(crate) why: &'static str,
}

/// One piece of a literal between its quotes.
enum Piece {
    /// A character that stands for itself, or a code point by `\u{..}`.
    Point(u32),
    /// `\x..`, which is one byte in a string.
    Byte(u8),
}

/// Reads a string literal, its quotes included, as bytes.
///
/// The lexer has already seen that it is closed and on one line.
pub(crate) fn string(literal: &str) -> Result<Vec<u8>, BadEscape> {
    let mut bytes = Vec::with_capacity(literal.len());
    let mut at = 1;
    while at < literal.len() - 1 {
        let start = at;
        match piece(literal, &mut at)? {
            Piece::Byte(byte) => bytes.push(byte),
            Piece::Point(point) => {
                let letter = char::from_u32(point).ok_or(BadEscape {
                    at: start + 2,
                    why: "half of a surrogate pair is not a character",
                })?;
                bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    Ok(bytes)
}

/// What a character literal holds.
pub(crate) enum Letter {
    One(u32),
    None,
    /// More than one; the offset of the second.
    Many(usize),
}

/// Reads a character literal, its quotes included.
pub(crate) fn letter(literal: &str) -> Result<Letter, BadEscape> {
    let end = literal.len() - 1;
    let mut at = 1;
    if at == end {
        return Ok(Letter::None);
    }
    let point = match piece(literal, &mut at)? {
        Piece::Byte(byte) => u32::from(byte),
        Piece::Point(point) => point,
    };
    Ok(if at == end { Letter::One(point) } else { Letter::Many(at) })
}

/// Reads the piece at `at` and moves `at` behind it.
fn piece(literal: &str, at: &mut usize) -> Result<Piece, BadEscape> {
    let first = literal[*at..].chars().next().expect("invariant: the closing quote is ahead");
    *at += first.len_utf8();
    if first != '\\' {
        return Ok(Piece::Point(u32::from(first)));
    }
    let bytes = literal.as_bytes();
    let escape = bytes[*at];
    let plain = match escape {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'\\' | b'\'' | b'"' => escape,
        b'x' => {
            *at += 1;
            return hex_byte(bytes, at).map(Piece::Byte);
        }
        b'u' => {
            *at += 1;
            return code_point(bytes, at).map(Piece::Point);
        }
        _ => return Err(BadEscape { at: *at, why: "there is no such escape" }),
    };
    *at += 1;
    Ok(Piece::Point(u32::from(plain)))
}

fn hex_digit(bytes: &[u8], at: usize) -> Option<u32> {
    char::from(bytes[at]).to_digit(16)
}

fn hex_byte(bytes: &[u8], at: &mut usize) -> Result<u8, BadEscape> {
    let mut value = 0;
    for _ in 0..2 {
        let digit = hex_digit(bytes, *at)
            .ok_or(BadEscape { at: *at, why: "expected two hexadecimal digits after `\\x`" })?;
        value = value * 16 + digit;
        *at += 1;
    }
    Ok(u8::try_from(value).expect("invariant: two hexadecimal digits are a byte"))
}

fn code_point(bytes: &[u8], at: &mut usize) -> Result<u32, BadEscape> {
    if bytes[*at] != b'{' {
        return Err(BadEscape { at: *at, why: "expected `{` after `\\u`" });
    }
    *at += 1;
    let first = *at;
    let mut value = 0;
    while let Some(digit) = hex_digit(bytes, *at) {
        value = value * 16 + digit;
        if value > u32::from(char::MAX) {
            return Err(BadEscape {
                at: *at,
                why: "there is no character with a number this large",
            });
        }
        *at += 1;
    }
    if *at == first {
        return Err(BadEscape { at: *at, why: "expected hexadecimal digits between `{` and `}`" });
    }
    if bytes[*at] != b'}' {
        return Err(BadEscape { at: *at, why: "expected a hexadecimal digit or `}`" });
    }
    *at += 1;
    Ok(value)
}
