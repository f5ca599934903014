//! Takes the agent's commits out of its cage, and has another cage check and combine them.
//!
//! What the first cage says is a stranger's word: a commit's id and the bytes of a pack. The second
//! one has a git directory of Chock's own, without refs, configuration, replacements and hooks.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use chock_log::{Permit, Spent};
use chock_sandbox::{Call, Cancel, Ended, Keeper, LimitKind, Program, SandboxFault, Stdio, run};
use chock_workspace::{
    COMMITS_MAX, Combination, Combined, Landed, LandingMode, OBJECTS_MAX, PACK_BYTES_MAX,
    UNPACKED_BYTES_MAX,
};

/// Where the checking cage finds the pack, and the list of a shallow clone's first commits.
pub(crate) const INCOMING: &str = "/run/chock/incoming";

/// The most bytes of rows before a pack: 10,000 commits, each twice.
const ROWS_BYTES_MAX: usize = 8 << 20;

/// How long each of the two may take. The largest pack is checked in a minute.
const TIME: Duration = Duration::from_secs(300);

/// What the session's cage says of its commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// HEAD names no commit, or the one that the session started from.
    Nothing,
    /// A commit, and a pack with what leads to it.
    Commits {
        /// The commit's id, in 40 hexadecimal digits.
        head: String,
        /// The pack, of which nothing is known yet.
        pack: Vec<u8>,
    },
}

/// Why commits could not be taken or checked, in words for a person. The project is as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitsFault {
    /// The cage failed.
    #[error("the cage that holds the commits failed")]
    Sandbox {
        /// How.
        source: SandboxFault,
    },
    /// The program in it came to no good end.
    #[error("{what}: {how}")]
    Ended {
        /// What was tried.
        what: &'static str,
        /// How it ended.
        how: String,
    },
    /// The pack is too large.
    #[error(
        "the commits are over {PACK_BYTES_MAX} bytes in a pack, the most that one apply carries"
    )]
    TooLarge,
    /// The commits were refused.
    #[error("the commits are refused: {why}")]
    Refused {
        /// Why, as the checking cage says it.
        why: String,
    },
    /// What came out of the cage makes no sense.
    #[error("what came of the check cannot be read")]
    Unreadable,
    /// No descriptor is left.
    #[error("no descriptor is left")]
    Descriptor {
        /// What the system said.
        source: std::io::Error,
    },
}

/// The act of packing a session's commits, in its own cage.
///
/// `start` is the commit that the session started from; `environment` and `shell` are the cage's.
#[must_use]
pub fn take(
    project: &Path,
    start: Option<&str>,
    (environment, shell): (&[(OsString, OsString)], &Path),
) -> Program {
    let mut environment = environment.to_vec();
    environment.push(("START".into(), start.unwrap_or_default().into()));
    script(shell, include_str!("commits/take.sh"), environment, project)
}

/// What is to be checked, and combined with what. Ids have 40 hexadecimal digits.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    /// The session's last commit.
    pub head: &'a str,
    /// The commit that the session started from.
    pub start: Option<&'a str>,
    /// The commit on the project's branch.
    pub ours: Option<&'a str>,
    /// What landed as other commits. Those whose tip is not in `ours` do not count.
    pub landed: &'a [Landed],
    /// How the commits are to land.
    pub mode: LandingMode,
}

/// The act of checking a pack and combining its commits with those of the project, in the cage of
/// [`cage::checking`](crate::cage::checking).
#[must_use]
pub fn check(check: &Check<'_>, (environment, shell): (&[(OsString, OsString)], &Path)) -> Program {
    let mut environment = environment.to_vec();
    let Check { head, start, ours, landed, mode } = *check;
    let landed = landed.iter().map(|landed| format!("{} {}\n", landed.head, landed.tip));
    let rows: [(&str, String); 8] = [
        ("HEAD_ID", head.to_owned()),
        ("START", start.unwrap_or_default().to_owned()),
        ("OURS", ours.unwrap_or_default().to_owned()),
        ("LANDED", landed.collect()),
        ("MODE", mode.word().to_owned()),
        ("BYTES_MAX", UNPACKED_BYTES_MAX.to_string()),
        ("OBJECTS_MAX", OBJECTS_MAX.to_string()),
        ("COMMITS_MAX", COMMITS_MAX.to_string()),
    ];
    environment.extend(rows.map(|(name, value)| (name.into(), value.into())));
    script(shell, include_str!("commits/check.sh"), environment, Path::new("/tmp"))
}

/// The act of putting a commit that Chock made over the session's HEAD under it, in its own cage.
/// Files stay as they are.
///
/// `old` is what HEAD names now, absent before its first commit.
#[must_use]
pub fn follow(
    project: &Path,
    (old, new): (Option<&str>, &str),
    (environment, shell): (&[(OsString, OsString)], &Path),
) -> Program {
    let mut environment = environment.to_vec();
    let nothing = "0".repeat(40);
    environment.push(("OLD".into(), old.unwrap_or(&nothing).into()));
    environment.push(("NEW".into(), new.into()));
    script(shell, include_str!("commits/follow.sh"), environment, project)
}

