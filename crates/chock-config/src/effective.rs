//! The settings in force, each with where it came from.

use std::fmt;

use chock_zon::Place;

use crate::audit::Sink;
use crate::budget::Budget;
use crate::denied::Denied;
use crate::limits::{Limits, Machine};
use crate::organisation::Organisation;
use crate::person::Person;
use crate::project::Project;

/// How many turns one run may have when nothing says so. Long tasks of real projects
/// took fewer; a model that is lost stops here.
pub const MAX_TURNS: u32 = 200;

/// Where a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The program's own default.
    Shipped,
    /// A default that follows from the machine's size.
    Machine,
    /// The person's `config.zon`.
    Person(Place),
    /// The project's `chock.zon`.
    Project(Place),
    /// A flag of the command line, with its hyphens.
    Flag(&'static str),
    /// The organisation's bundle.
    Organisation(Place),
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub origin: Origin,
}

/// What the command line says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--provider`
    pub provider: Option<String>,
    /// `--model`
    pub model: Option<String>,
    /// `--max-turns`
    pub max_turns: Option<u32>,
}

/// The settings in force.
#[derive(Debug, Clone)]
pub struct Effective {
    /// The person's configuration.
    pub person: Person,
    /// The project's, as far as it counts: whole when accepted, else
    /// [`Project::without_widening`].
    pub project: Project,
    /// The command line.
    pub flags: Flags,
    /// How many turns one run may have.
    pub max_turns: Sourced<u32>,
    /// How much a call may use.
    pub limits: Limits,
    /// What no tool may read: the project's rows, then the organisation's.
    pub denied: Vec<Sourced<Denied>>,
    /// What the organisation holds every project to.
    pub organisation: Option<Organisation>,
}

impl Effective {
    /// Folds what the files, the machine and the command line say.
    #[must_use]
    pub fn fold(person: Person, project: Project, flags: Flags, machine: Machine) -> Self {
        let limits = Limits::fold(&project.limits, &person.limits, machine);
        let denied = project.deny_read.iter();
        let denied = denied
            .map(|row| Sourced { value: row.value.clone(), origin: Origin::Project(row.place) });
        let denied = denied.collect();
        let max_turns = match (flags.max_turns, &person.defaults.max_turns) {
            (Some(value), _) => Sourced { value, origin: Origin::Flag("--max-turns") },
            (None, Some(turns)) => {
                Sourced { value: turns.value, origin: Origin::Person(turns.place) }
            }
            (None, None) => Sourced { value: MAX_TURNS, origin: Origin::Shipped },
        };
        Self { person, project, flags, max_turns, limits, denied, organisation: None }
    }

    /// Puts everything under an organisation's bundle: lower limits count, and its rows of
    /// `deny_read` come on top.
    #[must_use]
    pub fn under(mut self, organisation: Organisation, machine: Machine) -> Self {
        self.limits = self.limits.under(&organisation.limits, machine);
        self.denied.extend(organisation.deny_read.iter().map(|row| Sourced {
            value: row.value.clone(),
            origin: Origin::Organisation(row.place),
        }));
        self.organisation = Some(organisation);
        self
    }

    /// Where every session's log goes as well: the organisation's places, and the person's.
    #[must_use]
    pub fn sinks(&self) -> Vec<Sink> {
        let required = self.organisation.as_ref().map(|organisation| organisation.sinks.as_slice());
        crate::audit::union(required.unwrap_or_default(), &self.person.sinks)
    }

    /// What a session may spend, when anything says so.
    #[must_use]
    pub fn budget(&self) -> Option<&Budget> {
        let organisation = self.organisation.as_ref();
        let ceiling = organisation.and_then(|organisation| organisation.budget.as_ref());
        self.project.budget.as_ref().or(ceiling)
    }
}

impl fmt::Display for Origin {
    /// Writes `chock.zon:3:5`, `--model`, or words.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shipped => out.write_str("shipped default"),
            Self::Machine => out.write_str("size of this machine"),
            Self::Person(place) => write!(out, "config.zon:{}:{}", place.line, place.column),
            Self::Project(place) => write!(out, "chock.zon:{}:{}", place.line, place.column),
            Self::Flag(flag) => out.write_str(flag),
            Self::Organisation(place) => {
                write!(out, "org-policy.zon:{}:{}", place.line, place.column)
            }
        }
    }
}
