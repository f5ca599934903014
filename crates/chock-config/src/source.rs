//! A file's text, from which faults take the line they show.

use std::ops::Range;

use chock_zon::{Diagnostic, Entry, Kind, Node, Place, Shape};
use serde::de::DeserializeOwned;

use crate::fault::{Fault, Faults, nearest};

/// About how much of a long line is shown. Three lines of a usual terminal.
pub(crate) const EXCERPT_BYTES: usize = 240;

/// A file's text and the faults found in it so far.
#[derive(Debug)]
pub(crate) struct Source<'text> {
    name: &'text str,
    text: &'text str,
    /// What no fault shows.
    secrets: Vec<Range<usize>>,
    faults: Vec<Fault>,
}

/// What a file does with the names at one level.
pub(crate) struct Names {
    /// Names that are read.
    pub(crate) known: &'static [&'static str],
    /// Names that a later version reads.
    pub(crate) later: &'static [&'static str],
}

impl<'text> Source<'text> {
    /// Takes a file that holds no secrets.
    pub(crate) fn new(name: &'text str, text: &'text str) -> Self {
        Self { name, text, secrets: Vec::new(), faults: Vec::new() }
    }

    /// Takes a file in which what stands behind a field `token` is a secret, and what
    /// looks like one too: the field's name may be misspelt.
    pub(crate) fn with_tokens(name: &'text str, text: &'text str) -> Self {
        let mut secrets = token_ranges(text);
        secrets.extend(secret_looks(text));
        Self { secrets, ..Self::new(name, text) }
    }

    /// Takes a file of which no line is shown.
    pub(crate) fn all_secret(name: &'text str, text: &'text str) -> Self {
        Self { secrets: std::iter::once(0..text.len()).collect(), ..Self::new(name, text) }
    }

    /// Ends the reading: with `value`, or with all faults in the order of the text.
    pub(crate) fn finish<T>(mut self, value: T) -> Result<T, Faults> {
        if self.faults.is_empty() {
            return Ok(value);
        }
        self.faults.sort_by_key(|fault| (fault.line, fault.column));
        self.faults.truncate(chock_zon::FAULTS_MAX);
        Err(Faults::new(self.faults))
    }

    /// Whether anything was refused so far.
    pub(crate) fn has_faults(&self) -> bool {
        !self.faults.is_empty()
    }

    /// Reads the text into a struct's tree, or notes why it is none.
    pub(crate) fn parse(&mut self) -> Option<chock_zon::Tree> {
        match chock_zon::parse(self.text) {
            Ok(tree) if matches!(tree.root().shape(), Shape::Struct | Shape::Empty) => Some(tree),
            Ok(tree) => {
                let message = "the file is one struct, `.{ .name = value }`";
                self.refuse(tree.root().anchor(), message);
                None
            }
            Err(found) => {
                self.take(found);
                None
            }
        }
    }

    /// Reads a value, or notes what does not fit.
    pub(crate) fn read<T: DeserializeOwned>(&mut self, node: Node<'_>) -> Option<T> {
        node.read().map_err(|found| self.take(found)).ok()
    }

    /// Notes a fault without more to say.
    pub(crate) fn refuse(&mut self, place: Place, message: impl Into<String>) {
        let fault = self.fault(place, message.into());
        self.faults.push(fault);
    }