fn script(
    shell: &Path,
    text: &str,
    environment: Vec<(OsString, OsString)>,
    directory: &Path,
) -> Program {
    let argv = vec![shell.into(), "-c".into(), text.into()];
    Program::Command { argv, environment, directory: directory.to_owned() }
}

/// Does the permitted act of [`take`].
///
/// # Errors
///
/// [`CommitsFault`].
pub fn carry_out_take(
    keeper: &Keeper,
    permit: Permit<Program>,
) -> (Spent, Result<Taken, CommitsFault>) {
    let (spent, output) = collect(keeper, permit, "the session's commits cannot be packed");
    (spent, output.and_then(|output| taken(&output)))
}

/// Does the permitted act of [`follow`], with a file that has a pack of the commit in it.
///
/// # Errors
///
/// [`CommitsFault`]; the commit may be among the session's objects. HEAD is as before, unless it was
/// only the index that could not follow it.
pub fn carry_out_follow(
    keeper: &Keeper,
    permit: Permit<Program>,
    pack: &File,
) -> (Spent, Result<(), CommitsFault>) {
    let opened = Cancel::new().and_then(|cancel| {
        File::options().write(true).open("/dev/null").map(|nothing| (cancel, nothing))
    });
    let (cancel, nothing) = match opened {
        Ok(opened) => opened,
        Err(source) => {
            let (_act, spent) = permit.spend();
            return (spent, Err(CommitsFault::Descriptor { source }));
        }
    };
    let stdio =
        Stdio::Own { stdin: pack.as_fd(), stdout: nothing.as_fd(), stderr: nothing.as_fd() };
    let call = Call { stdio, wall_time: Some(TIME), cancel: &cancel };
    let (spent, finished) = run(keeper, permit, call);
    let followed = match finished.map(|finished| finished.ended) {
        Ok(Ended::Exited(0)) => Ok(()),
        Ok(ended) => {
            let what = "the session's HEAD cannot be moved";
            Err(CommitsFault::Ended { what, how: how(ended) })
        }
        Err(source) => Err(CommitsFault::Sandbox { source }),
    };
    (spent, followed)
}

/// Does the permitted act of [`check`].
///
/// # Errors
///
/// [`CommitsFault`].
pub fn carry_out_check(
    keeper: &Keeper,
    permit: Permit<Program>,
    head: &str,
) -> (Spent, Result<Combined, CommitsFault>) {
    let (spent, output) = collect(keeper, permit, "the commits cannot be checked");
    (spent, output.and_then(|output| combined(head, &output)))
}

/// Runs an act and keeps what it prints, up to a bound.
fn collect(
    keeper: &Keeper,
    permit: Permit<Program>,
    what: &'static str,
) -> (Spent, Result<Vec<u8>, CommitsFault>) {
    let cancel = match Cancel::new() {
        Ok(cancel) => cancel,
        Err(source) => {
            let (_act, spent) = permit.spend();
            return (spent, Err(CommitsFault::Descriptor { source }));
        }
    };
    let mut output = Vec::new();
    let mut sink = |piece: &[u8]| {
        if output.len() + piece.len() > PACK_BYTES_MAX + ROWS_BYTES_MAX {
            cancel.trigger();
        } else {
            output.extend_from_slice(piece);
        }
    };
    let stdio = Stdio::Captured(&mut sink);
    let call = Call { stdio, wall_time: Some(TIME), cancel: &cancel };
    let (spent, finished) = run(keeper, permit, call);
    let ended = match finished {
        Ok(finished) => finished.ended,
        Err(source) => return (spent, Err(CommitsFault::Sandbox { source })),
    };
    let result = match ended {
        Ended::Exited(0) if cancel.is_triggered() => Err(CommitsFault::TooLarge),
        Ended::Exited(0) => Ok(output),
        Ended::Cancelled => Err(CommitsFault::TooLarge),
        Ended::Exited(_)
        | Ended::Signalled(_)
        | Ended::NotStarted { .. }
        | Ended::TimedOut
        | Ended::Limit(_) => Err(CommitsFault::Ended { what, how: how(ended) }),
    };
    (spent, result)
}

fn how(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("git ended with status {code}"),
        Ended::Signalled(signal) => format!("signal {signal} ended it"),
        Ended::NotStarted { .. } => "the cage's shell could not be started".to_owned(),
        Ended::TimedOut => format!("it took more than {} s", TIME.as_secs()),
        Ended::Cancelled => "it was cancelled".to_owned(),
        Ended::Limit(LimitKind::FileSize) => "a file came to its limit".to_owned(),
        Ended::Limit(limit) => format!("it came to its limit on {}", limit.name()),
    }
}

