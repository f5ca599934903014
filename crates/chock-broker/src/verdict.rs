//! The two ways a judgement ends.

use chock_log::{Denial, Grounds, LogError, Permit};
use chock_policy::{Action, Decision, Origin, Pattern, Rule, Ruling};

/// What the broker says of a proposal.
#[derive(Debug)]
#[must_use]
pub enum Verdict<A> {
    /// It may be done, once, with this.
    Permitted(Permit<A>),
    /// It may not.
    Refused(Refusal),
}

/// What a person chose among offers.
#[derive(Debug)]
#[must_use]
pub enum Chosen {
    /// The offer with this word.
    Offer(String),
    /// None of them.
    Refused(Box<Refusal>),
    /// Nobody could be asked, or a row denies it.
    Nobody,
}

/// Why an act is not done, and what would allow it.
#[derive(Debug)]
pub struct Refusal {
    /// The action that was decisive.
    pub action: String,
    /// Who or what refused.
    pub cause: Cause,
    /// The row of the project that no other row beside it would change: it is as specific as one
    /// for exactly this action, and stricter than a yes.
    pub in_the_way: Option<Rule>,
}

/// Who or what refused.
#[derive(Debug)]
pub enum Cause {
    /// A row, a person, or nobody being there.
    Judged(Grounds),
    /// A person, in these words.
    Person(String),
    /// A person, who took the offer with this word instead.
    Instead(String),
    /// The approval did not reach the disk. The session cannot go on.
    NotRecorded(LogError),
}

impl<A> Verdict<A> {
    /// Adds the row that decided on `action`, where one for exactly that action would not beat it.
    pub(crate) fn beside(mut self, action: &Action, ruling: &Ruling) -> Self {
        if let (Self::Refused(refusal), Some((Origin::Project, rule))) = (&mut self, &ruling.row) {
            let exact = Pattern::new(action.as_str()).ok();
            let exact = exact.map(|pattern| Rule::action(pattern, Decision::Allow));
            let beats = exact.is_none_or(|exact| exact.specificity() > rule.specificity());
            refusal.in_the_way = (!beats).then(|| rule.clone());
        }
        self
    }
}

impl Refusal {
    /// Describes the refusal for the model and the person.
    #[must_use]
    pub fn denial(&self) -> Denial {
        Denial {
            operation: "judge".to_owned(),
            action: Some(self.action.clone()),
            target: None,
            layer: self.layer().to_owned(),
            allowed_by: self.allowed_by(),
            inferred: false,
        }
    }

    /// Says in one sentence why the act was not done.
    #[must_use]
    pub fn sentence(&self) -> String {
        let action = &self.action;
        match &self.cause {
            Cause::Person(words) => format!("A person refused `{action}`: {words}"),
            Cause::Instead(word) => {
                format!("A person chose something else than `{action}`: {word}")
            }
            Cause::NotRecorded(_) => {
                format!("`{action}` was not done: its approval was not recorded.")
            }
            Cause::Judged(grounds) => match grounds {
                Grounds::Rule { origin, row } => match origin.as_str() {
                    "organisation" => format!(
                        "`{action}` is refused by the organisation's bundle, org-policy.zon: {row}"
                    ),
                    "promise" => format!("`{action}` is refused by your own promise: {row}"),
                    origin => format!("`{action}` is refused by a {origin} rule: {row}"),
                },
                Grounds::Person
                | Grounds::PersonForSession
                | Grounds::PersonAlways
                | Grounds::PersonDirectly => format!("A person refused `{action}`."),
                Grounds::Reviewer => {
                    format!("`{action}` was not done: a reviewing agent refused it.")
                }
                Grounds::Timeout => format!(
                    "Nobody answered in time whether `{action}` may be done, so it was not."
                ),
                Grounds::Nobody => {
                    format!("`{action}` needs a person's yes, and nobody is there to ask.")
                }
                Grounds::Cancelled => {
                    format!("`{action}` was not done: the person stopped the turn.")
                }
                Grounds::NoReviewer => {
                    format!("`{action}` needs a reviewing agent's yes, and it could not be asked.")
                }
            },
        }
    }

    /// Names the layer that refused.
    fn layer(&self) -> &'static str {
        match &self.cause {
            Cause::Person(_) | Cause::Instead(_) => "person",
            Cause::NotRecorded(_) => "log",
            Cause::Judged(grounds) => match grounds {
                Grounds::Rule { origin, .. } if origin == "organisation" => "organisation",
                Grounds::Rule { origin, .. } if origin == "promise" => "promise",
                Grounds::Rule { .. } => "policy",
                Grounds::Reviewer | Grounds::NoReviewer => "review",
                Grounds::Person
                | Grounds::PersonAlways
                | Grounds::PersonForSession
                | Grounds::PersonDirectly => "person",
                Grounds::Timeout | Grounds::Nobody | Grounds::Cancelled => "nobody",
            },
        }
    }

    /// Spells the row that would allow the action, where a row could.
    fn allowed_by(&self) -> Option<String> {
        match &self.cause {
            Cause::Judged(Grounds::Cancelled)
            | Cause::Person(_)
            | Cause::Instead(_)
            | Cause::NotRecorded(_) => None,
            // No row of the project lifts a ceiling.
            Cause::Judged(Grounds::Rule { origin, .. })
                if origin == "organisation" || origin == "promise" =>
            {
                None
            }
            Cause::Judged(_) => {
                let row = format!(".{{ .action = \"{}\", .decision = .allow }}", self.action);
                Some(match &self.in_the_way {
                    Some(other) => format!("{row} in the place of {other}"),
                    None => row,
                })
            }
        }
    }
}
