//! One note: what it says, and how its file spells it.

use std::fmt;
use std::str::FromStr;

use chock_log::{Mask, Redactor};

use super::{NOTE_VERSIONS_MAX, NoteFault, Stamp};

/// The longest text of a version, in bytes. Source: the format's earlier version.
pub(super) const BODY_BYTES_MAX: usize = 16 << 10;

/// The longest line that says what a note is about, in bytes: every prompt holds it.
const DESCRIPTION_BYTES_MAX: usize = 200;

/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// The longest word that a head takes over from elsewhere: a time, a session's id.
const WORD_BYTES_MAX: usize = 64;

/// The fields of a version's head, in order.
const FIELDS: [&str; 7] =
    ["name", "kind", "version", "written_at", "session", "bytes", "description"];

/// The name of a note: it is the name of its file, so it can be no path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoteName(String);

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoteKind {
    /// Something understood.
    Insight,
    /// How the code is.
    CodeFact,
    /// How things are done here.
    Convention,
    /// What goes wrong unexpectedly.
    Gotcha,
    /// What was tried and does not work.
    DeadEnd,
    /// What the machine or its tools need.
    Environment,
}

/// A version of a note that is to be written. What it says was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    name: NoteName,
    kind: NoteKind,
    description: String,
    body: String,
}

/// One version of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteVersion {
    /// Its number, from 1.
    pub version: u32,
    /// What it is about.
    pub kind: NoteKind,
    /// When it was written, as RFC 3339 in UTC.
    pub written_at: String,
    /// The session that wrote it.
    pub session: String,
    /// What it says, in a line of at most 200 bytes.
    pub description: String,
    /// What it says: at most 16 KiB without control characters but tabs and line ends.
    pub body: String,
}

/// A note with all its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    name: NoteName,
    /// Newest first.
    versions: Vec<NoteVersion>,
}

impl NoteName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NoteName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl FromStr for NoteName {
    type Err = NoteFault;

    fn from_str(name: &str) -> Result<Self, NoteFault> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let fits = name.len() <= NAME_BYTES_MAX
            && name.bytes().next().is_some_and(is_letter)
            && name.bytes().all(|byte| is_letter(byte) || byte == b'-' || byte == b'_');
        if fits {
            return Ok(Self(name.to_owned()));
        }
        Err(NoteFault::Name { name: name.chars().take(NAME_BYTES_MAX).collect() })
    }
}

impl NoteKind {
    /// Every kind.
    pub const ALL: [Self; 6] = [
        Self::Insight,
        Self::CodeFact,
        Self::Convention,
        Self::Gotcha,
        Self::DeadEnd,
        Self::Environment,
    ];

