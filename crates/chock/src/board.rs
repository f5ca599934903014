//! The one question that is open, where a terminal and the control socket both see it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use chock_broker::Question;

use crate::question::{Given, Sheet};

/// How long somebody who looked from another terminal counts as being there. They look again
/// several times a second.
const PRESENCE: Duration = Duration::from_secs(5);

/// The open question of a session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Board(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    open: Option<Sheet>,
    given: Option<Given>,
    /// How many questions there were.
    count: u64,
    looked: Option<Instant>,
}

impl Board {
    /// Puts a question up, in the place of any other, and returns it as it is shown.
    pub(crate) fn open(&self, question: &Question) -> Sheet {
        let mut state = self.state();
        state.count += 1;
        let sheet = Sheet::of(question, state.count);
        (state.open, state.given) = (Some(sheet.clone()), None);
        sheet
    }

    /// Takes the question down.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        (state.open, state.given) = (None, None);
    }

    /// Returns the open question to somebody who waits for one, and notes that they are there.
    pub(crate) fn look(&self) -> Option<Sheet> {
        let mut state = self.state();
        state.looked = Some(Instant::now());
        // One that has its answer is open no more, for whoever looks.
        state.open.clone().filter(|_| state.given.is_none())
    }

    /// Says whether somebody looked a moment ago.
    pub(crate) fn is_watched(&self) -> bool {
        self.state().looked.is_some_and(|looked| looked.elapsed() < PRESENCE)
    }

    /// Takes an answer to the question of this number.
    ///
    /// # Errors
    ///
    /// Words for whoever answered: it is not open any more, or has its answer.
    pub(crate) fn answer(&self, question: u64, given: Given) -> Result<(), String> {
        let mut state = self.state();
        let Some(open) = &state.open else { return Err("no question is open".to_owned()) };
        if open.question != question {
            return Err(format!("question {question} is closed; {} is open", open.question));
        }
        if given == Given::Always && open.always.is_empty() {
            return Err("this question has no lasting yes; answer once or session".to_owned());
        }
        if !open.takes(&given) {
            let prompt = open.prompt();
            return Err(format!("that is no answer to this question: {}", prompt.trim_end()));
        }
        if state.given.is_some() {
            return Err(format!("question {question} has its answer"));
        }
        state.given = Some(given);
        Ok(())
    }

    /// Takes an answer that came from elsewhere, if one did.
    pub(crate) fn given(&self) -> Option<Given> {
        self.state().given.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("invariant: nobody panics while looking at a question")
    }
}

#[cfg(test)]
mod tests {
    use chock_broker::Asks;

    use super::*;

    #[test]
    fn an_answer_counts_once_and_for_its_question_only() {
        let question = Question {
            guarded: Vec::new(),
            tool: "run_command".into(),
            chain: vec!["main".into()],
            effect: "x".into(),
            review: None,
            always: Vec::new(),
            offers: Vec::new(),
            asks: Asks::Permission,
        };
        let board = Board::default();
        assert!(!board.is_watched());
        assert!(board.answer(1, Given::Once).is_err());
        assert_eq!(board.open(&question).question, 1);
        assert_eq!(board.open(&question).question, 2);
        assert!(board.answer(1, Given::Once).is_err());
        assert!(board.answer(2, Given::Always).is_err());
        assert_eq!(board.answer(2, Given::Once), Ok(()));
        assert!(board.answer(2, Given::Session).is_err());
        assert_eq!((board.given(), board.look()), (Some(Given::Once), None));
        board.close();
        assert_eq!((board.given(), board.look()), (None, None));
        assert!(board.is_watched());
    }
}
