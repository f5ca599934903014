//! A directory of the base is renamed as any other.

use crate::job::Job;

fn a_tree(name: &'static str) -> Job {
    Job::new(name)
        .file("old/a.txt", "alpha\n")
        .file("old/deep/b.txt", "beta\n")
        .file("old/run.sh", "echo ran\n")
}

const LOOK: &str = "test ! -e old && cat new/a.txt new/deep/b.txt && sh new/run.sh";

#[test]
fn mv_renames_a_directory_of_the_base() {
    a_tree("mv").runs(&format!("mv old new && {LOOK}"), "ran");
}

#[test]
fn git_mv_renames_a_directory_of_the_base() {
    let script = "git mv old new && git commit -qm renamed && git status --porcelain && \
                  git show --stat --oneline -M HEAD | grep -q 'old => new'";
    a_tree("git mv").needs("git").runs(&format!("{script} && {LOOK}"), "ran");
}

#[test]
fn git_switches_between_branches_that_renamed_a_directory() {
    let script = "git switch -qc moved && git mv old new && git commit -qm moved && git switch -q main && \
                  test -d old && git switch -q moved && git rebase -q main && git merge -q main";
    a_tree("git mv and switch").needs("git").runs(&format!("{script} && {LOOK}"), "ran");
}

#[test]
fn python_renames_a_directory_of_the_base() {
    a_tree("os.rename")
        .needs("python3")
        .runs(&format!("python3 -c \"import os; os.rename('old', 'new')\" && {LOOK}"), "ran");
}

#[test]
fn node_renames_a_directory_of_the_base() {
    a_tree("renameSync")
        .needs("node")
        .runs(&format!("node -e \"require('fs').renameSync('old', 'new')\" && {LOOK}"), "ran");
}

#[test]
fn directories_of_the_session_are_renamed_as_outside() {
    let script = "mkdir -p fresh/deep && echo x > fresh/deep/x && \
                  python3 -c \"import os; os.rename('fresh', 'made')\" && cat made/deep/x && \
                  mv old/a.txt old/c.txt && git mv old/run.sh run.sh && sh run.sh";
    a_tree("rename").needs("python3").needs("git").runs(script, "ran");
}
