//! `chock.zon`: what a project asks for.

use chock_policy::{Rule, Table};
use chock_zon::{Node, Spanned};
use serde::de::DeserializeOwned;

use crate::apply::{ApplyBlock, ApplyMode};
use crate::bind::{self, Bind};
use crate::budget::{Budget, BudgetBlock};
use crate::denied::{DENIED_MAX, Denied};
use crate::fault::Faults;
use crate::limits::LimitsBlock;
use crate::project_path::ProjectPath;
use crate::source::{Names, Source};
use crate::variable::{VARIABLES_MAX, VariableName};
use crate::widening::Beneath;

/// The most files of instructions that one project names.
pub const INSTRUCTIONS_MAX: usize = 32;

/// The most directories of skills that one project names. Source: the format's earlier version.
pub const SKILL_DIRECTORIES_MAX: usize = 4;

/// What a project's `chock.zon` says. The default is what no file says: nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Project {
    rules: Vec<Spanned<Rule>>,
    reach: Reach,
    /// What a session may spend.
    pub budget: Option<Budget>,
    /// What no tool may read, at most [`DENIED_MAX`] rows.
    pub deny_read: Vec<Spanned<Denied>>,
    /// Variables that are let in, at most [`VARIABLES_MAX`].
    pub environment: Vec<Spanned<VariableName>>,
    /// How much a call may use.
    pub limits: LimitsBlock,
    /// Ignored paths that a session gets, at most [`BINDS_MAX`](crate::BINDS_MAX) rows.
    pub binds: Vec<Spanned<Bind>>,
    /// Files of the project whose words the agent is told, at most [`INSTRUCTIONS_MAX`].
    pub instructions: Vec<Spanned<ProjectPath>>,
    /// Directories of the project with skills in them, at most [`SKILL_DIRECTORIES_MAX`].
    pub skills: Vec<Spanned<ProjectPath>>,
    /// How the agent's commits land.
    pub apply: Option<Spanned<ApplyMode>>,
}

/// Which of the rows count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reach {
    /// All of them.
    #[default]
    Whole,
    /// Each only where it narrows.
    Narrowing,
}

const BLOCKS: Names = Names {
    known: &[
        "policy",
        "budget",
        "deny_read",
        "environment",
        "instructions",
        "skills",
        "limits",
        "workspace",
        "apply",
    ],
    later: &[
        "subagents",
        "nix",
        "plugins",
        "mcp",
        "lsp",
        "network",
        "secrets",
        "devices",
        "container",
    ],
};

const POLICY: Names = Names { known: &["rules"], later: &["agents", "net"] };

impl Project {
    /// Reads the `text` of a file that people know as `name`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it. Nothing of a file with a fault counts.
    pub fn read(name: &str, text: &str) -> Result<Self, Faults> {
        let mut source = Source::new(name, text);
        let mut project = Self::default();
        if let Some(tree) = source.parse() {
            for entry in tree.root().entries() {
                let node = entry.value();
                match entry.name() {
                    "policy" => project.rules = policy(node, &mut source),
                    "budget" => {
                        let block = source.read::<BudgetBlock>(node);
                        project.budget =
                            block.and_then(|block| block.check(node.anchor(), &mut source));
                    }
                    "deny_read" => {
                        project.deny_read =
                            list(node, DENIED_MAX, "rows of `deny_read`", &mut source);
                    }
                    "environment" => {
                        project.environment = list(node, VARIABLES_MAX, "variables", &mut source);
                    }
                    "limits" => {
                        let block = source.read::<LimitsBlock>(node).unwrap_or_default();
                        project.limits = block.check(&mut source);
                    }
                    "instructions" => {
                        let what = ("files of instructions", "file");
                        project.instructions = names(node, INSTRUCTIONS_MAX, what, &mut source);
                    }
                    "skills" => {
                        let what = ("directories of skills", "directory");
                        project.skills = names(node, SKILL_DIRECTORIES_MAX, what, &mut source);
                    }
                    "apply" => {
                        let block = source.read::<ApplyBlock>(node).unwrap_or_default();
                        project.apply = block.mode;
                    }
                    "workspace" => project.binds = bind::workspace(node, &mut source),
                    _ => source.refuse_name(entry, &BLOCKS, "block"),
                }
            }
        }
        source.finish(project)
    }

    /// The rows of `policy.rules`, at most [`RULES_MAX`](chock_policy::RULES_MAX), as they are written.
    ///
    /// They are for showing. What counts of them is in [`Project::table`].
    #[must_use]
    pub fn rules(&self) -> &[Spanned<Rule>] {
        &self.rules
    }

    /// The rows in force over the shipped ones.
    #[must_use]
    pub fn table(&self) -> Table {
        let rows = self.rules.iter().map(|rule| rule.value.clone()).collect();
        let table = match self.reach {
            Reach::Whole => Table::new(rows),
            Reach::Narrowing => Table::narrowing(rows),
        };
        table.expect("invariant: the rows were counted when they were read")
    }

    /// The project as it counts until a person accepted what widens.
    ///
    /// Everything that narrows stays, the narrowing half of a row that does both included.
    #[must_use]
    pub fn without_widening(&self, beneath: &Beneath<'_>) -> Self {
        let (environment, binds) = (Vec::new(), Vec::new());
        let limits = self.limits.held(beneath.limits, beneath.machine);
        Self { environment, binds, limits, reach: Reach::Narrowing, ..self.clone() }
    }
}

fn policy(node: Node<'_>, source: &mut Source<'_>) -> Vec<Spanned<Rule>> {
    let mut rules = Vec::new();
    if node.entries().len() == 0 && source.read::<NoFields>(node).is_none() {
        return rules;
    }
    for entry in node.entries() {
        match entry.name() {
            "rules" => rules = crate::rules::rules(entry.value(), source),
            _ => source.refuse_name(entry, &POLICY, "field of `policy`"),
        }
    }
    rules
}

/// Reads at most `most` paths, none of them a pattern. `what` says what they name, many and one.
fn names(
    node: Node<'_>,
    most: usize,
    (many, one): (&str, &str),
    source: &mut Source<'_>,
) -> Vec<Spanned<ProjectPath>> {
    let paths: Vec<Spanned<ProjectPath>> = list(node, most, many, source);
    for path in &paths {
        if matches!(path.value, ProjectPath::Pattern(_)) {
            let message = format!("`{}` is a pattern; name each {one}", path.value.as_str());
            source.refuse(node.anchor(), message);
        }
    }
    paths
}

/// What a block without fields is read as, so that another sort of value is refused.
#[derive(serde::Deserialize)]
pub(crate) struct NoFields {}

/// Reads a list of at most `most` items that are called `what`.
pub(crate) fn list<T: DeserializeOwned>(
    node: Node<'_>,
    most: usize,
    what: &str,
    source: &mut Source<'_>,
) -> Vec<Spanned<T>> {
    let items: Vec<_> = source.read(node).unwrap_or_default();
    if items.len() > most {
        let message = format!("{} {what} are over the limit of {most}", items.len());
        source.refuse(node.anchor(), message);
    }
    items
}
