//! How much a call may use: what is written, what the machine has, what is in force.

use std::time::Duration;

use chock_zon::Spanned;
use serde::Deserialize;

use crate::amount::{self, Amount};
use crate::effective::{Origin, Sourced};
use crate::source::Source;

/// One limit of a call or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Seconds a call may take.
    Time,
    /// Processes and threads of a call.
    Processes,
    /// Bytes of memory of the session.
    Memory,
    /// Bytes of private memory of one process.
    ProcessMemory,
    /// Bytes of the largest file a call may write.
    FileSize,
    /// Open files of one process.
    OpenFiles,
    /// Bytes of the session's `/tmp`.
    Scratch,
    /// Bytes of a call's `/dev/shm`.
    SharedMemory,
    /// Bytes that the session may keep on the disk.
    WorkspaceBytes,
    /// Files that the session may keep on the disk.
    WorkspaceFiles,
    /// Bytes that stay free on the disk.
    FreeSpace,
}

/// The size of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    /// Processors that may be used, at least 1.
    pub processors: u32,
    /// Memory in bytes.
    pub memory_bytes: u64,
}

/// The block `limits` of a file. What is absent is left to the next file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LimitsBlock {
    time_s: Option<Spanned<Amount>>,
    processes: Option<Spanned<Amount>>,
    memory: Option<Spanned<Amount>>,
    process_memory: Option<Spanned<Amount>>,
    file_size: Option<Spanned<Amount>>,
    open_files: Option<Spanned<Amount>>,
    scratch: Option<Spanned<Amount>>,
    shared_memory: Option<Spanned<Amount>>,
    workspace_bytes: Option<Spanned<Amount>>,
    workspace_files: Option<Spanned<Amount>>,
    free_space: Option<Spanned<Amount>>,
}

/// A limit that a block puts above what it would be without it.
pub(crate) struct Above<'a> {
    pub(crate) limit: Limit,
    pub(crate) amount: &'a Spanned<Amount>,
    from: u64,
    to: u64,
}

impl Above<'_> {
    /// Says what changes.
    pub(crate) fn effect(&self) -> String {
        let Self { limit, from, to, .. } = self;
        let verb = if *limit == Limit::FreeSpace { "lowers" } else { "raises" };
        format!("{verb} `{}` from {} to {}", limit.name(), limit.words(*from), limit.words(*to))
    }
}

/// The limits in force, each with where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits([Sourced<u64>; 11]);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const TIB: u64 = 1 << 40;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Count,
    Bytes,
}

impl Limit {
    /// Every limit, in the order they are listed.
    pub const ALL: [Self; 11] = [
        Self::Time,
        Self::Processes,
        Self::Memory,
        Self::ProcessMemory,
        Self::FileSize,
        Self::OpenFiles,
        Self::Scratch,
        Self::SharedMemory,
        Self::WorkspaceBytes,
        Self::WorkspaceFiles,
        Self::FreeSpace,
    ];

