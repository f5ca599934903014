//! Shells that a command line starts.

use super::name::{Input, Namer, Stage};
use super::script::Word;

/// What a shell was told to read.
enum Reads {
    Line(Word),
    File(Word),
    Input,
    Nothing,
    Unknown,
}

/// Names what a shell of the Bourne family starts.
pub(crate) fn shell(namer: &mut Namer<'_>, words: &[Word], stage: &Stage<'_>) {
    match reads(words) {
        Reads::Line(line) => namer.elsewhere(&line, &stage.scene()),
        Reads::File(file) => namer.script_file(&file, stage),
        Reads::Input => interactive(namer, stage),
        Reads::Nothing => {}
        Reads::Unknown => namer.unparsed(),
    }
}

/// Names what a shell starts that reads its commands from the standard input.
pub(crate) fn interactive(namer: &mut Namer<'_>, stage: &Stage<'_>) {
    match &stage.input {
        Input::Inherited if stage.scene.fed || namer.rewired => namer.unparsed(),
        // A call's own input is empty.
        Input::Inherited => {}
        Input::Text(text) => {
            let mut scene = stage.scene.clone();
            scene.fed = true;
            namer.elsewhere(&Word::of(text.clone()), &scene);
        }
        Input::File(file) => namer.script_file(file, stage),
        Input::Unknown => namer.unparsed(),
    }
}

fn reads(words: &[Word]) -> Reads {
    let mut rest = words.iter();
    let (mut line, mut input) = (false, false);
    let operand = loop {
        let Some(word) = rest.next() else { break None };
        let Some(text) = word.text() else {
            let named = word.below_here().is_some() || word.beginning().starts_with(|c| c != '-');
            if named && word.is_one() {
                break Some(word);
            }
            return Reads::Unknown;
        };
        match text.as_str() {
            "--" | "-" => break rest.next(),
            "--version" | "--help" => return Reads::Nothing,
            "--norc" | "--noprofile" | "--posix" | "--login" | "--verbose" | "--restricted"
            | "--noediting" => {}
            text if text.starts_with("--") => return Reads::Unknown,
            text if text.starts_with(['-', '+']) => {
                for letter in text[1..].chars() {
                    match letter {
                        'c' => line = true,
                        's' => input = true,
                        'o' | 'O' => {
                            if rest.next().and_then(Word::text).is_none() {
                                return Reads::Unknown;
                            }
                        }
                        'a' | 'b' | 'e' | 'f' | 'h' | 'i' | 'k' | 'l' | 'm' | 'n' | 'p' | 'r'
                        | 't' | 'u' | 'v' | 'x' | 'B' | 'C' | 'E' | 'H' | 'P' | 'T' => {}
                        _ => return Reads::Unknown,
                    }
                }
            }
            _ => break Some(word),
        }
    };
    match operand {
        Some(word) if line => Reads::Line(word.clone()),
        None if line => Reads::Nothing,
        Some(word) if !input => Reads::File(word.clone()),
        Some(_) | None => Reads::Input,
    }
}
