//! What is said over a control socket: a JSON object a line, each request with one reply.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chock_log::Ended;
use chock_tools::TaskRow;
use chock_workspace::LandingMode;
use serde::{Deserialize, Serialize};

use super::place::Place;
use crate::question::{Given, Sheet};
use crate::report::{PathText, Report};
use crate::selection::Selection;
use crate::visible::shortened;

/// The longest reply, in bytes: a report on a hand-back of 200,000 paths.
const REPLY_BYTES_MAX: u64 = 64 << 20;

/// How much of a command line a reply holds, in characters.
const COMMAND_CHARACTERS: usize = 1000;

/// How long a session may take to answer: longer than a large hand-back takes.
const ANSWER_MAX: Duration = Duration::from_secs(300);

/// What a peer may ask. A verb that names something to start has no place here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Request {
    /// Lists the background tasks.
    Tasks,
    /// Returns a piece of a task's output.
    TaskOutput {
        task: String,
        /// The first byte wanted.
        #[serde(default)]
        from: u64,
    },
    /// Ends a task.
    TaskStop { task: String },
    /// Looks for an open question. Whoever looks counts as being there for a while.
    Question,
    /// Answers the question of this number.
    Answer { question: u64, given: Given },
    /// Carries work into the project.
    Review { selection: Selection },
    /// Carries what the session committed. Flagged paths that are accepted are named.
    Apply {
        #[serde(default)]
        mode: Option<LandingMode>,
        #[serde(default)]
        accept: Vec<PathText>,
    },
    /// Takes the last hand-backs out again.
    Undo { steps: u32 },
    /// Puts back in what was undone last.
    Redo { steps: u32 },
}

/// What the session answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    Tasks(Vec<Row>),
    Output(Piece),
    Stopped(Row),
    /// The open question, if there is one.
    Question(Option<Sheet>),
    /// The answer was taken.
    Answered,
    Report(Report),
    Error(String),
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) task: String,
    /// `running` or `ended`.
    pub(crate) state: String,
    /// How it ended; nothing while it runs.
    pub(crate) ended: Option<Ended>,
    /// Its command line, cut when it is very long.
    pub(crate) command: String,
    /// How long it has been running, or ran.
    pub(crate) seconds: u64,
    /// Bytes of output so far.
    pub(crate) bytes: u64,
    /// Bytes of output that are kept.
    pub(crate) bytes_kept: u64,
}

/// A piece of a task's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Where it begins.
    pub(crate) from: u64,
    /// The bytes, in base64.
    pub(crate) data: String,
    /// How many bytes there are by now.
    pub(crate) total: u64,
}

impl Row {
    pub(super) fn of(row: TaskRow) -> Self {
        let TaskRow { task, command, ended, time, bytes, bytes_kept } = row;
        let state = if ended.is_some() { "ended" } else { "running" }.to_owned();
        let command = shortened(&command, COMMAND_CHARACTERS);
        Self { task, state, ended, command, seconds: time.as_secs(), bytes, bytes_kept }
    }
}

impl Piece {
    pub(super) fn of(piece: &chock_tools::Piece) -> Self {
        Self { from: piece.from, data: STANDARD.encode(&piece.bytes), total: piece.total }
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        STANDARD.decode(&self.data).map_err(io::Error::other)
    }
}

/// The asking end.
#[derive(Debug)]
pub(crate) struct Peer {
    reader: BufReader<UnixStream>,
}

impl Peer {
    /// Connects to a session by the directory of its socket.
    pub(crate) fn connect(directory: &Path) -> io::Result<Self> {
        let stream = Place::open(directory)?.connect()?;
        stream.set_read_timeout(Some(ANSWER_MAX))?;
        stream.set_write_timeout(Some(ANSWER_MAX))?;
        Ok(Self::over(stream))
    }

    pub(super) fn over(stream: UnixStream) -> Self {
        Self { reader: BufReader::new(stream) }
    }

    /// Asks, and waits for the reply.
    pub(crate) fn ask(&mut self, request: &Request) -> io::Result<Reply> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        // One that is not admitted is told why and not read, so the answer counts more.
        let sent = self.reader.get_mut().write_all(&line);
        let mut reply = Vec::new();
        self.reader.by_ref().take(REPLY_BYTES_MAX).read_until(b'\n', &mut reply)?;
        if reply.is_empty() {
            sent?;
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the session hung up"));
        }
        Ok(serde_json::from_slice(&reply)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_replies_are_a_format() {
        let cases = [
            (Request::Tasks, r#"{"verb":"tasks"}"#),
            (
                Request::TaskOutput { task: "task-01".into(), from: 7 },
                r#"{"verb":"task-output","task":"task-01","from":7}"#,
            ),
            (Request::TaskStop { task: "a".into() }, r#"{"verb":"task-stop","task":"a"}"#),
            (Request::Question, r#"{"verb":"question"}"#),
            (
                Request::Answer { question: 3, given: Given::Once },
                r#"{"verb":"answer","question":3,"given":"once"}"#,
            ),
            (
                Request::Answer { question: 3, given: Given::No(Some("later".into())) },
                r#"{"verb":"answer","question":3,"given":{"no":"later"}}"#,
            ),
        ];
        for (request, text) in cases {
            assert_eq!(serde_json::to_string(&request).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<Request>(text).expect("a request"), request);
        }
        let bytes = b"a\xff\n".to_vec();
        let piece = Piece::of(&chock_tools::Piece { from: 3, bytes: bytes.clone(), total: 6 });
        assert_eq!(piece.bytes().expect("bytes"), bytes);
        let row = Row::of(TaskRow {
            task: "task-01".into(),
            command: "x".repeat(2000),
            ended: Some(Ended::Exited(1)),
            time: Duration::from_millis(2900),
            bytes: 5,
            bytes_kept: 4,
        });
        assert_eq!(
            (row.state.as_str(), row.seconds, row.command.chars().count()),
            ("ended", 2, 1000)
        );
        let text = serde_json::to_string(&Reply::Stopped(row)).expect("JSON");
        assert!(
            text.starts_with(
                r#"{"stopped":{"task":"task-01","state":"ended","ended":{"exited":1},"#
            )
        );
    }
}
