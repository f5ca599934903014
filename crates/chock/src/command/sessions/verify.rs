//! `chock sessions verify`: whether a log, and its seal, say what was written.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use chock_log::{
    Checked, ForkBody, Hang, Log, SEAL_BYTES_MAX, Seal, Sealed, SessionId, Verdict, check,
    key_fingerprint,
};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};
use crate::found::{self, Found};
use crate::program::Program;
use crate::signers::Signers;
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The session's id or the end of it, or the path of a copy; all sessions if there is none
    session: Option<String>,

    /// The public keys whose seals count, as ssh-keygen has them, instead of this installation's
    #[arg(long, value_name = "FILE")]
    signers: Option<PathBuf>,
}

/// A log to check: a session's, or a copy of one.
pub(super) struct Subject {
    name: String,
    session: Option<SessionId>,
    log: PathBuf,
}

impl VerifyArgs {
    /// Returns the copy that was named by a path: a word with a `/`, or with `.jsonl` at its end.
    pub(super) fn copy(&self, program: &Program) -> Option<Subject> {
        let word = self.session.as_ref()?;
        if !word.contains('/') && !word.ends_with(".jsonl") {
            return None;
        }
        let log = program.directory.join(word);
        let name = log.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Some(Subject { session: name.parse().ok(), name, log })
    }

    /// Returns the session that was named, or all.
    pub(super) fn sessions(&self, directory: &Path) -> Result<Vec<Subject>, Failure> {
        let all = match &self.session {
            Some(name) => vec![found::session(directory, Some(name))?],
            None => found::sessions(directory),
        };
        Ok(all.into_iter().map(Subject::from).collect())
    }
}

impl From<Found> for Subject {
    fn from(found: Found) -> Self {
        Self { name: found.id.to_string(), session: Some(found.id), log: found.log }
    }
}

/// What the seal of a log comes to.
pub(super) enum SealState {
    /// There is none.
    None,
    /// It covers every record.
    Good(Signed),
    /// It covers the records up to `records`; the log went on since.
    Earlier(Signed),
    /// Its signature holds, and nobody here knows its key.
    Stranger(Signed),
    /// It does not hold, or the log is not what was sealed.
    Bad(String),
}

/// What a seal says whose signature holds.
pub(super) struct Signed {
    /// The name of its key in the file of signers.
    by: Option<String>,
    fingerprint: String,
    kind: &'static str,
    records: u64,
    time: String,
}

pub(super) fn run(
    program: &Program,
    terminal: &mut Terminal,
    subjects: Vec<Subject>,
    args: &VerifyArgs,
    as_json: bool,
) -> Result<Exit, Failure> {
    let signers = match &args.signers {
        Some(path) => Signers::read(&program.directory.join(path)).map_err(|fault| {
            Failure::start(format!("cannot read the signers {}: {fault}", path.display()))
        })?,
        // Without the file nothing was sealed here, and no key is known.
        None => Signers::read(&Signers::own_file(&program.places.data)).unwrap_or_default(),
    };
    let mut damaged = false;
    for subject in subjects {
        let (checked, seal) = examine(&subject.log, subject.session, &signers);
        let hanging = Hanging::of(&subject.log);
        damaged |= checked.verdict.is_damage() || seal.is_damage();
        damaged |= hanging.as_ref().is_some_and(Hanging::is_damage);
        if as_json {
            let mut row = row(&subject.name, &checked, &seal);
            row["fork"] = hanging.as_ref().map_or(Value::Null, Hanging::json);
            terminal.answer(&row.to_string())?;
        } else {
            tell(terminal, &subject.name, &checked, &seal)?;
            if let Some(hanging) = &hanging {
                let (weight, words) = hanging.words();
                let words = terminal.paint(&visible_line(&words), weight);
                terminal.answer(&format!("    fork {words}"))?;
            }
        }
    }
    Ok(if damaged { Exit::NotIntact } else { Exit::Finished })
}

/// Where a fork's log says that it hangs, and whether it does.
struct Hanging {
    fork: ForkBody,
    hang: Hang,
}

impl Hanging {
    /// Looks for the parent beside the log. `None` for a log that is no fork's.
    fn of(log: &Path) -> Option<Self> {
        let fork = Log::fork_of(log)?;
        // The name of a session is no path.
        let hang = match fork.parent.parse::<SessionId>() {
            Ok(parent) => Log::hang(&log.with_file_name(format!("{parent}.jsonl")), &fork),
            Err(fault) => Hang::Unreadable(fault.to_string()),
        };
        Some(Self { fork, hang })
    }

    fn is_damage(&self) -> bool {
        match self.hang {
            Hang::Holds | Hang::NoParent => false,
            Hang::Another | Hang::Unreadable(_) => true,
        }
    }

    fn words(&self) -> (Weight, String) {
        let ForkBody { parent, turn, record, .. } = &self.fork;
        let place = format!("of {parent} at turn {turn}, record {record}");
        match &self.hang {
            Hang::Holds => (Weight::Good, format!("{place}: the parent has that record")),
            Hang::NoParent => {
                (Weight::Quiet, format!("{place}: the parent is not here, so nobody can say"))
            }
            Hang::Another => {
                (Weight::Bad, format!("{place}: the parent has another record there, or none"))
            }
            Hang::Unreadable(why) => (Weight::Bad, format!("{place}: the parent's log: {why}")),
        }
    }

    fn json(&self) -> Value {
        let state = match self.hang {
            Hang::Holds => "holds",
            Hang::NoParent => "no_parent",
            Hang::Another => "another",
            Hang::Unreadable(_) => "unreadable",
        };
        let ForkBody { parent, turn, record, .. } = &self.fork;
        json!({ "parent": parent, "turn": turn, "record": record, "state": state })
    }
}

