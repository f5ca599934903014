//! Lists of rules, in a project's file and an organisation's.

use chock_policy::{Pattern, RULES_MAX, Rule};
use chock_zon::{Node, Spanned};

use crate::fault::nearest;
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

/// Every tool there is, and those that a later version has: what stands behind `call.`.
const TOOLS: [&str; 24] = [
    "ask_user",
    "edit_file",
    "fetch_url",
    "glob",
    "grep",
    "list_directory",
    "nix_eval",
    "provide_tool",
    "read_file",
    "read_guidance",
    "read_image",
    "read_memory",
    "read_skill",
    "request_action",
    "restrict_self",
    "run_command",
    "set_title",
    "spawn_agent",
    "task_output",
    "task_stop",
    "update_plan",
    "web_search",
    "write_file",
    "write_memory",
];

/// Reads a list of rules, each about actions that there can be.
pub(crate) fn rules(node: Node<'_>, source: &mut Source<'_>) -> Vec<Spanned<Rule>> {
    let rules: Vec<Spanned<Rule>> = list(node, RULES_MAX, "rules", source);
    for rule in &rules {
        let tool = rule.value.tool.as_ref().map(Pattern::as_str);
        // A tool of a name of its own may come from elsewhere, as from a plugin.
        if let Some(tool) = tool.filter(|tool| !tool.contains(['.', '*']) && !TOOLS.contains(tool))
            && nearest(tool, TOOLS).is_some()
        {
            source.refuse_word(rule.place, no_tool(tool), tool, TOOLS);
        }
        let Some(action) = &rule.value.action else { continue };
        if let Some(Unknown { message, word, known }) = unknown(action.as_str()) {
            source.refuse_word(rule.place, message, word, known.iter().copied());
        }
    }
    rules
}

/// A name that no act can have.
pub(crate) struct Unknown<'a> {
    pub(crate) message: String,
    /// The part of the name that is wrong.
    pub(crate) word: &'a str,
    /// What could stand in its place.
    pub(crate) known: &'static [&'static str],
}

/// Says what is wrong with the name of an action, or a pattern of names, that no act has.
pub(crate) fn unknown(action: &str) -> Option<Unknown<'_>> {
    let word = action.split('.').next().unwrap_or_default();
    if !NAMESPACES.contains(&word) {
        let message = format!(
            "no action is called `{}`: a tool is `call.` and its name, a program `exec.path.` \
             and its name",
            shown(action)
        );
        return Some(Unknown { message, word, known: &NAMESPACES });
    }
    let word = action.strip_prefix("call.").filter(|tool| *tool != "*")?;
    let message = no_tool(word);
    (!TOOLS.contains(&word)).then_some(Unknown { message, word, known: &TOOLS })
}

/// Says why no act is called `action`, with the nearest name if one is near. Names of programs, of
/// git's subcommands and of hosts are not known, and never refused.
#[must_use]
pub fn no_such_action(action: &str) -> Option<String> {
    let Unknown { message, word, known } = unknown(action)?;
    Some(match nearest(word, known.iter().copied()) {
        Some(name) => format!("{message}; did you mean `{name}`?"),
        None => message,
    })
}

fn no_tool(tool: &str) -> String {
    format!("no tool is called `{}`", shown(tool))
}
