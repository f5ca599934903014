//! The start of a session, to the end of its first call, in a large project whose base is there.

use anyhow::Result;

use super::files;
use super::ground::Ground;
use super::measure::{Measured, alternate, timed};

pub(super) fn session_start(ground: &Ground) -> Result<Measured> {
    let project = ground.large()?;
    let worktree = ground.directory("worktrees")?.join("one");
    // The first session makes the base; it is the round that does not count.
    let ours = || timed(ground.chock()?.args(["exec", "--", "true"]).current_dir(project));
    let theirs = || {
        let mut add = files::git_command(project);
        let time = timed(add.args(["worktree", "add", "--detach"]).arg(&worktree))?;
        timed(files::git_command(project).args(["worktree", "remove", "--force"]).arg(&worktree))?;
        Ok(time)
    };
    alternate(5, ours, theirs)
}

/// The same in a project of five times the files.
pub(super) fn start_of_huge(ground: &Ground) -> Result<Measured> {
    let (huge, large) = (ground.huge()?, ground.large()?);
    let start = |project| timed(ground.chock()?.args(["exec", "--", "true"]).current_dir(project));
    alternate(5, || start(huge), || start(large))
}
