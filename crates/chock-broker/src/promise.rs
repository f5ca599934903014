//! What an agent gives up, and how a person gives some of it back.

use chock_log::{Act, Event, LogError, Permit, PromiseBody, Proposal, WidenedBody};
use chock_policy::{Action, Decision, Pattern, Ratchet, UnknownDecision};
use serde_json::{Value, json};

use crate::broker::{Broker, WIDEN};

/// How many promises one session may hold. Source: the format's earlier version.
pub const PROMISES_MAX: usize = 32;

/// What became of a promise.
#[derive(Debug)]
#[must_use]
pub enum Promised {
    /// It is recorded and holds.
    Kept,
    /// It gives up nothing that is not given up already.
    Already,
    /// It would take back one of the same pattern, and that needs a person's yes.
    Lifts(Proposal<Widen>),
    /// It would take back what a wider one gave up, and only that one can be lifted.
    Under {
        /// The wider promise.
        pattern: Pattern,
        /// Its ceiling.
        ceiling: Decision,
    },
    /// There are [`PROMISES_MAX`] already.
    TooMany,
    /// It is no pattern, or no decision; the words say why.
    Malformed(String),
    /// It could not be recorded.
    NotRecorded(LogError),
}

/// The act of lifting one promise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widen {
    pattern: Pattern,
    ceiling: Decision,
}

impl Act for Widen {
    fn record(&self) -> Value {
        json!({ "lift": self.pattern, "ceiling": self.ceiling })
    }
}

impl Broker {
    /// Takes a promise of the agent, made by `call`. Nothing is written where nothing is given up.
    pub fn promise(&mut self, call: &str, body: &PromiseBody) -> Promised {
        let (pattern, ceiling) = match read(body) {
            Ok(read) => read,
            Err(words) => return Promised::Malformed(words),
        };
        let kept = &self.standing.kept;
        match kept.held(&pattern) {
            Some(held) if ceiling == held => return Promised::Already,
            Some(held) if ceiling > held => {
                return Promised::Lifts(lift(call, body, Widen { pattern, ceiling }, held));
            }
            Some(_) => {}
            None => match wider(kept, &pattern) {
                Some((pattern, held)) if ceiling > held => {
                    return Promised::Under { pattern, ceiling: held };
                }
                Some((_, held)) if ceiling == held => return Promised::Already,
                Some(_) | None if ceiling == Decision::Allow => return Promised::Already,
                Some(_) | None if kept.ceilings().count() >= PROMISES_MAX => {
                    return Promised::TooMany;
                }
                Some(_) | None => {}
            },
        }
        if let Err(fault) = self.pen.write(Event::Promise(body.clone())) {
            return Promised::NotRecorded(fault);
        }
        self.standing.kept.narrow(pattern, ceiling);
        Promised::Kept
    }

    /// Lifts a promise that a person permitted to lift.
    ///
    /// # Errors
    ///
    /// It could not be recorded; the promise holds.
    pub fn widen(&mut self, permit: Permit<Widen>) -> Result<(), LogError> {
        let (Widen { pattern, ceiling }, _) = permit.spend();
        let body = WidenedBody { action: pattern.to_string(), ceiling: ceiling.word().to_owned() };
        self.pen.write(Event::Widened(body))?;
        self.standing.kept.widen(pattern, ceiling);
        Ok(())
    }
}

/// Reads a promise as the agent spelt it.
fn read(body: &PromiseBody) -> Result<(Pattern, Decision), String> {
    let pattern = Pattern::new(body.action.as_str()).map_err(|fault| fault.to_string())?;
    let ceiling = body.ceiling.parse().map_err(|fault: UnknownDecision| fault.to_string())?;
    Ok((pattern, ceiling))
}

/// Finds the strictest promise that covers everything that `pattern` covers.
fn wider(kept: &Ratchet, pattern: &Pattern) -> Option<(Pattern, Decision)> {
    let wider = kept.ceilings().filter(|(wider, _)| wider.contains(pattern));
    wider.min_by_key(|(_, held)| *held).map(|(wider, held)| (wider.clone(), held))
}

/// Proposes to lift a promise of `held`.
fn lift(call: &str, body: &PromiseBody, act: Widen, held: Decision) -> Proposal<Widen> {
    let Widen { pattern, ceiling } = &act;
    let effect = format!(
        "lift the agent's own promise that {pattern} is at most {held}: from now on {ceiling}\n\
         its reason: {}",
        body.reason
    );
    Proposal {
        call: call.to_owned(),
        tool: "restrict_self".to_owned(),
        actions: vec![Action::from_static(WIDEN)],
        act,
        effect,
    }
}