    /// Notes a word that is none of `known`.
    pub(crate) fn refuse_word<'name>(
        &mut self,
        place: Place,
        message: impl Into<String>,
        word: &str,
        known: impl IntoIterator<Item = &'name str>,
    ) {
        let nearest = nearest(word, known).map(str::to_owned);
        let fault = Fault { nearest, ..self.fault(place, message.into()) };
        self.faults.push(fault);
    }

    /// Notes a field whose name is not among those that are read.
    pub(crate) fn refuse_name(&mut self, entry: Entry<'_>, names: &Names, what: &str) {
        let name = entry.name();
        if names.later.contains(&name) {
            let message =
                format!("this version of chock does not read the {what} `{name}` yet; remove it");
            return self.refuse(entry.name_place(), message);
        }
        let known = names.known.iter().chain(names.later).copied();
        let message = format!("there is no {what} `{}`", shown(name));
        self.refuse_word(entry.name_place(), message, name, known);
        if let (Some(fault), true) = (self.faults.last_mut(), names.known.len() <= 16) {
            fault.notes.push(format!("the names are {}", names.known.join(", ")));
        }
    }

    fn take(&mut self, found: Vec<Diagnostic>) {
        let faults: Vec<_> =
            found.into_iter().map(|diagnostic| self.translate(diagnostic)).collect();
        self.faults.extend(faults);
    }

    fn translate(&self, found: Diagnostic) -> Fault {
        let place = found.place();
        let mut fault = self.fault(place, found.message);
        if let Kind::UnknownField { name, known } | Kind::UnknownVariant { name, known } =
            &found.kind
        {
            fault.nearest = nearest(name, known.iter().copied()).map(str::to_owned);
        }
        let span = place.span.start..place.span.end;
        let is_secret = self.secrets.iter().any(|secret| overlap(secret, &span));
        if is_secret && found.kind != Kind::InvalidValue {
            // A word or a digit of it could be part of the message. A token's own check has none.
            fault.message = "what stands here is not written as ZON wants it".to_owned();
            fault.notes = vec!["the value is not shown; a token stands in quotes".to_owned()];
            fault.nearest = None;
            return fault;
        }
        fault.notes = found.notes.into_iter().map(|note| self.note(place, &note)).collect();
        fault
    }

    fn note(&self, fault: Place, note: &chock_zon::Note) -> String {
        let Place { line, column, .. } = note.place;
        if (line, column) == (fault.line, fault.column) {
            return note.message.clone();
        }
        format!("{}:{line}:{column}: {}", self.name, note.message)
    }

    fn fault(&self, place: Place, message: String) -> Fault {
        let (source, underline) = self.excerpt(place);
        Fault {
            file: shown(self.name),
            line: place.line,
            column: place.column,
            source,
            underline,
            message: shown(&message),
            nearest: None,
            notes: Vec::new(),
        }
    }

    /// The line of `place`, fit to be printed, and where the place is in it.
    fn excerpt(&self, place: Place) -> (String, Range<usize>) {
        let start = place.span.start.min(self.text.len());
        let line_start = self.text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = self.text[start..].find('\n').map_or(self.text.len(), |at| start + at);
        let line_end = line_start + self.text[line_start..line_end].trim_end_matches('\r').len();
        let end = place.span.end.clamp(start, line_end.max(start));
        let from = boundary(self.text, start.saturating_sub(EXCERPT_BYTES / 2).max(line_start));
        let to = boundary(self.text, (from + EXCERPT_BYTES).min(line_end).max(start));
        let hidden: Vec<_> =
            self.secrets.iter().filter(|secret| overlap(secret, &(from..to))).collect();
        let mut source = String::new();
        let mut underline = 0..0;
        for (at, letter) in
            self.text[from..to].char_indices().map(|(at, letter)| (at + from, letter))
        {
            if at == start {
                underline.start = source.len();
            }
            if hidden.iter().any(|secret| secret.contains(&at)) {
                source.push('*');
            } else {
                push_shown(&mut source, letter);
            }
            if at < end {
                underline.end = source.len();
            }
        }
        if start >= to {
            underline.start = source.len();
        }
        underline.end = underline.end.max(underline.start);
        (source, underline)
    }
}

fn overlap(left: &Range<usize>, right: &Range<usize>) -> bool {
    left.start < right.end && right.start < left.end
}

/// The nearest place at or before `at` that does not cut a character.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// `text` without anything that could move a cursor or pass for something else.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|letter| push_shown(&mut out, letter));
    out
}

fn push_shown(out: &mut String, letter: char) {
    match letter {
        '\t' => out.push(' '),
        _ if letter.is_control() || turns(letter) => {
            out.push_str(&format!("\\u{{{:x}}}", u32::from(letter)));
        }
        _ => out.push(letter),
    }
}

/// Characters that are not seen, or turn the direction of what is seen.
fn turns(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// What stands behind `.token =`, to the closing quote or the end of the line.
///
/// The text may be at fault anywhere, so this looks at bytes and not at a tree.
fn token_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for (count, (at, _)) in text.match_indices("token").enumerate() {
        if count == TOKENS_MAX {
            ranges.push(at..text.len());
            break;
        }
        let rest = text[at + "token".len()..].trim_start_matches(['"', ' ', '\t', '\r', '\n']);
        let Some(value) = rest.strip_prefix('=') else { continue };
        let value = value.trim_start();
        let start = text.len() - value.len();
        ranges.push(start..start + secret_length(value));
    }
    ranges
}

/// How many times the word is looked at; each may cost a look at the whole line.
const TOKENS_MAX: usize = 1024;

/// Long words with letters and digits in them. Providers' tokens are such words.
fn secret_looks(text: &str) -> Vec<Range<usize>> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+=".contains(byte);
    let mut ranges = Vec::new();
    let mut at = 0;
    for word in text.as_bytes().chunk_by(|left, right| is_part(left) == is_part(right)) {
        let mixed = word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
        if word.len() >= SECRET_BYTES_MIN && mixed && word.iter().all(is_part) {
            ranges.push(at..at + word.len());
        }
        at += word.len();
    }
    ranges
}

/// The least length of a word that looks like a token. The shortest known ones have 32.
const SECRET_BYTES_MIN: usize = 20;

fn secret_length(value: &str) -> usize {
    let line = |text: &str| text.find('\n').unwrap_or(text.len());
    if value.starts_with("\\\\") {
        let mut length = 0;
        while value[length..].trim_start().starts_with("\\\\") {
            let blank = value[length..].len() - value[length..].trim_start().len();
            length += blank + line(&value[length + blank..]);
        }
        return length;
    }
    let line = line(value);
    let Some(quoted) = value[..line].strip_prefix('"') else {
        let word = |letter: char| letter.is_whitespace() || matches!(letter, ',' | '}');
        return value[..line].find(word).unwrap_or(line);
    };
    let mut escaped = false;
    for (at, byte) in quoted.bytes().enumerate() {
        match byte {
            b'"' if !escaped => return at + 2,
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    line
}
