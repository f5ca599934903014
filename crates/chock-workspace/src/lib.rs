//! Makes the throwaway copy of a project and says what changed in it.
//!
//! A [`Project`] is a git repository on the host, or a directory without git. A [`Workspace`] is the copy of
//! it that one session works in: a base that never changes, an upper half for
//! what the session writes, and a git directory of its own. A [`Snapshot`] is an
//! immutable tree of the copy, and a [`ChangeSet`] is the difference of two trees.
//!
//! # Never knows
//!
//! Models, tools, or how the copy is confined.
//!
//! # Holds
//!
//! - The project is only read, until an act is permitted. A session changes no byte of its `.git`.
//! - Git programs run on the host with a git directory of Chock's own, so that no
//!   hook, filter or monitor of the project acts.
//! - Nothing of git that the agent wrote is opened on the host: the upper half is
//!   read as plain files, beneath its descriptor and without following links.
//! - One upper half has one owner at a time: [`Workspace`] holds its lock.
//!
//! # Start reading at
//!
//! [`Workspace::create`], then `scan.rs` for how the upper half is read.

mod bare;
mod base;
mod binds;
mod branch;
mod carrier;
mod carry;
mod change;
mod checkout;
mod checkpoint;
mod choice;
mod collect;
mod commit_text;
mod compare;
mod config_text;
mod copy;
mod covers;
mod directory;
mod dirty;
mod dock;
mod expand;
mod facts;
mod files;
mod flag;
mod forbidden;
mod fork;
mod git;
mod handback;
mod host;
mod ignored;
mod image;
mod index;
mod inside;
mod json;
mod keep;
mod landing;
mod layout;
mod leftovers;
mod links;
mod make;
mod merge;
mod names;
mod notes;
mod objects;
mod patch;
mod person;
mod pick;
mod plan;
mod progress;
mod project;
mod prune;
mod reading;
mod record;
mod refs;
mod remove;
mod rest;
mod scan;
mod shared;
mod shelf;
mod sign;
mod size;
mod snapshot;
mod split;
mod stand;
mod step;
mod store;
mod strange;
mod tracked;
mod tree;
mod upper;
mod whole;
mod wishes;
mod workspace;

pub use binds::{BOUND_MAX, Bind, BindMode, BindPath};
pub use change::{ChangeKind, ChangeSet, FileChange, Hunk, HunkId, Line, LineTag, Stat};
pub use choice::{Choice, Take};
pub use covers::{COVERED_MAX, CoverPath, CoverRow, Covered, Kind, WhenTracked};
pub use directory::forget_directory;
pub use dirty::Uncommitted;
pub use dock::{Dock, Docked, Landing};
pub use flag::{Carriage, Flag};
pub use fork::Forking;
pub use handback::{Carried, Direction, HandBack, Moved, MovedRef, apply};
pub use json::JsonBytes;
pub use landing::{
    COMMITS_MAX, Combination, Combined, Landed, LandingMode, OBJECTS_MAX, PACK_BYTES_MAX, Parked,
    UNPACKED_BYTES_MAX,
};
pub use layout::{
    Borrowed, Cover, Halves, Layout, Method, OBJECTS_INSIDE, Owner, ProjectGit, Shared, Sharing,
};
pub use pick::{PickFault, Picked};
pub use plan::{Named, Planned, Refused};
pub use progress::{Making, Progress};
pub use project::{Notice, Project, ProjectFault, Surroundings};
pub use prune::{BASES_BYTES_MAX, BASES_UNUSED_SECONDS_MAX, Pruned, prune_bases};
pub use reading::TreeFile;
pub use remove::remove_tree;
pub use rest::{Rest, Rested};
pub use shelf::{HandBackFault, Kept, Recovered, STEPS_BYTES_MAX, STEPS_MAX, Shelf};
pub use size::size_on_disk;
pub use snapshot::{
    NOTED_MAX, SNAPSHOT_BYTES_MAX, SNAPSHOT_DEPTH_MAX, SNAPSHOT_FILE_BYTES_MAX, SNAPSHOT_FILES_MAX,
    SkipReason, Skipped, Snapshot, SnapshotFault,
};
pub use stand::Stand;
pub use store::{Store, StoreFault};
pub use tree::{TreeId, TreeIdFault};
pub use workspace::{Opening, Start, Workspace, WorkspaceFault};
