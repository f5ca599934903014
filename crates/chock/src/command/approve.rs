//! `chock approve`: answers the open question of a running session from another terminal.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::control::{Asked, Reply, Request, beside_the_point};
use crate::exit::{Exit, Failure};
use crate::found;
use crate::program::Program;
use crate::question::{Given, Sheet};
use crate::terminal::{Terminal, Weight};
use crate::typed::{Typed, typed};

/// How often somebody who waits looks for a question.
const LOOK: Duration = Duration::from_millis(250);

/// Answer the open question of a running session
///
/// At a terminal it shows the question and reads the answer. While `--wait` runs, a session
/// without a terminal of its own has somebody to ask.
#[derive(Debug, clap::Args)]
pub(crate) struct ApproveArgs {
    /// The session's id or the end of it; the newest that runs if there is none
    session: Option<String>,

    /// Wait for a session to run, and for its questions until it ends
    #[arg(long)]
    wait: bool,

    /// Answer without being asked; needs --question
    #[arg(long, value_enum, requires = "question", value_name = "ANSWER")]
    answer: Option<Word>,

    /// Answer with a word that the question offers; needs --question
    #[arg(long, requires = "question", conflicts_with = "answer", value_name = "WORD")]
    choose: Option<String>,

    /// The number of the question that --answer is for, as --json shows it
    #[arg(long, value_name = "NUMBER")]
    question: Option<u64>,

    /// Why not, in words for the agent
    #[arg(long, requires = "answer", value_name = "WORDS")]
    why: Option<String>,

    /// Print the open question as one JSON object, and answer nothing
    #[arg(long, conflicts_with_all = ["wait", "answer"])]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<std::path::PathBuf>,
}

/// The answers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Word {
    /// Yes, this time
    Once,
    /// Yes, for this session
    Session,
    /// Yes, always in this project
    Always,
    /// No
    No,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &ApproveArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let mut session = if args.wait {
        first(terminal, &sessions, args.session.as_deref())?
    } else {
        Asked::connect(found::running(&sessions, args.session.as_deref())?)?
    };
    if let (Some(word), Some(question)) = (args.answer, args.question) {
        return session.answer(terminal, question, given(word, args.why.as_deref()));
    }
    if let (Some(word), Some(question)) = (&args.choose, args.question) {
        return session.answer(terminal, question, Given::Offer(word.clone()));
    }
    let mut answered = false;
    loop {
        match session.question() {
            Ok(Some(sheet)) if args.json => {
                let object =
                    serde_json::to_string(&sheet).map_err(|fault| Failure::because(&fault))?;
                terminal.answer(&object)?;
                return Ok(Exit::Finished);
            }
            Ok(Some(sheet)) => {
                session.put(terminal, &sheet)?;
                answered = true;
            }
            Ok(None) if !args.wait => {
                let id = session.found.id;
                terminal.say(Weight::Quiet, &format!("session {id} runs and asks nothing"));
                return Ok(Exit::Finished);
            }
            Ok(None) => thread::sleep(LOOK),
            // The session is over, and somebody waited for that.
            Err(_) if args.wait => {
                terminal.say(Weight::Quiet, &format!("session {} is over", session.found.id));
                return Ok(Exit::Finished);
            }
            Err(failure) => return Err(failure),
        }
        if answered && !args.wait {
            return Ok(Exit::Finished);
        }
    }
}

/// Waits for the session that was named to run, or for any of the project.
fn first(terminal: &mut Terminal, sessions: &Path, named: Option<&str>) -> Result<Asked, Failure> {
    if named.is_some() {
        // One that is not there is a mistake, and nothing to wait for.
        found::session(sessions, named)?;
    }
    let mut told = false;
    loop {
        // One that has just begun has no socket yet.
        let running = found::running(sessions, named).and_then(Asked::connect);
        if let Ok(session) = running {
            let id = session.found.id;
            terminal.say(Weight::Quiet, &format!("session {id} runs; its questions come here"));
            return Ok(session);
        }
        if !told {
            told = true;
            let words = "no session of this project runs; waiting for one (Ctrl-C ends this)";
            terminal.say(Weight::Quiet, words);
        }
        thread::sleep(LOOK);
    }
}

fn given(word: Word, why: Option<&str>) -> Given {
    match word {
        Word::Once => Given::Once,
        Word::Session => Given::Session,
        Word::Always => Given::Always,
        Word::No => Given::No(why.map(str::to_owned)),
    }
}

impl Asked {
    fn question(&mut self) -> Result<Option<Sheet>, Failure> {
        match self.ask(&Request::Question)? {
            Reply::Question(sheet) => Ok(sheet),
            Reply::Tasks(_)
            | Reply::Output(_)
            | Reply::Stopped(_)
            | Reply::Answered
            | Reply::Report(_)
            | Reply::Error(_) => Err(beside_the_point()),
        }
    }

    /// Shows a question and passes on what is typed.
    fn put(&mut self, terminal: &mut Terminal, sheet: &Sheet) -> Result<(), Failure> {
        for (weight, line) in sheet.lines() {
            terminal.say(weight, &line);
        }
        if !terminal.can_ask {
            return Err(Failure::start(format!(
                "there is no terminal to answer at; use --question {} --answer once|session|always|no",
                sheet.question
            )));
        }
        terminal.say_piece(&sheet.prompt());
        loop {
            let given = match typed() {
                Typed::TheEnd => {
                    return Err(Failure::start("nothing was answered; the question stays open"));
                }
                Typed::Line(line) => sheet.read(&line),
                // Who answers at the session itself is as good.
                Typed::Nothing if !self.is_open(sheet) => {
                    terminal.take_back_piece();
                    terminal.say(Weight::Quiet, "answered at another terminal");
                    return Ok(());
                }
                Typed::Nothing => continue,
            };
            if let Some(given) = given {
                return self.answer(terminal, sheet.question, given).map(|_| ());
            }
            terminal.say(Weight::Quiet, sheet.no_answer());
            terminal.say_piece(&sheet.prompt());
        }
    }

    /// Says whether the question still waits for an answer. A session that is over asks nothing.
    fn is_open(&mut self, sheet: &Sheet) -> bool {
        let open = self.question().ok().flatten();
        open.is_some_and(|open| open.question == sheet.question)
    }

    fn answer(
        &mut self,
        terminal: &mut Terminal,
        question: u64,
        given: Given,
    ) -> Result<Exit, Failure> {
        self.ask(&Request::Answer { question, given })?;
        terminal.say(Weight::Quiet, "answered");
        Ok(Exit::Finished)
    }
}
