//! `grep`: lines that match a regular expression.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use chock_log::Session;
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use rustix::fs::{Mode as FileMode, OFlags};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::glob::{PATTERN_BYTES_MAX, checked};
use super::{Prepared, Tool};
use crate::answer::{Done, Trouble};
use crate::desk::{Desk, Place};
use crate::hands::Handed;
use crate::lines::Lines;
use crate::names::{count, escaped, shown};
use crate::walk::{Found, Kind, Wanted, walk};

/// The most lines of one answer that shows content, lines around matches included.
const LINES_MAX: usize = 200;

/// The most files of one answer that shows files.
const FILES_MAX: usize = 500;

/// The most bytes of one line that are shown.
const LINE_BYTES_MAX: usize = 500;

/// The most lines around a match.
const CONTEXT_MAX: u64 = 20;

/// The largest compiled expression, in bytes.
const EXPRESSION_BYTES_MAX: usize = 10 << 20;

/// The longest line that is searched, in bytes.
const BUFFER_BYTES_MAX: usize = 64 << 20;

pub(crate) struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// A regular expression in the syntax of Rust's regex and ripgrep, matched line by line.
    pattern: String,
    /// The file or directory to search. The default is the working directory.
    path: Option<String>,
    /// Search only files whose name matches this pattern, such as `*.rs` or `*.{ts,tsx}`; with a
    /// slash in it the path is matched, and a `!` before it leaves such files out.
    glob: Option<String>,
    /// Take upper and lower case for the same. The default is false.
    case_insensitive: Option<bool>,
    /// How many lines to show before and after each match. The default is 0.
    #[schemars(range(min = 0, max = 20))]
    context: Option<u64>,
    /// What to show: the matching lines (`content`, the default), the names of files that have
    /// any (`files`), or how many each file has (`count`).
    #[serde(default)]
    mode: Mode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    place: Place,
    pattern: String,
    glob: Option<String>,
    case_insensitive: bool,
    context: usize,
    mode: Mode,
}

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const DESCRIPTION: &'static str = "Searches the contents of files with a regular expression, sorted by path: at most 200 \
         lines, or 500 files. Hidden files are searched; .git, binary files and what ignore files \
         name are not.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { pattern, path, glob, case_insensitive, context, mode }: Arguments,
        desk: &Desk,
        _: &Session,
    ) -> Result<Prepared, String> {
        let place = desk.place("path", path.as_deref().unwrap_or("."))?;
        let case_insensitive = case_insensitive.unwrap_or(false);
        matcher(&pattern, case_insensitive)?;
        if let Some(glob) = &glob {
            checked("glob", glob, Wanted::filter)?;
        }
        let effect = format!("search {} for {}", shown(&place.open), shown(&pattern));
        let context = context.unwrap_or(0).min(CONTEXT_MAX) as usize;
        let request = Request { place, pattern, glob, case_insensitive, context, mode };
        Ok(Prepared::hand(&request, effect))
    }
}

fn matcher(pattern: &str, case_insensitive: bool) -> Result<RegexMatcher, String> {
    if pattern.is_empty() {
        return Err("`pattern` is empty".into());
    }
    if pattern.len() > PATTERN_BYTES_MAX {
        let bytes = pattern.len();
        return Err(format!("`pattern` has {bytes} bytes: the limit is {PATTERN_BYTES_MAX}"));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(case_insensitive)
        .multi_line(true)
        .crlf(true)
        .size_limit(EXPRESSION_BYTES_MAX)
        .dfa_size_limit(EXPRESSION_BYTES_MAX)
        .build(pattern)
        .map_err(|fault| format!("`pattern` is not a regular expression that works here: {fault}"))
}

impl Handed for Grep {
    type Request = Request;

    fn work(request: Request) -> Result<Done, Trouble> {
        let matcher = matcher(&request.pattern, request.case_insensitive)?;
        let wanted = request.glob.as_deref().map_or(Ok(Wanted::All), Wanted::filter)?;
        let lines_max = if request.mode == Mode::Content { LINES_MAX } else { FILES_MAX };
        let found = Mutex::new(Found::new(lines_max));
        let (matches, unread) = (AtomicU64::new(0), AtomicU64::new(0));
        walk(&request.place, &wanted, Kind::Files, || {
            let (matcher, mut searcher) = (matcher.clone(), searcher(&request));
            let (found, matches, unread) = (&found, &matches, &unread);
            let mode = request.mode;
            move |path: &Path, shown: &str| match search(&mut searcher, &matcher, mode, path) {
                Ok(hits) if hits.matches > 0 => {
                    matches.fetch_add(hits.matches, Ordering::Relaxed);
                    let mut found = found.lock().expect("invariant: no thread panics holding it");
                    let lines = if mode == Mode::Content { hits.lines.len() } else { 1 };
                    found.add(shown, lines, hits);
                }
                Ok(_) => {}
                Err(_) => {
                    unread.fetch_add(1, Ordering::Relaxed);
                }
            }
        })?;
        let found = found.into_inner().expect("invariant: no thread panics holding it");
        let totals = Totals {
            files: found.total,
            matches: matches.into_inner(),
            unread: unread.into_inner(),
        };
        let text = match request.mode {
            Mode::Content => content(found, &totals),
            Mode::Files => files(found, &totals, |path, _| path.to_owned()),
            Mode::Count => files(found, &totals, |path, hits| format!("{path}:{}", hits.matches)),
        };
        Ok(Done { text, ..Done::default() })
    }
}

fn searcher(request: &Request) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(0))
        .before_context(request.context)
        .after_context(request.context)
        .heap_limit(Some(BUFFER_BYTES_MAX))
        .build()
}

