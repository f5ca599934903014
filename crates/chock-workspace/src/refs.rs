//! HEAD and the refs of a project, as git tells them.

use std::path::Path;

use crate::git::{self, Git, GitFault};
use crate::{Project, WorkspaceFault};

/// Refs that stay outside: the person's own, and what changes how objects read.
const LEFT_OUT: [&[u8]; 6] = [
    b"refs/stash",
    b"refs/replace/",
    b"refs/chock/",
    b"refs/bisect/",
    b"refs/worktree/",
    b"refs/rewritten/",
];

/// HEAD and refs at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Refs {
    /// The content of `HEAD`: `ref: refs/heads/main`, or the id of a commit.
    pub(crate) head: Vec<u8>,
    /// The commit that HEAD leads to. `None` before the first one.
    pub(crate) commit: Option<String>,
    /// Each ref: its name, and the id or the ref it names.
    pub(crate) rows: Vec<(Vec<u8>, Target)>,
}

/// What a ref names.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    /// An object.
    Id(Vec<u8>),
    /// Another ref.
    Ref(Vec<u8>),
}

/// Reads HEAD and the refs of `project`.
pub(crate) fn read(project: &Project) -> Result<Refs, WorkspaceFault> {
    read_in(&project.git, project.root()).map_err(|fault| WorkspaceFault::Git {
        what: "read HEAD and the refs of the project",
        said: fault.said(),
    })
}

fn read_in(git: &Git, root: &Path) -> Result<Refs, GitFault> {
    let format = "--format=%(objectname) %(refname) %(symref)";
    let rows = parse(&git.look(root, &["for-each-ref", format])?);
    let (head, commit) = match git.look(root, &["symbolic-ref", "--quiet", "HEAD"]) {
        Ok(name) => {
            let name = git::line(name);
            let commit = rows.iter().find_map(|(row, target)| match target {
                Target::Id(id) if *row == name => Some(text(id)),
                Target::Id(_) | Target::Ref(_) => None,
            });
            ([b"ref: ", name.as_slice()].concat(), commit)
        }
        Err(GitFault::Failed(failure)) if failure.status == Some(1) => {
            let id = git::line(git.look(root, &["rev-parse", "--verify", "HEAD^{commit}"])?);
            (id.clone(), Some(text(&id)))
        }
        Err(fault) => return Err(fault),
    };
    Ok(Refs { head, commit, rows })
}

fn text(id: &[u8]) -> String {
    String::from_utf8_lossy(id).into_owned()
}

/// A ref's name holds neither a space nor a line feed.
fn parse(answer: &[u8]) -> Vec<(Vec<u8>, Target)> {
    let lines = answer.split(|byte| *byte == b'\n');
    let rows = lines.filter_map(|line| {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let (id, name) = (words.next()?, words.next()?);
        if LEFT_OUT.iter().any(|out| name.starts_with(out)) {
            return None;
        }
        let target = match words.next() {
            Some(symref) if !symref.is_empty() => Target::Ref(symref.to_vec()),
            Some(_) | None => Target::Id(id.to_vec()),
        };
        Some((name.to_vec(), target))
    });
    rows.collect()
}
