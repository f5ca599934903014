//! The seam to whoever can be asked.

/// One question, with every byte of what a yes would approve.
///
/// The agent wrote parts of it: whoever shows it makes control characters visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The names that need a yes.
    pub actions: Vec<String>,
    /// The tool that asks.
    pub tool: String,
    /// The kind of agent that asks.
    pub agent_kind: String,
    /// What would be done.
    pub effect: String,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this time.
    Once,
    /// Yes, and not again in this session for the same actions.
    ForSession,
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
}

/// The asker of a session that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Asker for Nobody {
    fn ask(&mut self, _question: &Question) -> Answer {
        Answer::Nobody
    }
}