fn search(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    mode: Mode,
    path: &Path,
) -> io::Result<Hits> {
    // A FIFO could have taken the place since: without NONBLOCK its opening would wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, FileMode::empty())?);
    let mut hits = Hits { mode, matches: 0, lines: Vec::new() };
    searcher.search_file(matcher, &file, &mut hits)?;
    Ok(hits)
}

/// What was found in one file.
#[derive(Debug)]
struct Hits {
    mode: Mode,
    /// How many lines match.
    matches: u64,
    /// The first of them, with the lines around.
    lines: Vec<Line>,
}

#[derive(Debug)]
enum Line {
    Match(u64, String),
    Around(u64, String),
    Break,
}

impl Hits {
    fn keep(&mut self, line: Line) {
        if self.lines.len() < LINES_MAX {
            self.lines.push(line);
        }
    }
}

impl Sink for Hits {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        match self.mode {
            Mode::Files => return Ok(false),
            Mode::Count => return Ok(true),
            Mode::Content => {}
        }
        let number = found.line_number().unwrap_or_default();
        self.keep(Line::Match(number, words(found.bytes())));
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> io::Result<bool> {
        let number = around.line_number().unwrap_or_default();
        self.keep(Line::Around(number, words(around.bytes())));
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.keep(Line::Break);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        // What stands before the first NUL byte of a binary file is no line of text.
        if end.binary_byte_offset().is_some() {
            self.matches = 0;
        }
        Ok(())
    }
}

fn words(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let Some(cut) = line.get(..LINE_BYTES_MAX) else {
        return String::from_utf8_lossy(line).into_owned();
    };
    let text = String::from_utf8_lossy(cut);
    let text = text.trim_end_matches('\u{fffd}');
    format!("{text} [chock: {} more bytes in this line]", line.len() - text.len())
}

/// What was found in all.
struct Totals {
    files: u64,
    matches: u64,
    unread: u64,
}

fn content(found: Found<Hits>, totals: &Totals) -> String {
    let (mut lines, mut taken, mut files, mut matched) = (Lines::default(), 0, 0, 0);
    for (path, hits) in found.into_kept() {
        let path = escaped(&path);
        let around = hits.lines.iter().any(|line| matches!(line, Line::Around(..)));
        if around && files > 0 {
            lines.push("--");
        }
        files += 1;
        for line in hits.lines.iter().take(LINES_MAX - taken) {
            taken += 1;
            let (text, matches) = match line {
                Line::Match(number, words) => (format!("{path}:{number}:{words}"), 1),
                Line::Around(number, words) => (format!("{path}-{number}-{words}"), 0),
                Line::Break => ("--".into(), 0),
            };
            if lines.push(&text) {
                matched += matches;
            }
        }
    }
    let (mut text, _) = lines.finish();
    let left = totals.matches.saturating_sub(matched);
    if left > 0 {
        let left = count(left, "more matching line");
        let beyond = match totals.files.saturating_sub(files) {
            0 => String::new(),
            beyond => format!(", {} among them", count(beyond, "more file")),
        };
        text.push_str(&format!(
            "[chock: {left} not shown{beyond}; narrow the pattern, the path or the glob]\n"
        ));
    }
    ended(text, totals)
}

fn files(found: Found<Hits>, totals: &Totals, line: impl Fn(&str, &Hits) -> String) -> String {
    let mut lines = Lines::default();
    for (path, hits) in found.into_kept() {
        lines.push(&line(&escaped(&path), &hits));
    }
    let (mut text, left) = lines.finish();
    let left = left + totals.files.saturating_sub(FILES_MAX as u64);
    if left > 0 {
        text.push_str(&format!("[chock: {} not shown]\n", count(left, "more file")));
    }
    ended(text, totals)
}

