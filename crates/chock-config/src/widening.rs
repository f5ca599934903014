//! What of a project widens the defaults, and so needs a person's word.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use chock_policy::{Decision, Pattern, Rule};
use chock_zon::{Place, Spanned, quoted, quoted_bytes};
use sha2::{Digest, Sha256};

use crate::limits::{LimitsBlock, Machine};
use crate::project::Project;

/// Everything of a project that widens the defaults; at least one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Widening {
    /// The parts in the order of the file.
    pub items: Vec<WideningItem>,
    /// SHA-256 over exactly these parts, lower hex. Neither their order nor anything
    /// else in the file changes it.
    pub digest: String,
}

/// What holds where a project says nothing.
#[derive(Debug, Clone, Copy)]
pub struct Beneath<'a> {
    /// The shipped rows.
    pub rows: &'a [Rule],
    /// The person's own limits.
    pub limits: &'a LimitsBlock,
    /// The machine, whose size the other limits follow from.
    pub machine: Machine,
}

/// One part that widens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WideningItem {
    /// Where it stands in `chock.zon`; line 0 where it is no part of that.
    pub place: Place,
    /// The part as ZON, in plain ASCII on one line.
    pub text: String,
    /// What it changes, as half a sentence without a full stop.
    pub effect: String,
}

impl Project {
    /// What in the file widens the shipped rows and the other defaults; none when nothing does.
    ///
    /// A row widens when it is above the shipped decision for any action that it can
    /// match, even if it narrows others.
    #[must_use]
    pub fn widening(&self, beneath: &Beneath<'_>) -> Option<Widening> {
        let shipped = beneath.rows;
        let rules = self.rules().iter().filter_map(|rule| {
            let raised = raised(&rule.value, shipped);
            let text = rule.value.to_string();
            (!raised.is_empty()).then(|| item(rule, text, format!("raises {}", raised.join(", "))))
        });
        let variables = self.environment.iter().map(|name| {
            let text = format!(".environment = .{{ {} }}", quoted(name.value.as_str()));
            item(name, text, "lets the variable in with the value it has outside".to_owned())
        });
        let binds = self.binds.iter().map(|bind| {
            let text = format!(".workspace.binds = .{{ {} }}", bind.value);
            item(bind, text, bind.value.mode.effect().to_owned())
        });
        let above = self.limits.above(beneath.limits, beneath.machine);
        let limits = above.iter().map(|above| {
            let text = format!(".limits = .{{ .{} = {} }}", above.limit.name(), above.amount.value);
            item(above.amount, text, above.effect())
        });
        Widening::of(rules.chain(variables).chain(binds).chain(limits).collect())
    }
}

impl Widening {
    fn of(mut items: Vec<WideningItem>) -> Option<Self> {
        if items.is_empty() {
            return None;
        }
        items.sort_by_key(|item| item.place.span.start);
        let digest = digest(&items);
        Some(Self { items, digest })
    }

    /// Adds the stores of git objects outside of the project that its git directory names: whoever
    /// made the project named them, and a session can read everything in them.
    #[must_use]
    pub fn with_objects(widening: Option<Self>, stores: &[PathBuf]) -> Option<Self> {
        let mut items = widening.map(|widening| widening.items).unwrap_or_default();
        items.extend(stores.iter().map(|path| WideningItem {
            place: Place::default(),
            text: format!("git objects of {}", quoted_bytes(path.as_os_str().as_bytes())),
            effect: "lets the agent read everything that was ever committed there".to_owned(),
        }));
        Self::of(items)
    }
}

fn item<T>(part: &Spanned<T>, text: String, effect: String) -> WideningItem {
    WideningItem { place: part.place, text, effect }
}

/// Hashes the parts without their places and order.
fn digest(items: &[WideningItem]) -> String {
    let mut texts: Vec<_> = items.iter().map(|item| item.text.as_str()).collect();
    texts.sort_unstable();
    texts.dedup();
    // A text has no line end in it, so no two lists of texts are the same bytes.
    let mut hash = Sha256::new();
    hash.update("chock-widening-1\n");
    for text in texts {
        hash.update(text);
        hash.update("\n");
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("invariant: a string takes what is written to it");
        hex
    })
}

/// What `rule` puts above the shipped rows: at most three parts of what it matches.
///
/// Only the actions count. A row for one tool or model raises what it matches as well.
fn raised(rule: &Rule, shipped: &[Rule]) -> Vec<String> {
    let area = rule.action.as_ref();
    let covering = shipped.iter().filter(|row| covers_all(row, area));
    let narrowest = covering.max_by_key(|row| (row.specificity(), std::cmp::Reverse(row.decision)));
    let common = narrowest.map_or(Decision::Ask, |row| row.decision);
    let name = area.map_or("every action".to_owned(), |area| format!("`{area}`"));
    let mut found = Vec::new();
    if rule.decision > common {
        found.push(format!("{name} from {common} to {}", rule.decision));
    }
    for row in shipped.iter().filter(|row| !covers_all(row, area) && may_meet(row, area)) {
        if rule.decision > row.decision && row.decision != common {
            let part = row.action.as_ref().map_or(name.clone(), |action| format!("`{action}`"));
            found.push(format!("{part} from {} to {}", row.decision, rule.decision));
        }
    }
    found.truncate(3);
    found
}

/// Whether a shipped row matches every request whose action is in `area`.
fn covers_all(row: &Rule, area: Option<&Pattern>) -> bool {
    let by_action_alone = row.agent_kind.is_none() && row.model.is_none() && row.tool.is_none();
    let action = match (&row.action, area) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(action), Some(area)) => action.contains(area),
    };
    by_action_alone && action
}

/// Whether a shipped row matches any action in `area`.
fn may_meet(row: &Rule, area: Option<&Pattern>) -> bool {
    match (&row.action, area) {
        (None, _) | (_, None) => true,
        (Some(action), Some(area)) => area.contains(action) || action.contains(area),
    }
}
