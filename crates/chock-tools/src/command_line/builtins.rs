//! What the shell does itself, and what that makes it start.

use chock_log::Action;

use super::name::{After, Input, Namer, Stage, is_open};
use super::places::Places;
use super::script::Word;
use super::variables;

/// Words that begin a construct: as a command, the line was not read as the shell reads it.
const RESERVED: [&str; 19] = [
    "!", "[[", "]]", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "until", "while", "{",
];

/// What the shell does without starting a program.
const PLAIN: [&str; 39] = [
    ":", "[", "bg", "break", "caller", "continue", "declare", "dirs", "disown", "echo", "exit",
    "export", "false", "fg", "getopts", "help", "history", "jobs", "kill", "let", "local",
    "logout", "printf", "pwd", "read", "readonly", "return", "set", "shift", "shopt", "suspend",
    "test", "times", "true", "type", "typeset", "ulimit", "umask", "wait",
];

/// What changes which program a name means, or runs what is kept elsewhere.
const UNREADABLE: [&str; 6] = ["bind", "compgen", "complete", "compopt", "enable", "fc"];

/// They count with what they are given, or take it for the name of a variable.
const COUNTING: [&str; 11] = [
    "[", "declare", "export", "let", "local", "read", "readonly", "test", "typeset", "unset",
    "wait",
];

