//! Walks a person through the changes, file by file and change by change.

use std::io::{self, BufRead};

use chock_workspace::{Carriage, ChangeKind, FileChange, Hunk, LineTag};

use crate::exit::Failure;
use crate::handback::Sight;
use crate::report::PathText;
use crate::selection::{MODE, Selection};
use crate::terminal::{Terminal, Weight};
use crate::visible::{visible, visible_line};

/// The most bytes of an answer that are read.
const ANSWER_BYTES_MAX: u64 = 4096;

/// How many lines of a new or deleted file are shown.
const LINES_SHOWN: usize = 200;

const HELP: [&str; 9] = [
    "y  take it",
    "n  decline it; the model is told",
    "l  leave it for later; the model is told nothing",
    "a  take it and the rest of this file",
    "d  decline it and the rest of this file",
    "s  split it into smaller changes",
    "c  decline it, and say why",
    "q  leave the rest, and go to the end",
    "?  this",
];

/// What a person said to one question.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Yes,
    No(String),
    Later,
    RestYes,
    RestNo,
    Split,
    Quit,
}

/// Asks for every change. `None` when nothing is to be done.
pub(crate) fn through(
    terminal: &mut Terminal,
    sight: &Sight,
) -> Result<Option<Selection>, Failure> {
    let mut walk = Walk { terminal, selection: Selection::default(), quit: false };
    let files = &sight.changes.files;
    for (number, file) in files.iter().enumerate() {
        if walk.quit {
            break;
        }
        walk.file(file, (number + 1, files.len()))?;
    }
    let Walk { selection, .. } = walk;
    if selection.is_empty() {
        terminal.say(Weight::Quiet, "nothing was chosen");
        return Ok(None);
    }
    let (taken, declined) = (selection.accept.len(), selection.reject.len());
    let question = format!("Take {taken} and decline {declined} changes now? y = yes: ");
    terminal.say_piece(&question);
    let answer = line()?.unwrap_or_default();
    if answer != "y" && answer != "yes" {
        terminal.say(Weight::Quiet, "nothing was done");
        return Ok(None);
    }
    Ok(Some(selection))
}

/// Says in a line what happened to a file.
pub(crate) fn headline(file: &FileChange) -> String {
    let name = |path: &[u8]| visible_line(&String::from_utf8_lossy(path));
    let word = match file.kind {
        ChangeKind::Added => "new",
        ChangeKind::Modified => "changed",
        ChangeKind::Deleted => "deleted",
        ChangeKind::Renamed => "renamed",
        ChangeKind::Mode => "mode",
        ChangeKind::Symlink => "link",
        ChangeKind::Submodule => "submodule",
        _ => "other",
    };
    match &file.old_path {
        Some(old) => format!("{word} {} -> {}", name(old), name(&file.path)),
        None => format!("{word} {}", name(&file.path)),
    }
}

struct Walk<'a> {
    terminal: &'a mut Terminal,
    selection: Selection,
    quit: bool,
}