/// Reads what the session's cage says.
fn taken(output: &[u8]) -> Result<Taken, CommitsFault> {
    let unreadable = || CommitsFault::Unreadable;
    let end = output.iter().position(|byte| *byte == b'\n').ok_or_else(unreadable)?;
    let (head, pack) = (&output[..end], &output[end + 1..]);
    if head.is_empty() || pack.is_empty() {
        return Ok(Taken::Nothing);
    }
    let head = id(std::str::from_utf8(head).map_err(|_| unreadable())?)?;
    if pack.len() > PACK_BYTES_MAX {
        return Err(CommitsFault::TooLarge);
    }
    Ok(Taken::Commits { head, pack: pack.to_vec() })
}

/// Reads what the checking cage says.
fn combined(head: &str, output: &[u8]) -> Result<Combined, CommitsFault> {
    let unreadable = || CommitsFault::Unreadable;
    let end = output.windows(2).position(|pair| pair == b"\n\n").ok_or_else(unreadable)?;
    if end > ROWS_BYTES_MAX {
        return Err(unreadable());
    }
    let text = std::str::from_utf8(&output[..end]).map_err(|_| unreadable())?;
    let (mut commits, mut steps, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    let (mut result, mut base, mut why) = (None, None, String::new());
    for line in text.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "refused" => return Err(CommitsFault::Refused { why: rest.to_owned() }),
            "commit" => commits.push(id(rest)?),
            "base" => base = Some(id(rest)?),
            "conflict" => conflicts.push(rest.to_owned()),
            "said" => rest.clone_into(&mut why),
            "step" => {
                let (commit, tree) = rest.split_once(' ').ok_or_else(unreadable)?;
                steps.push((id(commit)?, id(tree)?));
            }
            "parked" => {
                let parked = rest.parse().map_err(|()| unreadable())?;
                result = Some(Combination::Parked(parked));
            }
            "fast_forward" => result = Some(Combination::FastForward),
            "merge" => result = Some(Combination::Merge { tree: id(rest)? }),
            "squash" => result = Some(Combination::Squash { tree: id(rest)? }),
            "rebase" => result = Some(Combination::Rebase { steps: std::mem::take(&mut steps) }),
            _ => return Err(unreadable()),
        }
    }
    if !why.is_empty() {
        conflicts.push(why);
    }
    Ok(Combined {
        head: head.to_owned(),
        commits,
        base,
        result: result.ok_or_else(unreadable)?,
        conflicts,
        pack: output[end + 2..].to_vec(),
    })
}

/// Reads an id as git writes it.
fn id(text: &str) -> Result<String, CommitsFault> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() == 40 && text.bytes().all(is_digit) {
        return Ok(text.to_owned());
    }
    Err(CommitsFault::Unreadable)
}

#[cfg(test)]
mod tests {
    use chock_workspace::Parked;

    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    #[test]
    fn the_word_of_a_session_s_cage_is_an_id_and_bytes_or_nothing() {
        let cases = [
            ("\n".to_owned(), Some(Taken::Nothing)),
            (format!("{ONE}\n"), Some(Taken::Nothing)),
            (
                format!("{ONE}\nPACK\n\n"),
                Some(Taken::Commits { head: ONE.into(), pack: b"PACK\n\n".to_vec() }),
            ),
            (String::new(), None),
            ("--upload-pack=x\nPACK".to_owned(), None),
            (format!("{}\nPACK", ONE.replace('1', "G")), None),
        ];
        for (output, expected) in cases {
            assert_eq!(taken(output.as_bytes()).ok(), expected, "{output}");
        }
    }

    #[test]
    fn what_a_check_says_is_read_and_nothing_else_is() {
        let read = |rows: &str| combined(ONE, format!("{rows}\n\nPACK").as_bytes());
        let merge = read(&format!("commit {ONE}\nmerge {TWO}")).expect("a result");
        assert_eq!(merge.result, Combination::Merge { tree: TWO.into() });
        assert_eq!((merge.commits, merge.pack), (vec![ONE.to_owned()], b"PACK".to_vec()));
        assert_eq!(merge.base, None);
        let again = read(&format!("base {TWO}\nfast_forward")).expect("a result");
        assert_eq!(again.base.as_deref(), Some(TWO));
        let steps = vec![(ONE.to_owned(), TWO.to_owned())];
        let rebase = read(&format!("step {ONE} {TWO}\nrebase")).expect("a result");
        assert_eq!(rebase.result, Combination::Rebase { steps });
        let parked = read("conflict a b\nparked would_conflict").expect("a result");
        assert_eq!(parked.result, Combination::Parked(Parked::WouldConflict));
        assert_eq!(parked.conflicts, ["a b"]);
        let refused = read("refused it is too large").expect_err("refused");
        assert_eq!(refused.to_string(), "the commits are refused: it is too large");
        for rows in
            ["", "merge x", "parked soon", "step a", "commit", "base x", "exec id", "fast_forwards"]
        {
            read(rows).expect_err(rows);
        }
        combined(ONE, b"fast_forward\n").expect_err("no end");
    }
}