    /// The limit's name in a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Time => "time_s",
            Self::Processes => "processes",
            Self::Memory => "memory",
            Self::ProcessMemory => "process_memory",
            Self::FileSize => "file_size",
            Self::OpenFiles => "open_files",
            Self::Scratch => "scratch",
            Self::SharedMemory => "shared_memory",
            Self::WorkspaceBytes => "workspace_bytes",
            Self::WorkspaceFiles => "workspace_files",
            Self::FreeSpace => "free_space",
        }
    }

    fn unit(self) -> Unit {
        match self {
            Self::Time => Unit::Seconds,
            Self::Processes | Self::OpenFiles | Self::WorkspaceFiles => Unit::Count,
            Self::Memory
            | Self::ProcessMemory
            | Self::FileSize
            | Self::Scratch
            | Self::SharedMemory
            | Self::WorkspaceBytes
            | Self::FreeSpace => Unit::Bytes,
        }
    }

    /// The least and the most that may be written. Below the least not even a shell runs.
    fn bounds(self) -> (u64, u64) {
        match self {
            Self::Time => (1, 24 * 60 * 60),
            Self::Processes => (8, 1 << 20),
            Self::Memory | Self::ProcessMemory => (64 * MIB, 64 * TIB),
            Self::FileSize => (64 * KIB, 64 * TIB),
            Self::OpenFiles => (32, 1 << 20),
            Self::Scratch | Self::SharedMemory => (MIB, TIB),
            Self::WorkspaceBytes => (MIB, 64 * TIB),
            Self::WorkspaceFiles => (64, 1 << 32),
            Self::FreeSpace => (16 * MIB, 64 * TIB),
        }
    }

    /// What a percentage is a part of, when the machine has it.
    fn whole(self, machine: Machine) -> Option<u64> {
        match self {
            Self::Processes => Some(self.default(machine)),
            Self::Memory | Self::ProcessMemory | Self::Scratch | Self::SharedMemory => {
                Some(machine.memory_bytes)
            }
            Self::Time
            | Self::FileSize
            | Self::OpenFiles
            | Self::WorkspaceBytes
            | Self::WorkspaceFiles
            | Self::FreeSpace => None,
        }
    }

    /// What fits a machine when no file says anything.
    ///
    /// A machine with 8 processors and 16 GiB gets 256 processes and 2 GiB, one with 128
    /// processors 1024: processes grow with the square root of the processors, since a
    /// build's own workers do and its helpers do not. A small machine keeps half its memory.
    fn default(self, machine: Machine) -> u64 {
        match self {
            Self::Time => 600,
            Self::Processes => {
                (64 * 64 * u64::from(machine.processors) * 2).isqrt().clamp(256, 4096)
            }
            Self::Memory => {
                let half = (machine.memory_bytes / 2).min(2 * GIB);
                (machine.memory_bytes / 8).max(half).max(self.bounds().0)
            }
            Self::ProcessMemory => 16 * GIB,
            Self::FileSize => 4 * GIB,
            Self::OpenFiles => 4096,
            // A file in memory counts as memory, so that it may not fill all of it.
            Self::Scratch => (Self::Memory.default(machine) / 2).min(GIB),
            Self::SharedMemory => (Self::Memory.default(machine) / 4).min(256 * MIB),
            Self::WorkspaceBytes => 32 * GIB,
            Self::WorkspaceFiles => 1_000_000,
            Self::FreeSpace => 512 * MIB,
        }
    }

    /// The limit that `amount` says on `machine`.
    fn resolve(self, amount: Amount, machine: Machine) -> u64 {
        let (least, most) = self.bounds();
        match amount {
            Amount::Number(number) | Amount::Bytes(number) => number,
            Amount::Percent(percent) => {
                let whole = u128::from(self.whole(machine).unwrap_or(0));
                let part = whole * u128::from(percent) / 100;
                u64::try_from(part).unwrap_or(most).clamp(least, most)
            }
        }
    }

    /// Whether a call has more with the limit at `to` than at `from`.
    fn gives_more(self, from: u64, to: u64) -> bool {
        match self {
            Self::FreeSpace => to < from,
            Self::Time
            | Self::Processes
            | Self::Memory
            | Self::ProcessMemory
            | Self::FileSize
            | Self::OpenFiles
            | Self::Scratch
            | Self::SharedMemory
            | Self::WorkspaceBytes
            | Self::WorkspaceFiles => to > from,
        }
    }

    /// The limit's value in words.
    pub(crate) fn words(self, value: u64) -> String {
        match self.unit() {
            Unit::Seconds => format!("{value} s"),
            Unit::Count => value.to_string(),
            Unit::Bytes => amount::size(value),
        }
    }

    /// Why `amount` cannot be this limit.
    fn refusal(self, amount: Amount) -> Option<String> {
        let name = self.name();
        let number = match (amount, self.unit()) {
            (Amount::Number(number), _) | (Amount::Bytes(number), Unit::Bytes) => number,
            (Amount::Bytes(_), Unit::Seconds | Unit::Count) => {
                return Some(format!("`{name}` is a number and not a size"));
            }
            (Amount::Percent(_), _) => {
                let machine = Machine { processors: 1, memory_bytes: GIB };
                let refused = self.whole(machine).is_none();
                return refused.then(|| format!("`{name}` is not a part of what the machine has"));
            }
        };
        let (least, most) = self.bounds();
        let (least_words, most_words) = (self.words(least), self.words(most));
        (!(least..=most).contains(&number))
            .then(|| format!("`{name}` is at least {least_words} and at most {most_words}"))
    }
}

