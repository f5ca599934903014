//! Programs: each is named, and those that start others are looked into.

use chock_log::Action;

use super::launchers::{self, LAUNCHERS};
use super::name::{After, Namer, Stage};
use super::places::{Places, Program};
use super::script::Word;
use super::{finders, git, launch, shells};

impl Namer<'_> {
    /// Names a program that is started, and what it starts in turn.
    pub(crate) fn started(&mut self, words: &[Word], stage: &Stage<'_>) -> After {
        let same = After::same(&stage.scene.places);
        let Some(first) = words.first() else { return same };
        let word = first.below_here().or_else(|| first.text());
        let program = match &word {
            Some(word) => self.ground.program(word, &stage.scene.places),
            None => Program::Unknown,
        };
        match program {
            Program::Bare(name) => self.bare(&name, &words[1..], stage),
            Program::Files(names) => names.into_iter().for_each(|name| self.act(name)),
            Program::Unknown => {
                self.unparsed();
                // A word that nobody knows may be `cd` as well.
                if word.is_none() {
                    return After { well: Places::Unknown, badly: Places::Unknown };
                }
            }
        }
        same
    }

    /// Names a program of the machine.
    fn bare(&mut self, name: &str, rest: &[Word], stage: &Stage<'_>) {
        if name == "git" {
            return git::named(self, rest, stage);
        }
        if let Some(subcommand) = name.strip_prefix("git-") {
            let mut words = vec![Word::of(subcommand)];
            words.extend_from_slice(rest);
            return git::named(self, &words, stage);
        }
        self.act(Action::below("exec.path", &[name]));
        match name {
            "sh" | "bash" | "dash" | "ash" | "ksh" | "mksh" | "zsh" | "rbash" => {
                shells::shell(self, rest, stage);
            }
            // Their languages are others.
            "fish" | "csh" | "tcsh" | "rc" | "elvish" | "nu" | "xonsh" | "pwsh" | "powershell" => {
                let asks = rest.iter().all(|word| word.text().as_deref() == Some("--version"));
                if !asks || rest.is_empty() {
                    self.unparsed();
                }
            }
            "find" => finders::find(self, rest, stage),
            "fd" | "fdfind" => finders::fd(self, rest, stage),
            "xargs" => finders::xargs(self, rest, stage),
            "parallel" => finders::parallel(self, rest, stage),
            "env" | "genv" => launch::env(self, rest, stage),
            "gdb" | "lldb" => launch::debugger(self, rest, stage),
            "flock" => launch::flock(self, rest, stage),
            // They are one program under many names.
            "busybox" | "toybox" => {
                let applet = rest.first().and_then(Word::text);
                if rest.first().is_some_and(|word| word.text().is_none()) {
                    self.unparsed();
                }
                if applet.is_some_and(|applet| !applet.starts_with('-')) {
                    self.command_of_its_own(rest, stage);
                }
            }
            _ => self.launched(name, rest, stage),
        }
    }

    /// Looks a program up in the table of those that start others.
    fn launched(&mut self, name: &str, rest: &[Word], stage: &Stage<'_>) {
        let second = rest.first().and_then(Word::text);
        for launcher in LAUNCHERS {
            let whole = |known: &str| match (known.split_once(' '), &second) {
                (None, _) => known == name,
                (Some((first, then)), Some(second)) => first == name && then == second,
                (Some(_), None) => false,
            };
            if let Some(known) = launcher.names.iter().find(|known| whole(known)) {
                let skipped = usize::from(known.contains(' '));
                return launch::launch(self, launcher, &rest[skipped..], stage);
            }
        }
        if launchers::UNREADABLE.contains(&name) && !rest.is_empty() {
            self.unparsed();
        }
    }

    /// Names a command that another program starts: no function, no builtin of this shell.
    pub(crate) fn command_of_its_own(&mut self, words: &[Word], stage: &Stage<'_>) {
        // Builtins have programs of their names, which do the same.
        let name = words.first().and_then(Word::text);
        match name.as_deref() {
            Some("eval" | "source" | "." | "exec" | "builtin" | "command" | "trap" | "alias") => {
                self.unparsed();
            }
            _ => {
                self.nested(words, stage);
            }
        }
    }
}