impl Namer<'_> {
    /// Names a command that is no function: the shell's own, or a program.
    pub(crate) fn outer(&mut self, words: &[Word], stage: &Stage<'_>) -> After {
        let same = After::same(&stage.scene.places);
        let Some(first) = words.first() else { return same };
        let Some(name) = first.text() else { return self.started(words, stage) };
        let rest = &words[1..];
        if RESERVED.contains(&name.as_str()) {
            self.unparsed();
            return unknown();
        }
        if !Self::is_builtin(&name) {
            return self.started(words, stage);
        }
        let known = match name.as_str() {
            "." => "source",
            "[" => "test",
            ":" => "true",
            name => name,
        };
        self.act(Action::below("exec.builtin", &[known]));
        let name = name.as_str();
        let texts = || rest.iter().filter_map(Word::text);
        if COUNTING.contains(&name)
            || (name == "printf" && texts().next().is_some_and(|it| it.starts_with("-v")))
        {
            self.counted(name, rest, stage);
        }
        match name {
            "cd" | "pushd" => return moved(rest, stage),
            "popd" => return unknown(),
            "eval" => return self.eval(rest, stage),
            "source" | "." => return self.source(rest, stage),
            "exec" => self.exec(rest, stage),
            "command" => return self.command_builtin(rest, stage),
            "builtin" => return self.outer(rest, stage),
            "coproc" => return self.keyword(rest, stage),
            "trap" => self.trap(rest, stage),
            "alias"
                if rest.iter().any(|word| word.text().is_none_or(|text| text.contains('='))) =>
            {
                self.unparsed();
            }
            "hash"
                if rest
                    .iter()
                    .any(|word| word.text().is_none_or(|text| text.starts_with("-p"))) =>
            {
                self.unparsed();
            }
            "mapfile" | "readarray"
                if rest
                    .iter()
                    .any(|word| word.text().is_none_or(|text| text.starts_with("-C"))) =>
            {
                self.unparsed();
            }
            "unset" => self.doubt_functions(),
            _ if UNREADABLE.contains(&name) => self.unparsed(),
            _ => {}
        }
        same
    }

    fn is_builtin(name: &str) -> bool {
        match name {
            "cd" | "pushd" | "popd" | "eval" | "source" | "." | "exec" | "command" | "builtin"
            | "coproc" | "trap" | "alias" | "unalias" | "hash" | "mapfile" | "readarray"
            | "unset" => true,
            _ => PLAIN.contains(&name) || UNREADABLE.contains(&name),
        }
    }

    /// Looks at what is counted with, and at what is set by a word that is no assignment to the
    /// grammar.
    fn counted(&mut self, name: &str, rest: &[Word], stage: &Stage<'_>) {
        for text in rest.iter().filter_map(Word::text) {
            if variables::is_subscript(&text) {
                self.unparsed();
            }
            let sets = !matches!(name, "[" | "test" | "let");
            if let Some((variable, value)) = text.split_once('=').filter(|_| sets) {
                variables::assigned(self, variable, &Word::of(value), stage.scene);
            }
        }
    }

    fn eval(&mut self, rest: &[Word], stage: &Stage<'_>) -> After {
        let rest = if rest.first().and_then(Word::text).as_deref() == Some("--") {
            &rest[1..]
        } else {
            rest
        };
        let texts: Option<Vec<_>> = rest.iter().map(Word::text).collect();
        match texts {
            Some(texts) => self.text(&Word::of(texts.join(" ")), &stage.scene()),
            None => {
                self.unparsed();
                unknown()
            }
        }
    }

    /// Names a file that the shell reads as its own words: nobody looks into it.
    fn source(&mut self, rest: &[Word], stage: &Stage<'_>) -> After {
        match rest.first() {
            Some(file) => self.script_file(file, stage),
            None => self.unparsed(),
        }
        // It may go anywhere, and make any function.
        self.doubt_functions();
        unknown()
    }

    /// Names a script that a shell reads. Nothing else is known of what it starts.
    pub(crate) fn script_file(&mut self, file: &Word, stage: &Stage<'_>) {
        let path = file.below_here().or_else(|| file.text());
        let path = path
            .filter(|path| !path.is_empty() && path != ".")
            .map(|path| if path.contains('/') { path } else { format!("./{path}") });
        match path {
            Some(path) => self.started(&[Word::of(path)], stage),
            None => self.started(&[Word::words()], stage),
        };
    }

    fn exec(&mut self, rest: &[Word], stage: &Stage<'_>) {
        let mut rest = rest;
        while let Some(text) = rest.first().and_then(Word::text) {
            match text.as_str() {
                "-c" | "-l" | "-cl" | "-lc" | "--" => rest = &rest[1..],
                "-a" if rest.get(1).is_some_and(Word::is_one) => rest = &rest[2..],
                _ => break,
            }
        }
        if rest.is_empty() {
            self.rewired |= !matches!(stage.input, Input::Inherited);
        } else {
            self.started(rest, stage);
        }
    }

    fn command_builtin(&mut self, rest: &[Word], stage: &Stage<'_>) -> After {
        let mut rest = rest;
        while let Some(text) = rest.first().and_then(Word::text) {
            match text.as_str() {
                "-p" | "--" => rest = &rest[1..],
                "-v" | "-V" | "-pv" | "-pV" => return After::same(&stage.scene.places),
                _ => break,
            }
        }
        self.outer(rest, stage)
    }

    /// Names what stands behind a word of the shell's own that changes nothing of it.
    fn keyword(&mut self, rest: &[Word], stage: &Stage<'_>) -> After {
        if rest.is_empty() { After::same(&stage.scene.places) } else { self.command(rest, stage) }
    }

    /// Names what is run when a signal comes, wherever the shell is then.
    fn trap(&mut self, rest: &[Word], stage: &Stage<'_>) {
        let rest = if rest.first().and_then(Word::text).as_deref() == Some("--") {
            &rest[1..]
        } else {
            rest
        };
        let Some(first) = rest.first() else { return };
        let text = first.text();
        let is_none = text.as_deref().is_some_and(|text| {
            matches!(text, "" | "-" | "-p" | "-l" | "-lp")
                || text.bytes().all(|byte| byte.is_ascii_digit())
        });
        if !is_none {
            let mut scene = stage.scene();
            scene.places = Places::Unknown;
            self.text(first, &scene);
        }
    }
}

/// After `cd`: what cannot be read may lead anywhere.
fn moved(rest: &[Word], stage: &Stage<'_>) -> After {
    let places = &stage.scene.places;
    let mut rest = rest;
    while let Some(text) = rest.first().and_then(Word::text) {
        match text.as_str() {
            "-P" | "-L" | "-e" | "--" => rest = &rest[1..],
            _ => break,
        }
    }
    let well = match rest {
        [one] if !is_open(one) => match one.below_here().or_else(|| one.text()) {
            Some(path) if !path.starts_with(['-', '+']) && !path.is_empty() => places.moved(&path),
            Some(_) | None => Places::Unknown,
        },
        _ => Places::Unknown,
    };
    After { well, badly: places.clone() }
}

fn unknown() -> After {
    After { well: Places::Unknown, badly: Places::Unknown }
}
