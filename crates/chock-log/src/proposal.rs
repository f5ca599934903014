//! An act before anybody has judged it.

use chock_policy::Action;

/// One act that a tool call asks for, with the names it is judged under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal<A> {
    /// The id of the tool call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// What would be done.
    pub act: A,
    /// Every name it goes by; the strictest answer counts. Never empty.
    pub actions: Vec<Action>,
    /// What a person is shown: the command line, the path, the diff. The agent wrote parts of it.
    pub effect: String,
}