impl LimitsBlock {
    /// What the block says about a limit.
    #[must_use]
    pub fn get(&self, limit: Limit) -> Option<&Spanned<Amount>> {
        match limit {
            Limit::Time => self.time_s.as_ref(),
            Limit::Processes => self.processes.as_ref(),
            Limit::Memory => self.memory.as_ref(),
            Limit::ProcessMemory => self.process_memory.as_ref(),
            Limit::FileSize => self.file_size.as_ref(),
            Limit::OpenFiles => self.open_files.as_ref(),
            Limit::Scratch => self.scratch.as_ref(),
            Limit::SharedMemory => self.shared_memory.as_ref(),
            Limit::WorkspaceBytes => self.workspace_bytes.as_ref(),
            Limit::WorkspaceFiles => self.workspace_files.as_ref(),
            Limit::FreeSpace => self.free_space.as_ref(),
        }
    }

    /// What of the block gives a call more than it would have without it: each limit with what it
    /// would be, and what the block makes of it.
    pub(crate) fn above(&self, beneath: &Self, machine: Machine) -> Vec<Above<'_>> {
        let without = Limits::fold(&Self::default(), beneath, machine);
        let above = |limit: Limit| {
            let amount = self.get(limit)?;
            let (from, to) = (without.get(limit).value, limit.resolve(amount.value, machine));
            limit.gives_more(from, to).then_some(Above { limit, amount, from, to })
        };
        Limit::ALL.into_iter().filter_map(above).collect()
    }

    /// The block without what gives a call more.
    pub(crate) fn held(&self, beneath: &Self, machine: Machine) -> Self {
        let mut held = self.clone();
        for Above { limit, .. } in self.above(beneath, machine) {
            *held.place_of(limit) = None;
        }
        held
    }

    fn place_of(&mut self, limit: Limit) -> &mut Option<Spanned<Amount>> {
        match limit {
            Limit::Time => &mut self.time_s,
            Limit::Processes => &mut self.processes,
            Limit::Memory => &mut self.memory,
            Limit::ProcessMemory => &mut self.process_memory,
            Limit::FileSize => &mut self.file_size,
            Limit::OpenFiles => &mut self.open_files,
            Limit::Scratch => &mut self.scratch,
            Limit::SharedMemory => &mut self.shared_memory,
            Limit::WorkspaceBytes => &mut self.workspace_bytes,
            Limit::WorkspaceFiles => &mut self.workspace_files,
            Limit::FreeSpace => &mut self.free_space,
        }
    }

    /// Notes every amount that cannot be.
    pub(crate) fn check(self, source: &mut Source<'_>) -> Self {
        for limit in Limit::ALL {
            if let Some(amount) = self.get(limit)
                && let Some(refusal) = limit.refusal(amount.value)
            {
                source.refuse(amount.place, refusal);
            }
        }
        self
    }
}

impl Limits {
    /// Folds what the files say: the project's word over the person's, and that over
    /// what fits the machine.
    #[must_use]
    pub fn fold(project: &LimitsBlock, person: &LimitsBlock, machine: Machine) -> Self {
        Self(Limit::ALL.map(|limit| {
            let written = |block: &LimitsBlock, origin: fn(chock_zon::Place) -> Origin| {
                let amount = block.get(limit)?;
                let value = limit.resolve(amount.value, machine);
                Some(Sourced { value, origin: origin(amount.place) })
            };
            written(project, Origin::Project)
                .or_else(|| written(person, Origin::Person))
                .unwrap_or_else(|| Sourced {
                    value: limit.default(machine),
                    origin: Origin::Machine,
                })
        }))
    }

    /// Holds each limit to what an organisation says, where that is lower.
    #[must_use]
    pub(crate) fn under(mut self, organisation: &LimitsBlock, machine: Machine) -> Self {
        for limit in Limit::ALL {
            let Some(amount) = organisation.get(limit) else { continue };
            let value = limit.resolve(amount.value, machine);
            let held = &mut self.0[limit as usize];
            if value < held.value {
                *held = Sourced { value, origin: Origin::Organisation(amount.place) };
            }
        }
        self
    }

    /// A limit in its own unit: seconds, a count, or bytes.
    #[must_use]
    pub fn get(&self, limit: Limit) -> Sourced<u64> {
        // The order of the variants is that of `Limit::ALL`; a test holds it.
        self.0[limit as usize].clone()
    }

    /// How long a call may take.
    #[must_use]
    pub fn wall_time(&self) -> Duration {
        Duration::from_secs(self.get(Limit::Time).value)
    }
}
