//! The seam to whoever can be asked.

use chock_policy::Rule;

/// One question, with every byte of what a yes would approve.
///
/// The agent wrote parts of it: whoever shows it makes control characters visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What needs a yes.
    pub guarded: Vec<Guarded>,
    /// The tool that asks.
    pub tool: String,
    /// The kinds of agent from the root to the one that asks.
    pub chain: Vec<String>,
    /// What would be done.
    pub effect: String,
    /// What a reviewing agent said for it, where one was asked first.
    pub review: Option<String>,
    /// The rows that a lasting yes would add; none where it would not spare the next question.
    pub always: Vec<Rule>,
    /// What else may be answered.
    pub offers: Vec<Offer>,
    /// What is asked for.
    pub asks: Asks,
}

/// What a question asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// A yes or a no. An offer is instead of both.
    Permission,
    /// One of the offers, or a no.
    Choice,
}

/// Something that a person may answer instead of yes or no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// What is typed for it: a word. Its first letter is enough, and so no two begin alike.
    pub word: String,
    /// What comes of it.
    pub words: String,
}

/// An action that needs a yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guarded {
    /// Its name.
    pub action: String,
    /// Why it is guarded at all.
    pub why: &'static str,
    /// The row that asks, with where it stands; absent where no row names the action.
    pub row: Option<String>,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and not again in this session for the same actions.
    ForSession,
    /// Yes, and not again in this project. The question's rows were kept by whoever asked.
    Always,
    /// The offer with this word.
    Offered(String),
    /// No, with words for the model if there are any.
    No(Option<String>),
    /// Nobody is there.
    Nobody,
    /// Nobody answered in time.
    TimedOut,
    /// The person stopped the turn instead.
    Cancelled,
}

/// Puts a question to a person.
pub trait Asker {
    /// Asks, and waits for the answer as long as its owner thinks right.
    fn ask(&mut self, question: &Question) -> Answer;

    /// Says whether somebody could answer now.
    fn is_reachable(&self) -> bool;
}

/// The asker of a session that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Asker for Nobody {
    fn ask(&mut self, _question: &Question) -> Answer {
        Answer::Nobody
    }

    fn is_reachable(&self) -> bool {
        false
    }
}
