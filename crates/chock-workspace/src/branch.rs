//! Moves refs and the index of a project with a hand-back of commits, one way or the other.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::carrier::Stopped;
use crate::git::{GitFault, Own};
use crate::step::{Side, Step};
use crate::{
    HandBackFault, LandingMode, Parked, Project, WorkspaceFault, bare, dirty, objects, remove,
    stand,
};

/// What a hand-back of commits does to a project's git, apart from objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GitMove {
    /// The ref that keeps the session's commits.
    pub(crate) kept: RefMove,
    /// The branch that they land on.
    pub(crate) branch: Option<RefMove>,
    pub(crate) mode: LandingMode,
    pub(crate) parked: Option<Parked>,
    /// How many commits there are.
    pub(crate) commits: u64,
    /// SHA-256 of the pack with their objects.
    pub(crate) digest: String,
}

/// What a ref names before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RefMove {
    pub(crate) name: String,
    pub(crate) before: Option<String>,
    pub(crate) after: String,
}

impl RefMove {
    pub(crate) fn at(&self, side: Side) -> Option<&str> {
        match side {
            Side::Before => self.before.as_deref(),
            Side::After => Some(&self.after),
        }
    }

    fn record(&self) -> Value {
        json!({ "ref": self.name, "old": self.before, "new": self.after })
    }
}

impl GitMove {
    pub(crate) fn record(&self) -> Value {
        json!({
            "kept": self.kept.record(),
            "branch": self.branch.as_ref().map(RefMove::record),
            "mode": self.mode,
            "parked": self.parked,
            "commits": self.commits,
            "pack": self.digest,
        })
    }

    /// Where a step keeps the pack.
    pub(crate) fn pack(steps: &Path, number: u64) -> PathBuf {
        Step::place(steps, number).join("pack")
    }
}

/// The git half of one hand-back on its way.
pub(crate) struct Mover<'a> {
    pub(crate) project: &'a Project,
    pub(crate) git: &'a GitMove,
    pub(crate) to: Side,
    pub(crate) pack: PathBuf,
}