    /// Returns the word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Insight => "insight",
            Self::CodeFact => "code_fact",
            Self::Convention => "convention",
            Self::Gotcha => "gotcha",
            Self::DeadEnd => "dead_end",
            Self::Environment => "environment",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl Draft {
    /// Checks what is to be written.
    ///
    /// # Errors
    ///
    /// A sentence that names what does not fit.
    pub fn new(
        name: NoteName,
        kind: NoteKind,
        description: &str,
        body: &str,
    ) -> Result<Self, String> {
        let (description, body) = (description.trim().to_owned(), body.trim_end().to_owned());
        check_description(&description).map_err(|why| format!("`description` {why}"))?;
        check_body(&body).map_err(|why| format!("`body` {why}"))?;
        Ok(Self { name, kind, description, body })
    }

    /// Returns the draft with its secrets replaced; nothing when it holds none.
    pub(super) fn masked(&self, redactor: &Redactor) -> Result<Option<Self>, String> {
        let masked = |text: &str| redactor.text(text, Mask::All);
        let (description, body) = (masked(&self.description), masked(&self.body));
        if description.is_none() && body.is_none() {
            return Ok(None);
        }
        let description = description.as_deref().unwrap_or(&self.description);
        let body = body.as_deref().unwrap_or(&self.body);
        Self::new(self.name.clone(), self.kind, description, body).map(Some)
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &NoteName {
        &self.name
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> NoteKind {
        self.kind
    }

    /// Returns what it says, in a line.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns what it says.
    #[must_use]
    pub fn body(&self) -> &str {
        &self.body
    }

    pub(super) fn says_the_same(&self, version: &NoteVersion) -> bool {
        self.kind == version.kind
            && self.description == version.description
            && self.body == version.body
    }
}

impl Note {
    /// Begins a note without a version.
    pub(super) fn new(name: NoteName) -> Self {
        Self { name, versions: Vec::new() }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &NoteName {
        &self.name
    }

    /// Lists the versions, newest first. A note that was read has one at least.
    #[must_use]
    pub fn versions(&self) -> &[NoteVersion] {
        &self.versions
    }

    /// Returns the newest version.
    #[must_use]
    pub fn newest(&self) -> Option<&NoteVersion> {
        self.versions.first()
    }

    /// Puts a version on top, and returns its number.
    pub(super) fn add(&mut self, draft: &Draft, stamp: &Stamp) -> u32 {
        let version = self.newest().map_or(0, |newest| newest.version) + 1;
        let Draft { kind, description, body, .. } = draft.clone();
        let Stamp { written_at, session } = stamp.clone();
        let newest = NoteVersion { version, kind, written_at, session, description, body };
        self.versions.insert(0, newest);
        version
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for version in &self.versions {
            let NoteVersion { version, kind, written_at, session, description, body } = version;
            let (kind, number, bytes) = (kind.word(), version.to_string(), body.len().to_string());
            let name = self.name.as_str();
            let values = [name, kind, &number, written_at, session, &bytes, description];
            for (field, value) in FIELDS.into_iter().zip(values) {
                text.push_str(&format!("{field}: {value}\n"));
            }
            text.push_str(&format!("\n{body}\n"));
        }
        text
    }

    /// Reads a file. The words say what is wrong with it.
    pub(super) fn of_text(name: &NoteName, bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
        let mut versions: Vec<NoteVersion> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (version, behind) = version(name, rest)?;
            if versions.last().is_some_and(|newer| newer.version <= version.version) {
                return Err("its versions are not in order".to_owned());
            }
            if versions.len() >= NOTE_VERSIONS_MAX {
                return Err(format!("it has over {NOTE_VERSIONS_MAX} versions"));
            }
            versions.push(version);
            rest = behind;
        }
        if versions.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(Self { name: name.clone(), versions })
    }
}

/// Takes one version from the front of a text.
fn version<'a>(name: &NoteName, text: &'a str) -> Result<(NoteVersion, &'a str), String> {
    let mut rest = text;
    let mut values = [""; FIELDS.len()];
    for (field, value) in FIELDS.into_iter().zip(&mut values) {
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        let said = line.strip_prefix(field).and_then(|line| line.strip_prefix(": "));
        *value = said.ok_or_else(|| format!("it has no line `{field}: ` where one belongs"))?;
        rest = behind;
    }
    let [own, kind, number, written_at, session, bytes, description] = values;
    if own != name.as_str() {
        return Err("it says another name than its own".to_owned());
    }
    let kind = NoteKind::of_word(kind).ok_or("its `kind` is none that there is")?;
    let version = number.parse().ok().filter(|number| *number > 0);
    let version = version.ok_or("its `version` is no number from 1")?;
    for word in [written_at, session] {
        if word.len() > WORD_BYTES_MAX || word.contains(char::is_control) {
            return Err("its head says more than a word where a word belongs".to_owned());
        }
    }
    check_description(description).map_err(|why| format!("its `description` {why}"))?;
    let rest = rest.strip_prefix('\n').ok_or("no empty line ends its head")?;
    let end: usize = bytes.parse().map_err(|_| "its `bytes` is no number")?;
    let cut = "its text is not as long as its head says";
    let (body, behind) = rest.split_at_checked(end).ok_or(cut)?;
    let behind = behind.strip_prefix('\n').ok_or(cut)?;
    check_body(body).map_err(|why| format!("its text {why}"))?;
    let (written_at, session) = (written_at.to_owned(), session.to_owned());
    let (description, body) = (description.to_owned(), body.to_owned());
    Ok((NoteVersion { version, kind, written_at, session, description, body }, behind))
}

fn check_description(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("is empty: say in a line what the note is about".to_owned());
    }
    if text.len() > DESCRIPTION_BYTES_MAX {
        return Err(format!("has {} bytes: the limit is {DESCRIPTION_BYTES_MAX}", text.len()));
    }
    if text.contains(char::is_control) {
        return Err("must be one line without control characters".to_owned());
    }
    Ok(())
}

fn check_body(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    if text.len() > BODY_BYTES_MAX {
        return Err(format!("has {} bytes: the limit is {BODY_BYTES_MAX}", text.len()));
    }
    if text.contains(|letter: char| letter.is_control() && !matches!(letter, '\n' | '\t')) {
        return Err("holds a control character that is no tab and no line end".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> NoteName {
        text.parse().expect(text)
    }

    fn draft(body: &str) -> Draft {
        Draft::new(name("a-note"), NoteKind::Gotcha, "what bites", body).expect(body)
    }

    fn stamp() -> Stamp {
        Stamp { written_at: "2026-11-30T08:00:00Z".into(), session: "01ARZ3NDEK".into() }
    }

    fn two_versions() -> Note {
        let mut note = Note::new(name("a-note"));
        // What looks like a head in a text is text.
        note.add(&draft("first\n\nname: a-note\nkind: gotcha"), &stamp());
        note.add(&draft("naïve second"), &stamp());
        note
    }

    #[test]
    fn only_what_can_be_no_path_is_a_name() {
        let long = "x".repeat(64);
        for good in ["a", "0", "a-b_c", &long] {
            assert_eq!(name(good).as_str(), good);
        }
        let longer = "x".repeat(65);
        for bad in ["", "-a", "_a", "A", "a.b", "a/b", "..", ".lock", "a b", "é", &longer, "a\n"] {
            assert!(bad.parse::<NoteName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_file_reads_as_it_was_written_newest_first() {
        let note = two_versions();
        let text = note.to_text();
        assert!(
            text.starts_with(
                "name: a-note\nkind: gotcha\nversion: 2\nwritten_at: 2026-11-30T08:00:00Z\n\
                 session: 01ARZ3NDEK\nbytes: 13\ndescription: what bites\n\nnaïve second\nname: "
            ),
            "{text}"
        );
        let read = Note::of_text(&name("a-note"), text.as_bytes()).expect("a note");
        assert_eq!(read, note);
        assert_eq!(read.newest().map(|version| version.version), Some(2));
    }

    #[test]
    fn a_file_that_was_changed_or_cut_anywhere_is_no_note() {
        let text = two_versions().to_text();
        let second = text.rfind("name: a-note\nkind: gotcha\nversion: 1").expect("a version");
        for end in (0..text.len()).filter(|end| *end != second) {
            let cut = &text.as_bytes()[..end];
            assert!(Note::of_text(&name("a-note"), cut).is_err(), "{end}");
        }
        let changed = [
            ("version: 1", "version: 3"),
            ("version: 1", "version: 2"),
            ("version: 1", "version: 0"),
            ("version: 1", "version: x"),
            ("kind: gotcha", "kind: order"),
            ("name: a-note", "name: another"),
            ("bytes: 13", "bytes: 12"),
            ("bytes: 13", "bytes: 14"),
            ("bytes: 13", "bytes: 99999999999999999999"),
            ("what bites", ""),
            ("what bites", "what \u{1b}[2J"),
            ("naïve second", "naïve secon\u{7}"),
            ("session: ", "sitting: "),
        ];
        for (from, to) in changed {
            let text = text.replacen(from, to, 1);
            assert!(Note::of_text(&name("a-note"), text.as_bytes()).is_err(), "{from} -> {to}");
        }
        assert!(
            Note::of_text(&name("a-note"), &[&text.as_bytes()[..5], &[0xff]].concat()).is_err()
        );
        assert!(Note::of_text(&name("another"), text.as_bytes()).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused_by_field() {
        let long = "x".repeat(BODY_BYTES_MAX + 1);
        let line = "x".repeat(DESCRIPTION_BYTES_MAX + 1);
        let cases = [
            ("", "x", "`description` is empty"),
            ("a\nb", "x", "`description` must be one line"),
            (&line, "x", "`description` has 201 bytes"),
            ("a", " \n", "`body` is empty"),
            ("a", &long, "`body` has 16385 bytes: the limit is 16384"),
            ("a", "x\u{1b}[2J", "`body` holds a control character"),
        ];
        for (description, body, words) in cases {
            let fault = Draft::new(name("a"), NoteKind::Insight, description, body);
            let fault = fault.expect_err(words);
            assert!(fault.starts_with(words), "{words}: {fault}");
        }
    }
}
