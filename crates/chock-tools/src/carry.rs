//! Has the sandbox do an act, and words what came of it.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chock_log::{Ended, Outcome, Permit, causes};
use chock_sandbox::{
    Call, Cancel, Ended as CellEnded, Finished, Keeper, LimitKind, Program, SandboxFault,
    StartStep, Stdio, run,
};
use rustix::io::Errno;

use crate::answer::{self, ANSWER_BYTES_MAX, Answer};
use crate::denied::DeniedRows;
use crate::inferred::{self, Walls};
use crate::names::{self, count, shown};
use crate::output::{Collected, Collector, Outputs, end_line};
use crate::picture::look;
use crate::reading::{CommandReading, How};

/// How long a file tool may take: the most a search of a large tree on a slow disk needs.
const HAND_TIME: Duration = Duration::from_secs(120);

/// What came of an act.
///
/// Write the outcome's record first and drop this after: only then are the cell's namespaces
/// taken down, which takes time on this core.
#[derive(Debug)]
pub struct Carried {
    /// How it ended, and the words for the model.
    pub outcome: Outcome,
    /// The picture that it shows, to be kept before the outcome's record names it.
    pub picture: Option<Shown>,
    /// The call, unless the sandbox failed; nothing when none was waited for.
    cell: Option<Result<Finished, SandboxFault>>,
}

impl Carried {
    /// Answers for an act that goes on.
    pub(crate) fn goes_on(outcome: Outcome) -> Self {
        Self { outcome, picture: None, cell: None }
    }

    /// Says whether the session's sandbox is gone, so that no further call can be done.
    #[must_use]
    pub fn sandbox_is_lost(&self) -> bool {
        matches!(self.cell, Some(Err(SandboxFault::Lost { .. } | SandboxFault::Talk { .. })))
    }
}

/// A picture that a call shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// What its bytes say it is.
    pub media_type: &'static str,
    /// All of it.
    pub content: Vec<u8>,
}

/// One permitted act on its way into a cell.
pub(crate) struct Work<'a> {
    pub(crate) keeper: &'a Keeper,
    pub(crate) permit: Permit<Program>,
    pub(crate) cancel: &'a Cancel,
    pub(crate) walls: &'a Walls,
}

/// What came of it, and the cell that still stands.
type Done = (Outcome, Result<Finished, SandboxFault>);

pub(crate) fn carry_out(
    work: Work<'_>,
    how: How,
    outputs: &mut Outputs,
    progress: &mut dyn FnMut(&[u8]),
) -> Carried {
    let mut picture = None;
    let (outcome, cell) = match how {
        How::Hand => hand(work, &mut picture),
        How::Command(reading) => command(work, &reading, outputs, progress),
    };
    let duration = cell.as_ref().map_or(Duration::ZERO, |finished| finished.duration);
    Carried { outcome: outcome.lasting(duration), picture, cell: Some(cell) }
}

fn hand(work: Work<'_>, picture: &mut Option<Shown>) -> Done {
    let mut answer = Vec::new();
    let mut sink = |piece: &[u8]| {
        let room = ANSWER_BYTES_MAX - answer.len();
        answer.extend_from_slice(&piece[..piece.len().min(room)]);
    };
    let denied = work.walls.denied();
    let result = work.run(HAND_TIME, &mut sink);
    let outcome = match &result {
        Ok(finished) => answered(finished, &answer, denied, picture),
        Err(fault) => not_contained(fault),
    };
    (outcome, result)
}

fn command(
    work: Work<'_>,
    reading: &CommandReading,
    outputs: &mut Outputs,
    progress: &mut dyn FnMut(&[u8]),
) -> Done {
    let mut collector = Collector::new(outputs);
    let walls = work.walls;
    let mut sink = |piece: &[u8]| {
        progress(piece);
        collector.feed(piece);
    };
    let result = work.run(reading.time, &mut sink);
    let outcome = match &result {
        Ok(finished) => ran(reading, finished, collector.finish(), walls),
        Err(fault) => not_contained(fault),
    };
    (outcome, result)
}

impl Work<'_> {
    fn run(self, time: Duration, sink: &mut dyn FnMut(&[u8])) -> Result<Finished, SandboxFault> {
        let stdio = Stdio::Captured(sink);
        let call = Call { stdio, wall_time: Some(time), cancel: self.cancel };
        let (_, result) = run(self.keeper, self.permit, call);
        result
    }
}

