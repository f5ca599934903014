//! What the shell takes out of quotes.

use super::script::Part;

/// Reads letters outside of quotes; nothing when they hold what a plain word cannot.
///
/// A glob may become any number of words.
pub(crate) fn plain(text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut known = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next()? {
                '\n' => return None,
                escaped => known.push(escaped),
            },
            '*' | '?' | '[' => {
                parts.push(Part::Text(std::mem::take(&mut known)));
                parts.push(Part::Words);
            }
            '$' | '`' | '"' | '\'' | '\n' | '\r' => return None,
            other => known.push(other),
        }
    }
    parts.push(Part::Text(known));
    parts.retain(|part| *part != Part::Text(String::new()) || text.is_empty());
    Some(parts)
}

/// Reads letters within double quotes, where no expansion was found.
pub(crate) fn double(text: &str) -> Option<String> {
    let mut known = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.peek() {
                Some('\n') => {
                    letters.next();
                }
                Some(&escaped @ ('$' | '`' | '"' | '\\')) => {
                    letters.next();
                    known.push(escaped);
                }
                Some(_) => known.push('\\'),
                None => return None,
            },
            // A dollar that begins nothing is itself.
            '$' => match letters.peek() {
                None | Some(' ' | '.' | ',' | ')' | '/' | '|' | '%' | '\\') => known.push('$'),
                Some(_) => return None,
            },
            '`' | '"' => return None,
            other => known.push(other),
        }
    }
    Some(known)
}

/// Reads what stands between `$'` and `'`; nothing for an escape that is not a plain one.
pub(crate) fn ansi_c(text: &str) -> Option<String> {
    let mut known = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            known.push(letter);
            continue;
        }
        known.push(match letters.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'e' | 'E' => '\u{1b}',
            same @ ('\\' | '\'' | '"' | '?') => same,
            'x' => number(&mut letters, 16, 2)?,
            'u' => number(&mut letters, 16, 4)?,
            'U' => number(&mut letters, 16, 8)?,
            _ => return None,
        });
    }
    Some(known)
}

fn number(
    letters: &mut std::iter::Peekable<std::str::Chars<'_>>,
    radix: u32,
    most: usize,
) -> Option<char> {
    let mut value = 0;
    let mut digits = 0;
    while digits < most {
        let Some(digit) = letters.peek().and_then(|letter| letter.to_digit(radix)) else { break };
        value = value * radix + digit;
        digits += 1;
        letters.next();
    }
    // A byte that is no letter of ASCII may be a piece of another.
    let plain = digits > 0 && value > 0 && (most > 2 || value < 0x80);
    if plain { char::from_u32(value) } else { None }
}
