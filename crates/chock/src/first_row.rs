//! Offers what `config.zon` lacks: to be pasted, or written when there is no file yet.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::exit::Failure;
use crate::program::Program;
use crate::terminal::{Terminal, Weight};

/// Shows a whole `config.zon`, and writes it where there is none and the person wants it. Says
/// whether it was written.
pub(crate) fn offer(
    program: &Program,
    terminal: &mut Terminal,
    text: &str,
) -> Result<bool, Failure> {
    let path = program.places.config.join("config.zon");
    let is_there = path.symlink_metadata().is_ok();
    let words = if is_there {
        format!("put the row of its provider into {}:", path.display())
    } else {
        format!("{} would say:", path.display())
    };
    terminal.say(Weight::Plain, &words);
    terminal.say(Weight::Strong, &format!("  {text}"));
    if is_there || !terminal.can_ask {
        return Ok(false);
    }
    terminal.say_piece("Write it? y = yes, anything else = no: ");
    let mut line = String::new();
    let read = io::stdin().read_line(&mut line);
    if read.is_err() || !matches!(line.trim(), "y" | "yes") {
        return Ok(false);
    }
    write(&path, text)
        .map_err(|fault| Failure::start(format!("cannot write {}: {fault}", path.display())))?;
    terminal.say(Weight::Good, "it is written");
    Ok(true)
}

/// Writes a file that was not there, for its person alone.
fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")?;
    file.sync_all()
}

/// Writes a stranger's text as a string of ZON.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            ' '..='~' => quoted.push(letter),
            other => quoted.push_str(&format!("\\u{{{:x}}}", u32::from(other))),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strangers_name_stays_one_string() {
        assert_eq!(quoted("qwen3-coder:30b"), "\"qwen3-coder:30b\"");
        assert_eq!(quoted("a\"}, .x = \\\n"), "\"a\\\"}, .x = \\\\\\u{a}\"");
    }
}
