//! Puts the broker's question to the person: at the terminal, and to another one that looks.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chock_agent::Stop;
use chock_broker::{Answer, Asker, Question};
use chock_config::{Identity, Remembered};
use rustix::termios::{QueueSelector, tcflush};

use crate::board::Board;
use crate::exit::causes;
use crate::question::{Given, Sheet};
use crate::show::Show;
use crate::terminal::Weight;
use crate::typed::{LOOK, Typed, typed};

/// How long a question stays open. Source: the format's earlier version.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// How many times what is no answer is asked about again.
const TRIES: usize = 3;

/// Asks a person. What the agent wrote cannot draw there.
pub(crate) struct PersonAsker {
    pub(crate) show: Arc<Mutex<Show>>,
    pub(crate) stop: Stop,
    pub(crate) board: Board,
    pub(crate) memory: Memory,
    /// Whether the run has a terminal of its own to ask at.
    pub(crate) at_terminal: bool,
}

/// Where lasting answers are kept, and for which directory.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    pub(crate) store: PathBuf,
    pub(crate) identity: Identity,
}

impl Asker for PersonAsker {
    fn ask(&mut self, question: &Question) -> Answer {
        if !self.is_reachable() {
            return Answer::Nobody;
        }
        let sheet = self.board.open(question);
        if self.at_terminal {
            // What was typed before the question was there is no answer to it.
            let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        }
        self.show_question(&sheet);
        let answer = self.wait(&sheet);
        self.board.close();
        match answer {
            Answer::Always => self.remember(question),
            answer => answer,
        }
    }

    fn is_reachable(&self) -> bool {
        self.at_terminal || self.board.is_watched()
    }
}

impl PersonAsker {
    fn show_question(&self, sheet: &Sheet) {
        let mut show = self.show.lock().expect("invariant: nobody panics while showing");
        for (weight, line) in sheet.lines() {
            show.terminal.say(weight, &line);
        }
        if self.at_terminal {
            show.terminal.say_piece(&sheet.prompt());
        } else {
            show.terminal.say(Weight::Quiet, "waiting for an answer by chock approve");
        }
    }

    /// Takes the prompt off the screen: nobody is to answer any more.
    fn take_back_prompt(&self) {
        if self.at_terminal {
            let mut show = self.show.lock().expect("invariant: nobody panics while showing");
            show.terminal.take_back_piece();
        }
    }

    fn say(&self, weight: Weight, line: &str) {
        let mut show = self.show.lock().expect("invariant: nobody panics while showing");
        show.terminal.say(weight, line);
    }

    /// Waits for a line or an answer from elsewhere, until patience or the run ends.
    fn wait(&self, sheet: &Sheet) -> Answer {
        let (since, mut tries) = (Instant::now(), 0);
        loop {
            if self.stop.is_triggered() {
                return Answer::Cancelled;
            }
            if let Some(given) = self.board.given() {
                self.take_back_prompt();
                self.say(Weight::Quiet, "answered from another terminal");
                return answer(given);
            }
            if since.elapsed() > PATIENCE {
                return Answer::TimedOut;
            }
            if !self.at_terminal {
                if !self.board.is_watched() {
                    return Answer::Nobody;
                }
                std::thread::sleep(LOOK);
                continue;
            }
            match typed() {
                Typed::Nothing => {}
                Typed::TheEnd => return Answer::Nobody,
                Typed::Line(line) => match sheet.read(&line) {
                    Some(given) => return answer(given),
                    None if tries + 1 == TRIES => return Answer::No(None),
                    None => {
                        tries += 1;
                        self.say(Weight::Quiet, sheet.no_answer());
                        let mut show =
                            self.show.lock().expect("invariant: nobody panics while showing");
                        show.terminal.say_piece(&sheet.prompt());
                    }
                },
            }
        }
    }

    /// Keeps a lasting yes. One that cannot be kept is a yes for this session, and says so.
    fn remember(&self, question: &Question) -> Answer {
        let Memory { store, identity } = &self.memory;
        let made = store.parent().map_or(Ok(()), |data| {
            crate::house::make_private(data).map_err(|fault| fault.to_string())
        });
        let kept = made.and_then(|()| {
            Remembered::add(store, identity, &question.always).map_err(|fault| causes(&fault))
        });
        match kept {
            Ok(()) => Answer::Always,
            Err(words) => {
                let line = format!("it counts for this session, and could not be kept: {words}");
                self.say(Weight::Warn, &line);
                Answer::ForSession
            }
        }
    }
}

fn answer(given: Given) -> Answer {
    match given {
        Given::Once => Answer::Once,
        Given::Session => Answer::ForSession,
        Given::Always => Answer::Always,
        Given::Offer(word) => Answer::Offered(word),
        Given::No(why) => Answer::No(why),
    }
}