fn answered(
    finished: &Finished,
    answer: &[u8],
    denied: &DeniedRows,
    picture: &mut Option<Shown>,
) -> Outcome {
    match finished.ended {
        CellEnded::Exited(0) => match serde_json::from_slice::<Answer>(answer) {
            Ok(Answer::Done(done)) if done.picture.is_some() => match shows(&done) {
                Ok(shown) => {
                    *picture = Some(shown);
                    Answer::Done(done).into_outcome(denied)
                }
                Err(words) => Outcome::new(Ended::Fault, words),
            },
            Ok(answer) => answer.into_outcome(denied),
            Err(fault) => {
                Outcome::new(Ended::Fault, format!("the tool's answer cannot be read: {fault}"))
            }
        },
        CellEnded::Exited(code) => {
            let words = crate::clean::clean(&answer[..answer.len().min(1000)]).text;
            let text = format!("the tool failed with status {code}: {}", words.trim_end());
            Outcome::new(Ended::Fault, text)
        }
        CellEnded::NotStarted { step: StartStep::Directory, errno } => {
            let why = Errno::from_raw_os_error(errno);
            let text = format!("the working directory cannot be entered: {why}");
            Outcome::new(Ended::Fault, text)
        }
        other @ (CellEnded::NotStarted { .. }
        | CellEnded::Signalled(_)
        | CellEnded::TimedOut
        | CellEnded::Cancelled
        | CellEnded::Limit(_)) => {
            let (ended, words) = status(other, HAND_TIME);
            Outcome::new(ended, format!("the tool was {words}"))
        }
    }
}

/// Takes the picture of an answer. What came out of a cell is looked at once more.
fn shows(done: &answer::Done) -> Result<Shown, String> {
    let text = done.picture.as_deref().unwrap_or_default();
    let content = STANDARD.decode(text).map_err(|_| "the picture did not come whole".to_owned())?;
    let seen = look(&content).map_err(|words| format!("the picture cannot be shown: {words}"))?;
    Ok(Shown { media_type: seen.media_type, content })
}

fn ran(reading: &CommandReading, finished: &Finished, output: Collected, walls: &Walls) -> Outcome {
    if let CellEnded::NotStarted { step, errno } = finished.ended {
        return not_started(reading, step, errno);
    }
    let (ended, words) = status(finished.ended, reading.time);
    let mut notes = vec![words];
    notes.extend(finished.limits.iter().filter_map(|limit| reached(*limit, finished.ended)));
    notes.extend(output.notes);
    let failed = ended != Ended::Exited(0) && ended != Ended::Cancelled;
    let denial = failed.then(|| walls.refused(&output.text)).flatten();
    if let Some(denial) = &denial {
        notes.push(inferred::sentence(denial));
    } else if inferred::asks_for_network(&output.text) {
        notes.push("this sandbox has no network: only 127.0.0.1 and ::1 can be reached".into());
    }
    let mut text = output.text;
    if text.is_empty() {
        notes[0] = format!("no output, {}", notes[0]);
    }
    end_line(&mut text);
    for note in notes {
        text.push_str(&format!("[chock: {note}]\n"));
    }
    let (bytes_kept, bytes_dropped) = (output.shown, output.dropped);
    Outcome { denial, bytes_kept, bytes_dropped, ..Outcome::new(ended, text) }
}

pub(crate) fn not_started(reading: &CommandReading, step: StartStep, errno: i32) -> Outcome {
    let why = Errno::from_raw_os_error(errno);
    let text = match (step, why) {
        (StartStep::Directory, Errno::NOENT) => {
            format!("the directory {} is not there; nothing ran", shown(&reading.directory))
        }
        (StartStep::Directory, Errno::NOTDIR) => {
            format!("{} is not a directory; nothing ran", shown(&reading.directory))
        }
        (StartStep::Directory, why) => {
            format!("cannot enter {}: {why}; nothing ran", shown(&reading.directory))
        }
        (StartStep::Execute | StartStep::Hand, why) => {
            let shell = shown(&reading.shell.to_string_lossy());
            format!("cannot start the shell {shell}: {why}; nothing ran")
        }
    };
    Outcome::new(Ended::Fault, text)
}

