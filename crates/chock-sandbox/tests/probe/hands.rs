//! Hands for the tests.

use std::io::Write;

use chock_sandbox::Hand;

use crate::attempts;

pub(crate) const HANDS: [Hand; 4] = [
    Hand { name: "echo", call: echo },
    Hand { name: "read", call: read },
    Hand { name: "try", call: attack },
    Hand { name: "panic", call: panics },
];

fn echo(request: &[u8], out: &mut dyn Write) -> i32 {
    i32::from(out.write_all(request).is_err())
}

/// Writes the file that the request names.
fn read(request: &[u8], out: &mut dyn Write) -> i32 {
    let path = String::from_utf8_lossy(request);
    match std::fs::read(path.as_ref()) {
        Ok(bytes) => i32::from(out.write_all(&bytes).is_err()),
        Err(error) => {
            let _ = write!(out, "{error}");
            3
        }
    }
}

/// Attacks as `try` does, from a hand: the request's lines are its words.
fn attack(request: &[u8], out: &mut dyn Write) -> i32 {
    let text = String::from_utf8_lossy(request);
    let words: Vec<String> = text.lines().map(str::to_owned).collect();
    let (code, answer) = attempts::answer(&words);
    let _ = writeln!(out, "{answer}");
    code.into()
}

fn panics(_: &[u8], _: &mut dyn Write) -> i32 {
    panic!("a hand that breaks");
}
