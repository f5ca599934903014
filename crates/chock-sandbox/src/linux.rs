//! The Linux driver: a keeper for each session, a cell for each call.

mod call;
mod capabilities;
mod cell;
mod cgroup;
mod command;
mod devices;
mod disk;
mod fail;
mod filter;
mod ids;
mod keeper;
mod landlock;
mod machine;
mod masks;
mod mounts;
mod order;
mod parent;
mod plan;
mod proof;
mod renames;
mod rlimits;
mod stub;
mod survey;
mod sys;
mod talk;
mod tree;
mod wire;

pub(crate) use call::{Held, run};
pub(crate) use parent::Keeper;
pub(crate) use stub::keep;
pub(crate) use survey::survey;