impl Mover<'_> {
    /// Says what of the project's git is not as it has to be before the move.
    pub(crate) fn stands(&self) -> Result<(), Stopped> {
        let Some(branch) = &self.git.branch else { return self.is_at_start(&self.git.kept) };
        if self.to == Side::Before {
            self.is_at_start(&self.git.kept)?;
        }
        self.is_at_start(branch)?;
        let stop = |why: &str| Err(stop(&branch.name, why));
        let on = stand::branch(self.project).unwrap_or_default();
        if on != branch.name.as_bytes() {
            return stop("you are not on this branch");
        }
        if stand::is_unfinished(self.project.git_dir()) {
            return stop("a merge, rebase or the like is under way");
        }
        Ok(())
    }

    fn is_at_start(&self, moved: &RefMove) -> Result<(), Stopped> {
        let value = stand::value(self.project, &moved.name);
        let value = value.map_err(|fault| stop(&moved.name, fault.to_string()))?;
        if value.as_deref() == moved.at(self.to.other()) {
            return Ok(());
        }
        Err(stop(&moved.name, "it moved since"))
    }

    /// Brings the objects in, and moves the ref that keeps them.
    pub(crate) fn begin(&self) -> Result<(), Stopped> {
        self.stands()?;
        if self.to == Side::Before {
            return Ok(());
        }
        let name = &self.git.kept.name;
        let pack = fs::read(&self.pack).map_err(|fault| stop(name, fault.to_string()))?;
        let args = ["index-pack", "--strict", "--stdin"];
        self.change(&args, Some(&pack)).map_err(|fault| stop(name, fault.said()))?;
        self.move_ref(&self.git.kept, self.to)
    }

    /// Moves the index and then the branch, which is the moment that counts.
    pub(crate) fn finish(&self, instant: &mut dyn FnMut()) -> Result<(), Stopped> {
        if let Some(branch) = &self.git.branch {
            self.stands()?;
            instant();
            self.move_index(branch, self.to).map_err(|why| stop(&branch.name, why))?;
            instant();
            self.move_ref(branch, self.to)?;
            instant();
        }
        self.complete()
    }

    /// Does what is left once the move counts.
    pub(crate) fn complete(&self) -> Result<(), Stopped> {
        let kept = &self.git.kept;
        let value = stand::value(self.project, &kept.name);
        let value = value.map_err(|fault| stop(&kept.name, fault.to_string()))?;
        if value.as_deref() == kept.at(self.to) { Ok(()) } else { self.move_ref(kept, self.to) }
    }

    /// Whether the moment that counts has passed: the branch, or the ref that keeps the commits,
    /// is where it goes, or further on.
    pub(crate) fn has_passed(&self) -> Result<bool, HandBackFault> {
        let moved = self.git.branch.as_ref().unwrap_or(&self.git.kept);
        let value = stand::value(self.project, &moved.name)?;
        if value.as_deref() == moved.at(self.to) {
            return Ok(true);
        }
        let (Some(value), Side::After) = (value, self.to) else { return Ok(false) };
        let args = ["merge-base", "--is-ancestor", moved.after.as_str(), value.as_str()];
        Ok(self.project.git.look(self.project.root(), &args).is_ok())
    }

    /// Puts back what was moved, and returns the refs that somebody else moved meanwhile.
    pub(crate) fn back(&self) -> Vec<Vec<u8>> {
        let from = self.to.other();
        let mut others = Vec::new();
        if let Some(branch) = &self.git.branch {
            // Where it was not moved yet this changes nothing. A staged change of the person's stays.
            let _refused = self.move_index(branch, from);
        }
        if self.to == Side::After {
            let kept = &self.git.kept;
            let value = stand::value(self.project, &kept.name).ok().flatten();
            if value.as_deref() == kept.at(self.to)
                && value.as_deref() != kept.at(from)
                && self.move_ref(kept, from).is_err()
            {
                others.push(kept.name.clone().into_bytes());
            }
        }
        others
    }

    /// Compares and swaps a ref.
    fn move_ref(&self, moved: &RefMove, to: Side) -> Result<(), Stopped> {
        let nothing = "0".repeat(40);
        let (old, new) = (moved.at(to.other()).unwrap_or(&nothing), moved.at(to));
        let args = match new {
            Some(new) => {
                vec!["update-ref", "--no-deref", "-m", "chock apply", &moved.name, new, old]
            }
            None => vec!["update-ref", "--no-deref", "-d", &moved.name, old],
        };
        self.change(&args, None).map(drop).map_err(|_| stop(&moved.name, "it moved since"))
    }

    /// Makes the index that of the other commit. Entries that both have alike stay as they are, staged
    /// or not.
    ///
    /// Git looks at files here that are as young as the index, so it works in a git directory of
    /// Chock's, where no filter is known.
    fn move_index(&self, branch: &RefMove, to: Side) -> Result<(), String> {
        let (Some(from), Some(to)) = (branch.at(to.other()), branch.at(to)) else {
            return Ok(());
        };
        let place = self.pack.with_file_name("git");
        let moved = self.make_place(&place).map_err(|fault| fault.to_string()).and_then(|()| {
            let index = self.project.git_dir().join("index");
            let own = Own { git_dir: &place, work_tree: self.project.root(), index: &index };
            let args = ["-c", "core.splitIndex=false", "read-tree", "-i", "-m", from, to];
            let moved = self.project.git.own(&own, &args.map(OsStr::new), None);
            moved.map(drop).map_err(|fault| fault.said())
        });
        // What cannot be removed is removed by the next move of the step, or with it.
        let _left = remove::tree(&place);
        moved
    }

    fn make_place(&self, place: &Path) -> Result<(), WorkspaceFault> {
        remove::tree(place)?;
        let objects = objects::directories(&self.project.common_dir().join("objects"))?;
        bare::make(place, &objects)?;
        dirty::link_shared_index(self.project.git_dir(), place)
    }

    fn change(&self, args: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, GitFault> {
        let (name, email) = stand::identity(self.project);
        let who: (&OsStr, &OsStr) = (&name, &email);
        self.project.git.change(self.project.root(), who, args, input)
    }
}

fn stop(name: &str, why: impl Into<String>) -> Stopped {
    Stopped { path: name.as_bytes().to_vec(), why: why.into() }
}