fn ended(mut text: String, totals: &Totals) -> String {
    if text.is_empty() {
        text.push_str("[chock: no line matches]\n");
    }
    if totals.unread > 0 {
        let unread = count(totals.unread, "file");
        text.push_str(&format!("[chock: {unread} could not be read]\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use tempfile::TempDir;

    use super::*;
    use crate::answer::Answer;
    use crate::hands::tests::ask;

    fn tree(files: &[(&str, &[u8])]) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (name, contents) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }
        directory
    }

    fn request(directory: &TempDir, pattern: &str, mode: Mode) -> Request {
        let open = directory.path().to_str().unwrap().to_owned();
        Request {
            place: Place { open, key: "k".into(), inside: true },
            pattern: pattern.into(),
            glob: None,
            case_insensitive: false,
            context: 0,
            mode,
        }
    }

    #[track_caller]
    fn grep(directory: &TempDir, request: &Request) -> String {
        match ask("grep", &serde_json::to_vec(request).unwrap()) {
            Answer::Done(done) => {
                done.text.replace(&format!("{}/", directory.path().display()), "")
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_matches_is_shown_by_mode() {
        let directory = tree(&[
            ("b.txt", b"x one\nTwo\none\n"),
            ("a/c.txt", b"one\r\nend one\r\n"),
            ("binary", b"one\n\0\n"),
            ("latin", b"caf\xe9 one\n"),
            ("last", b"no newline one"),
        ]);
        let ask = |pattern: &str, mode| grep(&directory, &request(&directory, pattern, mode));
        let content = "a/c.txt:2:end one\nb.txt:1:x one\nlast:1:no newline one\n\
                       latin:1:caf\u{fffd} one\n";
        assert_eq!(ask(" one$", Mode::Content), content);
        assert_eq!(ask("one", Mode::Count), "a/c.txt:2\nb.txt:2\nlast:1\nlatin:1\n");
        assert_eq!(ask("one", Mode::Files), "a/c.txt\nb.txt\nlast\nlatin\n");
        assert_eq!(ask("absent", Mode::Content), "[chock: no line matches]\n");
        let two = Request { case_insensitive: true, ..request(&directory, "two", Mode::Content) };
        assert_eq!(grep(&directory, &two), "b.txt:2:Two\n");
        let only =
            Request { glob: Some("!*.txt".into()), ..request(&directory, "one", Mode::Files) };
        assert_eq!(grep(&directory, &only), "last\nlatin\n");
    }

    #[test]
    fn lines_around_matches_are_grouped() {
        let directory = tree(&[("a", b"1\n2\nx\n4\n5\n6\nx\n8\n"), ("b", b"x\n2\n")]);
        let request = Request { context: 1, ..request(&directory, "x", Mode::Content) };
        let expected = "a-2-2\na:3:x\na-4-4\n--\na-6-6\na:7:x\na-8-8\n--\nb:1:x\nb-2-2\n";
        assert_eq!(grep(&directory, &request), expected);
    }

    #[test]
    fn lines_files_and_bytes_are_bounded_and_the_rest_is_counted() {
        let many = "x\n".repeat(150);
        let directory = tree(&[
            ("a", many.as_bytes()),
            ("b", many.as_bytes()),
            ("c", many.as_bytes()),
            ("wide", &[b'x'; 3000]),
        ]);
        let text = grep(&directory, &request(&directory, "x", Mode::Content));
        assert_eq!(text.lines().count(), LINES_MAX + 1);
        let last = text.lines().last().unwrap();
        assert!(last.contains("251 more matching lines not shown, 2 more files among"), "{last}");
        let only = Request { glob: Some("wide".into()), ..request(&directory, "x", Mode::Content) };
        let text = grep(&directory, &only);
        assert!(text.len() < 600 && text.contains("[chock: 2500 more bytes in this line]"));

        let wide = format!("{}\n", "x".repeat(480)).repeat(200);
        let directory = tree(&[("f", wide.as_bytes())]);
        let text = grep(&directory, &request(&directory, "x", Mode::Content));
        assert!(text.len() < 65 * 1024, "{}", text.len());
        assert!(text.contains("more matching lines not shown; narrow"), "{}", text.len());
    }

    #[test]
    fn an_expression_that_is_none_is_a_fault_that_shows_where() {
        for (pattern, words) in [("a(b", "unclosed group"), ("*", "repetition"), ("", "is empty")] {
            let fault = matcher(pattern, false).unwrap_err();
            assert!(fault.starts_with("`pattern` ") && fault.contains(words), "{fault}");
        }
        assert!(matcher("a(b", false).unwrap_err().contains('^'));
        assert!(matcher("a\nb", false).unwrap_err().contains("not allowed"));
        let huge = matcher(r"(?:\w{1000}){1000}", false).unwrap_err();
        assert!(huge.contains("limit") || huge.contains("size"), "{huge}");
    }
}
