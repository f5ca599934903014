//! The rows every installation starts from.

use crate::{Decision, Pattern, Rule};

/// Everything an agent may do in the cage without a question.
///
/// The cage is the boundary; these rows only say that ordinary work in the
/// throwaway copy needs no prompt. What reaches outside is absent and so asks.
const ALLOWED: [&str; 50] = [
    "call.edit_file",
    "call.glob",
    "call.grep",
    "call.list_directory",
    "call.read_file",
    "call.read_image",
    "call.read_memory",
    "call.run_command",
    "call.task_output",
    "call.task_stop",
    "call.write_file",
    "call.write_memory",
    "exec.path.*",
    "exec.workspace.*",
    "sandbox.jit",
    "git.add",
    "git.am",
    "git.apply",
    "git.bisect",
    "git.branch",
    "git.branch.delete",
    "git.checkout",
    "git.cherry-pick",
    "git.clean",
    "git.commit",
    "git.config",
    "git.filter-branch",
    "git.fsck",
    "git.gc",
    "git.hash-object",
    "git.init",
    "git.merge",
    "git.mv",
    "git.notes",
    "git.prune",
    "git.rebase",
    "git.reflog",
    "git.remote",
    "git.repack",
    "git.replace",
    "git.reset",
    "git.restore",
    "git.revert",
    "git.rm",
    "git.stash",
    "git.submodule",
    "git.switch",
    "git.symbolic-ref",
    "git.tag",
    "git.worktree",
];

/// What ships as a question, written out so that listings show it.
const ASKED: [&str; 4] = ["exec.unparsed", "skill.read.project", "secret.use.*", "web.search"];

/// What ships as refused.
const DENIED: [&str; 1] = ["sandbox.debug"];

/// Lists the shipped rows. Any project row that matches beats all of them.
#[must_use]
pub fn shipped() -> Vec<Rule> {
    let rows = |names: &'static [&'static str], decision| {
        names.iter().map(move |name| Rule::action(Pattern::from_static(name), decision))
    };
    rows(&ALLOWED, Decision::Allow)
        .chain(rows(&ASKED, Decision::Ask))
        .chain(rows(&DENIED, Decision::Deny))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Action, Lineage, Ratchet, Request, Table, decide};

    fn check(action: &'static str, expected: Decision) {
        let action = Action::from_static(action);
        let request = Request { action: &action, tool: "run_command", model: "any" };
        let ruling = decide(&Table::defaults(), &Lineage::main(), &Ratchet::default(), &request);
        assert_eq!(ruling.decision, expected, "{action}");
    }

    #[test]
    fn work_in_the_copy_is_free_and_what_leaves_it_asks() {
        for action in ["call.read_file", "call.run_command", "exec.path.cargo", "git.commit"] {
            check(action, Decision::Allow);
        }
        for action in ["git.push", "git.fetch", "net.connect.io.crates.443", "workspace.apply"] {
            check(action, Decision::Ask);
        }
        for action in ["exec.unparsed", "policy.widen", "mcp.x.tool.y", "device.usb.1.2"] {
            check(action, Decision::Ask);
        }
        check("sandbox.debug", Decision::Deny);
        check("sandbox.jit", Decision::Allow);
    }

    #[test]
    fn no_two_shipped_rows_name_the_same_action() {
        let mut names: Vec<_> = shipped().into_iter().filter_map(|rule| rule.action).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