impl Walk<'_> {
    fn file(&mut self, file: &FileChange, (number, of): (usize, usize)) -> Result<(), Failure> {
        let head = format!("[{number}/{of}] {}", headline(file));
        self.terminal.say(Weight::Strong, &head);
        for flag in &file.flags {
            self.terminal.say(Weight::Warn, &format!("  look twice: {}", flag.words()));
        }
        if file.carriage() == Carriage::Refused {
            self.terminal.say(Weight::Warn, "  it is never carried; it stays in the session");
            return Ok(());
        }
        if file.old_mode != file.new_mode && file.old_mode != 0 && file.new_mode != 0 {
            let words = format!("  mode {:06o} -> {:06o}", file.old_mode, file.new_mode);
            self.terminal.say(Weight::Plain, &words);
        }
        if file.has_parts() {
            return self.parts(file.clone());
        }
        if file.binary {
            self.terminal.say(Weight::Quiet, "  (not text)");
        }
        for hunk in &file.hunks {
            self.show(hunk);
        }
        let word = self.ask("Take this file?", false)?;
        self.settle(&file.path, None, word);
        Ok(())
    }

    /// Asks for the mode and each change of a text.
    fn parts(&mut self, mut file: FileChange) -> Result<(), Failure> {
        let mut rest = None;
        if file.old_mode != file.new_mode {
            let word = self.ask("Take the new mode?", false)?;
            rest = rest_of(&word);
            self.settle(&file.path, Some(MODE), word);
        }
        let mut at = 0;
        while at < file.hunks.len() && !self.quit {
            if let Some(word) = rest.clone() {
                let id = file.hunks[at].id.to_string();
                self.settle(&file.path, Some(&id), word);
                at += 1;
                continue;
            }
            let (number, of) = (at + 1, file.hunks.len());
            let hunk = file.hunks[at].clone();
            self.show(&hunk);
            let word = self.ask(&format!("Take change {number} of {of}?"), true)?;
            if word == Word::Split {
                if !file.split(&hunk.id) {
                    self.terminal.say(Weight::Quiet, "it is one change and cannot be split");
                }
                continue;
            }
            rest = rest_of(&word);
            self.settle(&file.path, Some(hunk.id.as_str()), word);
            at += 1;
        }
        Ok(())
    }

    /// Notes an answer.
    fn settle(&mut self, path: &[u8], part: Option<&str>, word: Word) {
        let name = match part {
            Some(part) => PathText([path, b":", part.as_bytes()].concat()),
            None => PathText(path.to_vec()),
        };
        match word {
            Word::Yes | Word::RestYes => self.selection.accept.push(name),
            Word::No(because) => self.selection.reject.push((name, because)),
            Word::RestNo => self.selection.reject.push((name, String::new())),
            Word::Quit => self.quit = true,
            Word::Later | Word::Split => {}
        }
    }

    fn show(&mut self, hunk: &Hunk) {
        self.terminal.say(Weight::Quiet, &format!("@@ line {} @@", hunk.new_start));
        for line in hunk.lines.iter().take(LINES_SHOWN) {
            let text = String::from_utf8_lossy(&line.bytes);
            let text = visible(text.trim_end_matches('\n')).into_owned();
            let weight = match line.tag {
                LineTag::Context => Weight::Plain,
                LineTag::Removed => Weight::Bad,
                LineTag::Added => Weight::Good,
            };
            let sign = char::from(line.tag.sign());
            self.terminal.say(weight, &format!("{sign}{text}"));
        }
        if let Some(more) = hunk.lines.len().checked_sub(LINES_SHOWN).filter(|more| *more > 0) {
            self.terminal.say(Weight::Quiet, &format!("... and {more} more lines"));
        }
    }

    fn ask(&mut self, question: &str, splits: bool) -> Result<Word, Failure> {
        let letters = if splits { "y n l a d s c q ?" } else { "y n l c q ?" };
        loop {
            self.terminal.say_piece(&format!("{question} [{letters}] "));
            let Some(answer) = line()? else { return Ok(Word::Quit) };
            match answer.as_str() {
                "y" => return Ok(Word::Yes),
                "n" => return Ok(Word::No(String::new())),
                "l" => return Ok(Word::Later),
                "a" => return Ok(Word::RestYes),
                "d" => return Ok(Word::RestNo),
                "s" if splits => return Ok(Word::Split),
                "q" => return Ok(Word::Quit),
                "c" => {
                    self.terminal.say_piece("Why? ");
                    return Ok(Word::No(line()?.unwrap_or_default()));
                }
                _ => HELP.iter().for_each(|line| self.terminal.say(Weight::Quiet, line)),
            }
        }
    }
}

/// What an answer says of the rest of its file.
fn rest_of(word: &Word) -> Option<Word> {
    match word {
        Word::RestYes | Word::RestNo => Some(word.clone()),
        Word::Yes | Word::No(_) | Word::Later | Word::Split | Word::Quit => None,
    }
}

/// Reads a line that was typed. `None` at the end of the input.
fn line() -> io::Result<Option<String>> {
    use std::io::Read;
    let mut line = Vec::new();
    let read = io::stdin().lock().take(ANSWER_BYTES_MAX).read_until(b'\n', &mut line)?;
    Ok((read > 0).then(|| String::from_utf8_lossy(&line).trim().to_owned()))
}
