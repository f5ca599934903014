//! Lists of rules, in a project's file and an organisation's.

use chock_policy::{RULES_MAX, Rule};
use chock_zon::{Node, Spanned};

use crate::project::list;
use crate::source::{Source, shown};

/// What the names of actions begin with. A row about another name would decide nothing.
const NAMESPACES: [&str; 20] = [
    "budget",
    "call",
    "device",
    "exec",
    "fs",
    "git",
    "lsp",
    "mcp",
    "model",
    "net",
    "nix",
    "plugin",
    "policy",
    "provider",
    "sandbox",
    "secret",
    "session",
    "skill",
    "web",
    "workspace",
];

/// Reads a list of rules, each about actions that there can be.
pub(crate) fn rules(node: Node<'_>, source: &mut Source<'_>) -> Vec<Spanned<Rule>> {
    let rules: Vec<Spanned<Rule>> = list(node, RULES_MAX, "rules", source);
    for rule in &rules {
        let Some(action) = &rule.value.action else { continue };
        let first = action.as_str().split('.').next().unwrap_or_default();
        if !NAMESPACES.contains(&first) {
            let message = format!(
                "no action is called `{}`: a tool is `call.` and its name, a program `exec.path.` \
                 and its name",
                shown(action.as_str())
            );
            source.refuse_word(rule.place, message, first, NAMESPACES);
        }
    }
    rules
}