/// Words the end of a call, to follow `was` or to stand alone.
pub(crate) fn status(ended: CellEnded, time: Duration) -> (Ended, String) {
    match ended {
        CellEnded::Exited(code @ 129..=159) => {
            let signal = code - 128;
            let name = names::signal(signal);
            let words =
                format!("exit status {code} (as for a program ended by signal {signal}, {name})");
            (Ended::Exited(code), words)
        }
        CellEnded::Exited(code) => (Ended::Exited(code), format!("exit status {code}")),
        CellEnded::Signalled(signal) => {
            let words = format!("ended by signal {signal} ({})", names::signal(signal));
            (Ended::Signalled(signal), words)
        }
        CellEnded::NotStarted { step, errno } => {
            let why = Errno::from_raw_os_error(errno);
            (Ended::Fault, format!("not started ({step:?}: {why})"))
        }
        CellEnded::TimedOut => {
            let seconds = time.as_secs();
            let words = format!(
                "ended after {}, its time limit, with everything it had started",
                count(seconds, "second")
            );
            (Ended::TimedOut(seconds), words)
        }
        CellEnded::Cancelled => (Ended::Cancelled, "stopped by the person".into()),
        CellEnded::Limit(limit) => {
            let name = limit.name();
            let words = format!("ended by the limit `{name}`{}", what_helps(limit));
            (Ended::Limit(name.into()), words)
        }
    }
}

/// Says what a limit means, and what can be done, where its name does not.
fn what_helps(limit: LimitKind) -> &'static str {
    match limit {
        LimitKind::Memory | LimitKind::Processes | LimitKind::FileSize => "",
        LimitKind::WorkspaceBytes => {
            ", with everything it had started: what this session keeps on the disk is too large; \
             remove what is not needed"
        }
        LimitKind::WorkspaceFiles => {
            ", with everything it had started: this session keeps too many files; remove what is \
             not needed"
        }
        LimitKind::FreeSpace => {
            ", with everything it had started: the disk has no more room to spare; nothing more \
             can be written until there is"
        }
    }
}

/// Words a limit that was reached, unless it is the one that ended the call.
fn reached(limit: LimitKind, ended: CellEnded) -> Option<String> {
    let told = ended == CellEnded::Limit(limit);
    (!told).then(|| format!("the limit `{}` was reached", limit.name()))
}

/// Words a call that could not be contained: nothing ran, or nobody knows how far it got.
pub(crate) fn not_contained(fault: &SandboxFault) -> Outcome {
    let ended = match fault {
        SandboxFault::Lost { .. } | SandboxFault::Talk { .. } => Ended::Unknown,
        _ => Ended::Fault,
    };
    Outcome::new(ended, causes(fault))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_call_is_worded() {
        let minute = Duration::from_secs(60);
        let cases = [
            (CellEnded::Exited(0), Ended::Exited(0), "exit status 0"),
            (CellEnded::Exited(3), Ended::Exited(3), "exit status 3"),
            (CellEnded::Exited(137), Ended::Exited(137), "signal 9, SIGKILL"),
            (CellEnded::Exited(255), Ended::Exited(255), "exit status 255"),
            (CellEnded::Signalled(11), Ended::Signalled(11), "by signal 11 (SIGSEGV)"),
            (CellEnded::TimedOut, Ended::TimedOut(60), "after 60 seconds, its time limit"),
            (CellEnded::Cancelled, Ended::Cancelled, "stopped by the person"),
            (
                CellEnded::Limit(LimitKind::Memory),
                Ended::Limit("memory".into()),
                "by the limit `memory`",
            ),
            (
                CellEnded::Limit(LimitKind::WorkspaceBytes),
                Ended::Limit("workspace_bytes".into()),
                "by the limit `workspace_bytes`, with everything",
            ),
        ];
        for (cell, expected, words) in cases {
            let (ended, text) = status(cell, minute);
            assert_eq!(ended, expected);
            assert!(text.contains(words), "{text}");
        }
        assert_eq!(reached(LimitKind::Memory, CellEnded::Limit(LimitKind::Memory)), None);
        let seen = reached(LimitKind::Processes, CellEnded::Exited(1));
        assert_eq!(seen.as_deref(), Some("the limit `processes` was reached"));
    }

    #[test]
    fn a_lost_sandbox_leaves_the_outcome_unknown() {
        let lost = not_contained(&SandboxFault::Lost { what: "an answer" });
        assert_eq!(lost.ended, Ended::Unknown);
        let refused = not_contained(&SandboxFault::NoSessionUser);
        assert_eq!(refused.ended, Ended::Fault);
        assert!(refused.text.contains("unprivileged user"), "{}", refused.text);
    }
}
