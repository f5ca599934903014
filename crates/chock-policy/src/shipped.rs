//! The rows every installation starts from.

use crate::{Decision, Pattern, Rule};

/// Everything an agent may do in the cage without a question.
///
/// The cage is the boundary; these rows only say that ordinary work in the
/// throwaway copy needs no prompt. What reaches outside is absent and so asks.
const ALLOWED: [&str; 80] = [
    "call.edit_file",
    "call.glob",
    "call.grep",
    "call.list_directory",
    "call.read_file",
    "call.read_image",
    "call.read_memory",
    "call.read_skill",
    "call.request_action",
    "call.run_command",
    "call.task_output",
    "call.task_stop",
    "call.write_file",
    "call.write_memory",
    "exec.builtin.*",
    "exec.file.*",
    "exec.path.*",
    "exec.workspace.*",
    "sandbox.jit",
    "skill.read.operator",
    "git.add",
    "git.am",
    "git.apply",
    "git.archive",
    "git.bisect",
    "git.branch",
    "git.branch.delete",
    "git.bundle",
    "git.checkout",
    "git.checkout-index",
    "git.cherry-pick",
    "git.clean",
    "git.commit",
    "git.commit-graph",
    "git.commit-tree",
    "git.config",
    "git.filter-branch",
    "git.fmt-merge-msg",
    "git.format-patch",
    "git.fsck",
    "git.gc",
    "git.hash-object",
    "git.init",
    "git.interpret-trailers",
    "git.maintenance",
    "git.merge",
    "git.merge-file",
    "git.merge-tree",
    "git.mktag",
    "git.mktree",
    "git.multi-pack-index",
    "git.mv",
    "git.notes",
    "git.pack-objects",
    "git.pack-refs",
    "git.prune",
    "git.prune-packed",
    "git.read-tree",
    "git.rebase",
    "git.reflog",
    "git.remote",
    "git.repack",
    "git.replace",
    "git.rerere",
    "git.reset",
    "git.restore",
    "git.revert",
    "git.rm",
    "git.sparse-checkout",
    "git.stage",
    "git.stash",
    "git.submodule",
    "git.switch",
    "git.symbolic-ref",
    "git.tag",
    "git.unpack-objects",
    "git.update-index",
    "git.update-ref",
    "git.worktree",
    "git.write-tree",
];

/// What git only reads.
const READ: [&str; 40] = [
    "git.annotate",
    "git.blame",
    "git.cat-file",
    "git.check-attr",
    "git.check-ignore",
    "git.check-mailmap",
    "git.check-ref-format",
    "git.cherry",
    "git.column",
    "git.count-objects",
    "git.describe",
    "git.diff",
    "git.diff-files",
    "git.diff-index",
    "git.diff-tree",
    "git.for-each-ref",
    "git.grep",
    "git.help",
    "git.log",
    "git.ls-files",
    "git.ls-tree",
    "git.merge-base",
    "git.name-rev",
    "git.patch-id",
    "git.range-diff",
    "git.rev-list",
    "git.rev-parse",
    "git.shortlog",
    "git.show",
    "git.show-branch",
    "git.show-index",
    "git.show-ref",
    "git.status",
    "git.stripspace",
    "git.var",
    "git.verify-commit",
    "git.verify-pack",
    "git.verify-tag",
    "git.version",
    "git.whatchanged",
];

/// What ships as a question, written out so that listings show it.
const ASKED: [&str; 6] = [
    "exec.nix.store.*",
    "exec.unparsed",
    "skill.read.packaged",
    "skill.read.project",
    "secret.use.*",
    "web.search",
];

/// What ships as refused.
const DENIED: [&str; 1] = ["sandbox.debug"];

/// Lists the shipped rows. Any project row that matches beats all of them.
#[must_use]
pub fn shipped() -> Vec<Rule> {
    let rows = |names: &'static [&'static str], decision| {
        names.iter().map(move |name| Rule::action(Pattern::from_static(name), decision))
    };
    rows(&ALLOWED, Decision::Allow)
        .chain(rows(&READ, Decision::Allow))
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
        for action in ["exec.builtin.cd", "exec.file.tmp.x", "exec.workspace.x", "git.status"] {
            check(action, Decision::Allow);
        }
        for action in ["git.clone", "git.pull", "git.unknown", "git.ls-remote", "git.send-email"] {
            check(action, Decision::Ask);
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