/// Checks a log's chain, and its seal if there is one.
pub(super) fn examine(
    log: &Path,
    session: Option<SessionId>,
    signers: &Signers,
) -> (Checked, SealState) {
    let seal = match read_seal(&found::seal_of(log)) {
        None => return (check(log, session, None), SealState::None),
        Some(Err(why)) => return (check(log, session, None), SealState::Bad(why)),
        Some(Ok(seal)) => seal,
    };
    let checked = check(log, session, Some(seal.statement()));
    let state = match &checked.sealed {
        Some(sealed) => judge(&seal, sealed, signers),
        None => SealState::Bad("the log cannot be read".to_owned()),
    };
    (checked, state)
}

fn read_seal(path: &Path) -> Option<Result<Seal, String>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound => return None,
        Err(fault) => return Some(Err(fault.to_string())),
    };
    let mut text = String::new();
    let read = file.take(SEAL_BYTES_MAX as u64 + 1).read_to_string(&mut text);
    Some(match read {
        Ok(bytes) if bytes > SEAL_BYTES_MAX => Err("the seal's file is too large".to_owned()),
        Ok(_) => Seal::read(&text).map_err(|fault| fault.to_string()),
        Err(fault) => Err(fault.to_string()),
    })
}

fn judge(seal: &Seal, sealed: &Sealed, signers: &Signers) -> SealState {
    let statement = seal.statement();
    let signed = Signed {
        by: signers.name(seal.key()).map(str::to_owned),
        fingerprint: key_fingerprint(seal.key()),
        kind: statement.key.word(),
        records: statement.records,
        time: format!("{:.0}", statement.time),
    };
    match sealed {
        Sealed::Whole | Sealed::Earlier { .. } if signed.by.is_none() => {
            SealState::Stranger(signed)
        }
        Sealed::Whole => SealState::Good(signed),
        Sealed::Earlier { .. } => SealState::Earlier(signed),
        Sealed::Rewritten { at } => {
            SealState::Bad(format!("record {at} is not the one that was sealed"))
        }
        Sealed::Shortened { sealed } => {
            SealState::Bad(format!("{sealed} records were sealed, and the last are missing"))
        }
        Sealed::OtherSession => SealState::Bad("it is the seal of another session".to_owned()),
    }
}

impl SealState {
    /// Says whether the seal shows that something is wrong.
    fn is_damage(&self) -> bool {
        match self {
            Self::None | Self::Good(_) | Self::Earlier(_) => false,
            Self::Stranger(_) | Self::Bad(_) => true,
        }
    }

    /// Says what the seal comes to, for a person.
    pub(super) fn words(&self) -> Option<(Weight, String)> {
        Some(match self {
            Self::None => return None,
            Self::Good(signed) => (Weight::Good, format!("good: {}", signed.words())),
            Self::Earlier(signed) => {
                let up_to = format!("good for the first {} records: ", signed.records);
                (Weight::Warn, format!("{up_to}{}; the log went on since", signed.words()))
            }
            Self::Stranger(signed) => {
                let hint = "nobody here knows this key, so it proves nothing (--signers <file>)";
                (Weight::Bad, format!("{}; {hint}", signed.words()))
            }
            Self::Bad(why) => (Weight::Bad, format!("bad: {why}")),
        })
    }

    fn json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Good(signed) => signed.json("good"),
            Self::Earlier(signed) => signed.json("earlier"),
            Self::Stranger(signed) => signed.json("unknown_key"),
            Self::Bad(why) => json!({ "state": "bad", "detail": why }),
        }
    }
}

impl Signed {
    fn words(&self) -> String {
        let by = self.by.as_ref().map(|by| format!("{} ", visible_line(by))).unwrap_or_default();
        let kind = match self.kind {
            "installation" => "an installation's key",
            _ => "a key of an ssh agent",
        };
        format!("by {by}{} ({kind}), {}", self.fingerprint, self.time)
    }

    fn json(&self, state: &str) -> Value {
        json!({
            "state": state,
            "by": self.by,
            "key": self.fingerprint,
            "kind": self.kind,
            "records": self.records,
            "time": self.time,
        })
    }
}

fn row(name: &str, checked: &Checked, seal: &SealState) -> Value {
    let at = match &checked.verdict {
        Verdict::Broken { at, .. } | Verdict::Undecodable { at } => Some(at.0),
        Verdict::Torn { records, .. } => Some(records + 1),
        Verdict::Intact { .. } | Verdict::Unreadable { .. } => None,
    };
    let after = match &checked.verdict {
        Verdict::Broken { after, .. } => Some(after.0),
        Verdict::Undecodable { .. }
        | Verdict::Torn { .. }
        | Verdict::Intact { .. }
        | Verdict::Unreadable { .. } => None,
    };
    json!({
        "id": name,
        "verdict": checked.verdict.word(),
        "records": checked.records,
        "at": at,
        "after": after,
        "seal": seal.json(),
    })
}

fn tell(
    terminal: &mut Terminal,
    name: &str,
    checked: &Checked,
    seal: &SealState,
) -> Result<(), Failure> {
    let weight = if checked.verdict.is_damage() { Weight::Bad } else { Weight::Good };
    let words = terminal.paint(&visible_line(&checked.verdict.to_string()), weight);
    terminal.answer(&format!("{}  {words}", visible_line(name)))?;
    if let Some((weight, words)) = seal.words() {
        let words = terminal.paint(&format!("seal {words}"), weight);
        terminal.answer(&format!("    {words}"))?;
    }
    Ok(())
}
