//! Reads the two configuration files, and asks what of the project's may widen.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chock_agent::Budget;
use chock_config::{
    Acceptances, Beneath, Effective, Flags, Identity, Issued, Limit, Links, Machine, Organisation,
    OrganisationBlock, Origin, Person, PersonPath, Project as Wishes, Remembered, Spanned,
    VariableName, Widening, read_text,
};
use chock_log::{ConfigBody, Session};
use chock_policy::{Action, Decision, Lineage, Ratchet, Request, Rule, Table, decide};
use chock_tools::Times;
use chock_tools::cage::{CageRules, Denied, Filter, Grant, Home, ToolchainRules};
use chock_workspace::Project;
use sha2::{Digest, Sha256};

use crate::exit::{Failure, causes};
use crate::program::Program;
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// The most bytes of a session's private home, which is in memory.
const HOME_BYTES: u64 = 2 << 30;

/// The organisation's bundle, in Chock's data directory and in records.
pub(crate) const ORGANISATION: &str = "org-policy.zon";

/// Everything that the files and the command line say, as far as it counts.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) effective: Effective,
    /// The rows in force.
    pub(crate) table: Table,
    /// The digest of the project's widening parts, when they were accepted.
    pub(crate) accepted: Option<String>,
    /// Stores of objects outside of the project that nobody accepted: no session has them.
    pub(crate) withheld: Vec<PathBuf>,
    /// SHA-256 of each file that was read, by name.
    pub(crate) files: BTreeMap<String, String>,
    /// Secrets that no record may hold.
    pub(crate) lent: Vec<String>,
}

/// How a person can accept what a project asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Consent<'a> {
    /// By answering at the terminal, if one is there.
    Ask,
    /// By having named the digest.
    Digest(&'a str),
    /// Not now: what is not accepted is only named.
    Tell,
}

impl Settings {
    /// Reads the files of this person and this project.
    pub(crate) fn read(
        program: &Program,
        project: &Project,
        flags: Flags,
        consent: Consent<'_>,
        terminal: &mut Terminal,
    ) -> Result<Self, Failure> {
        let strange = project.strange_objects().map_err(|fault| Failure::because(&fault))?;
        let project = project.root();
        let mut files = BTreeMap::new();
        let person = read_person(program, &mut files)?;
        let wishes = read_wishes(project, &mut files)?;
        let rows = chock_policy::shipped();
        let beneath = Beneath { rows: &rows, limits: &person.limits, machine: machine() };
        let widening = Widening::with_objects(wishes.widening(&beneath), &strange);
        let accepted = match &widening {
            Some(widening) => consented(program, project, widening, consent, terminal)?,
            None => false,
        };
        let counted = if accepted { wishes } else { wishes.without_widening(&beneath) };
        let withheld = if accepted { Vec::new() } else { strange };
        let remembered = remembered(program, project, &mut files)?;
        let organisation = read_organisation(program, &person, &mut files, terminal)?;
        let mut effective = Effective::fold(person, counted, flags, machine());
        if let Some(organisation) = organisation {
            let refused = organisation.refuses_budget(effective.project.budget.as_ref());
            if let Some(words) = refused {
                return Err(Failure::start(words));
            }
            effective = effective.under(organisation, machine());
        }
        let table = effective.table().remembering(remembered);
        Ok(Self {
            effective,
            table,
            accepted: widening.filter(|_| accepted).map(|widening| widening.digest),
            withheld,
            files,
            lent: Vec::new(),
        })
    }

    /// Reads what holds a person in every project: their own file, and the organisation's bundle.
    pub(crate) fn everywhere(program: &Program, terminal: &mut Terminal) -> Result<Self, Failure> {
        let mut files = BTreeMap::new();
        let person = read_person(program, &mut files)?;
        let organisation = read_organisation(program, &person, &mut files, terminal)?;
        let (wishes, flags) = (Wishes::default(), Flags::default());
        let mut effective = Effective::fold(person, wishes, flags, machine());
        if let Some(organisation) = organisation {
            effective = effective.under(organisation, machine());
        }
        let table = effective.table();
        let (withheld, lent) = (Vec::new(), Vec::new());
        Ok(Self { effective, table, accepted: None, withheld, files, lent })
    }

    /// Holds the shipped defaults, for a session without files.
    pub(crate) fn shipped() -> Self {
        let nothing = (Person::default(), Wishes::default(), Flags::default());
        Self {
            effective: Effective::fold(nothing.0, nothing.1, nothing.2, machine()),
            table: Table::defaults(),
            accepted: None,
            withheld: Vec::new(),
            files: BTreeMap::new(),
            lent: Vec::new(),
        }
    }

    /// Says what a call may reach, as far as rules and limits decide.
    pub(crate) fn cage_rules(
        &self,
        program: &Program,
        outputs: &Path,
        denied: Vec<Denied>,
    ) -> CageRules {
        let project = &self.effective.project;
        let named = |variable: &Spanned<VariableName>| OsString::from(variable.value.as_str());
        CageRules {
            limits: self.cage_limits(),
            filter: self.filter(),
            denied,
            variables: project.environment.iter().map(named).collect(),
            toolchains: self.toolchains(program),
            outputs: outputs.to_owned(),
            home: Home::Scratch { bytes: HOME_BYTES },
        }
    }

    /// Says what the rows of the table make of the system call filter.
    pub(crate) fn filter(&self) -> Filter {
        Filter { jit: self.grant("sandbox.jit"), debug: self.grant("sandbox.debug") }
    }

    /// Says whether a row of the table changes the system call filter.
    fn grant(&self, action: &'static str) -> Grant {
        if self.allows("run_command", action) { Grant::Allow } else { Grant::Deny }
    }

    /// Says whether the rows allow an action of a tool without a question.
    pub(crate) fn allows(&self, tool: &str, action: &'static str) -> bool {
        self.decision(tool, &Action::from_static(action)) == Decision::Allow
    }

    /// Says what the rows decide of an action of a tool.
    pub(crate) fn decision(&self, tool: &str, action: &Action) -> Decision {
        let request = Request { action, tool, model: "" };
        decide(&self.table, &Lineage::main(), &Ratchet::default(), &request).decision
    }

    /// Refuses a model that a row of the organisation or the project does not allow. One that no
    /// row names is allowed.
    pub(crate) fn permits_model(&self, provider: &str, model: &str) -> Result<(), Failure> {
        for labels in [&[provider][..], &[provider, model][..]] {
            let action = Action::below("provider", labels);
            let request = Request { action: &action, tool: "model.select", model };
            let rows = [
                self.table.ceiling("main", &request).map(|rule| (ORGANISATION, rule)),
                self.table.winner("main", &request).map(|(_, rule)| ("chock.zon", rule)),
            ];
            let refused = rows
                .into_iter()
                .flatten()
                .find(|(_, rule)| rule.action.is_some() && rule.decision != Decision::Allow);
            if let Some((file, rule)) = refused {
                return Err(Failure::start(format!(
                    "{file} does not allow the model {} of {}: {rule}",
                    visible_line(model),
                    visible_line(provider)
                )));
            }
        }
        Ok(())
    }

    /// Refuses a session that would have objects of another repository that nobody accepted.
    pub(crate) fn refuse_strange_objects(&self) -> Result<(), Failure> {
        if self.withheld.is_empty() {
            return Ok(());
        }
        let stores: Vec<_> = self.withheld.iter().map(|path| path.display().to_string()).collect();
        Err(Failure::start(format!(
            "the project's git takes objects from {}: a session could read all of them, so it does \
             not start before you accept that, as said above",
            stores.join(", ")
        )))
    }

    /// Says what the organisation's rows make of something that a person does themselves, with the
    /// row that says it. What no row names is allowed.
    pub(crate) fn ceiling(&self, action: &'static str) -> (Decision, Option<&Rule>) {
        let action = Action::from_static(action);
        let request = Request { action: &action, tool: "", model: "" };
        let row = self.table.ceiling("main", &request);
        (row.map_or(Decision::Allow, |row| row.decision), row)
    }

    /// Refuses to touch a session without the organisation's bundle that it was started under.
    pub(crate) fn still_bind(&self, session: &Session) -> Result<(), Failure> {
        let was_bound = |config: &ConfigBody| config.files.contains_key(ORGANISATION);
        if session.config.as_ref().is_some_and(was_bound) && !self.files.contains_key(ORGANISATION)
        {
            return Err(Failure::start(
                "this session was started under an organisation's bundle; name it with --org-bundle",
            ));
        }
        Ok(())
    }

    fn toolchains(&self, program: &Program) -> ToolchainRules {
        let chosen = &self.effective.person.toolchains;
        let home = program.places.home.as_deref();
        let resolve = |path: &PersonPath| path.resolve(&program.places.config, home);
        let is_path = |path: &&Spanned<PersonPath>| path.value.as_str().contains('/');
        let (paths, names): (Vec<_>, Vec<_>) = chosen.remove.iter().partition(is_path);
        ToolchainRules {
            add: chosen.add.iter().map(|path| resolve(&path.value)).collect(),
            remove: names.iter().map(|name| name.value.as_str().to_owned()).collect(),
            remove_paths: paths.iter().map(|path| resolve(&path.value)).collect(),
        }
    }

    /// Says how many replies one run may have.
    pub(crate) fn max_turns(&self) -> u64 {
        u64::from(self.effective.max_turns.value)
    }

    /// Says whether the models of a provider are shown pictures.
    pub(crate) fn takes_pictures(&self, provider: &str) -> bool {
        let row = self.effective.person.provider(provider);
        row.is_some_and(|row| row.capabilities.images)
    }

    /// Says what the session may use in all.
    pub(crate) fn budget(&self) -> Budget {
        let Some(budget) = self.effective.budget() else { return Budget::default() };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the amount was checked to be positive, and the cast saturates"
        )]
        let micros = |amount: f64| (amount * 1e6) as u64;
        let money = budget.cost.as_ref().map(|cost| (micros(cost.amount), cost.currency.clone()));
        Budget { money, tokens: budget.tokens }
    }

    /// Returns how long commands may take. A time that somebody wrote binds background tasks too.
    pub(crate) fn times(&self) -> Times {
        let time = self.effective.limits.get(Limit::Time);
        let written = Duration::from_secs(time.value);
        match time.origin {
            Origin::Shipped | Origin::Machine => Times::usual(),
            Origin::Person(_) | Origin::Project(_) | Origin::Flag(_) | Origin::Organisation(_) => {
                Times::usual().within(written)
            }
        }
    }

    /// Returns the limits of a cage, in which calls and background tasks run.
    fn cage_limits(&self) -> chock_sandbox::Limits {
        let limits = self.limits();
        let wall_time = limits.wall_time.max(self.times().task_max);
        chock_sandbox::Limits { wall_time, ..limits }
    }

    /// Returns the limits of a call.
    pub(crate) fn limits(&self) -> chock_sandbox::Limits {
        let limits = &self.effective.limits;
        let value = |limit| limits.get(limit).value;
        chock_sandbox::Limits {
            wall_time: limits.wall_time(),
            processes: value(Limit::Processes),
            memory_bytes: value(Limit::Memory),
            data_bytes: value(Limit::ProcessMemory),
            file_bytes: value(Limit::FileSize),
            open_files: value(Limit::OpenFiles),
            scratch_bytes: value(Limit::Scratch),
            shared_memory_bytes: value(Limit::SharedMemory),
            workspace_bytes: value(Limit::WorkspaceBytes),
            workspace_files: value(Limit::WorkspaceFiles),
            free_bytes: value(Limit::FreeSpace),
        }
    }
}

fn read_person(program: &Program, files: &mut BTreeMap<String, String>) -> Result<Person, Failure> {
    let path = program.places.config.join("config.zon");
    let text = read_text(&path, Links::Follow).map_err(|fault| Failure::because(&fault))?;
    let Some(text) = text else { return Ok(Person::default()) };
    files.insert("config.zon".to_owned(), digest(&text));
    let name = path.display().to_string();
    Person::read(&name, &text).map_err(|faults| Failure::start(faults.to_string()))
}

fn read_wishes(project: &Path, files: &mut BTreeMap<String, String>) -> Result<Wishes, Failure> {
    let text = read_text(&project.join("chock.zon"), Links::Refuse);
    let Some(text) = text.map_err(|fault| Failure::because(&fault))? else {
        return Ok(Wishes::default());
    };
    files.insert("chock.zon".to_owned(), digest(&text));
    Wishes::read("chock.zon", &text).map_err(|faults| Failure::start(faults.to_string()))
}

/// Reads the organisation's bundle, and warns of one that should have been replaced.
fn read_organisation(
    program: &Program,
    person: &Person,
    files: &mut BTreeMap<String, String>,
    terminal: &mut Terminal,
) -> Result<Option<Organisation>, Failure> {
    let named = program.org_bundle.as_ref();
    let usual = program.places.data.join(ORGANISATION);
    let block = OrganisationBlock {
        // One that was named must be there.
        required: person.organisation.required || named.is_some(),
        ..person.organisation.clone()
    };
    let opened = Organisation::open(named.unwrap_or(&usual), &block);
    let opened = opened.map_err(|fault| Failure::start(causes(&fault)))?;
    let Some((organisation, text)) = opened else { return Ok(None) };
    files.insert(ORGANISATION.to_owned(), digest(&text));
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default();
    if organisation.is_expired(now) {
        if named.is_some() {
            return Err(Failure::start("the organisation's bundle has expired; ask for a new one"));
        }
        terminal.say(
            Weight::Warn,
            "the organisation's bundle has expired, and binds all the same; ask for a new one",
        );
    }
    refuse_older(program, &organisation)?;
    Ok(Some(organisation))
}

/// Refuses a bundle that is older than one of the same issuer that was seen here before.
fn refuse_older(program: &Program, organisation: &Organisation) -> Result<(), Failure> {
    let store = program.places.data.join("issued.zon");
    let issued = Issued::read(&store).map_err(|fault| Failure::because(&fault))?;
    if let Some(newest) = issued.newer_than(organisation) {
        return Err(Failure::start(format!(
            "the organisation's bundle is older than one that was in force here: its issued_ms is \
             {}, and {newest} was seen; put the newest one back",
            organisation.issued_ms
        )));
    }
    if issued.is_news(organisation) {
        crate::house::make_private(&program.places.data)?;
        Issued::note(&store, organisation).map_err(|fault| Failure::because(&fault))?;
    }
    Ok(())
}

/// Reads what the person answered for good in this project.
fn remembered(
    program: &Program,
    project: &Path,
    files: &mut BTreeMap<String, String>,
) -> Result<Vec<Rule>, Failure> {
    let identity = Identity::of(project).map_err(|fault| Failure::because(&fault))?;
    let kept = Remembered::read(&program.places.answers());
    let kept = kept.map_err(|fault| Failure::because(&fault))?;
    let rules: Vec<_> = kept.rules(&identity).cloned().collect();
    if !rules.is_empty() {
        let text: String = rules.iter().map(|rule| format!("{rule}\n")).collect();
        files.insert("answers.zon".to_owned(), digest(&text));
    }
    Ok(rules)
}

pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Says whether what widens counts: it was accepted before, or is now.
fn consented(
    program: &Program,
    project: &Path,
    widening: &Widening,
    consent: Consent<'_>,
    terminal: &mut Terminal,
) -> Result<bool, Failure> {
    let store = program.places.accepted();
    let identity = Identity::of(project).map_err(|fault| Failure::because(&fault))?;
    let held = Acceptances::read(&store).map_err(|fault| Failure::because(&fault))?;
    if held.holds(&identity, &widening.digest) {
        return Ok(true);
    }
    let yes = match consent {
        Consent::Digest(digest) if digest == widening.digest => true,
        Consent::Digest(_) => {
            return Err(Failure::start(format!(
                "this is not the digest of what the project asks for now: {}",
                widening.digest
            )));
        }
        Consent::Ask => {
            tell(widening, terminal);
            terminal.can_ask && ask(terminal)
        }
        Consent::Tell => {
            tell(widening, terminal);
            false
        }
    };
    if yes {
        crate::house::make_private(&program.places.data)?;
        Acceptances::add(&store, &identity, &widening.digest)
            .map_err(|fault| Failure::start(causes(&fault)))?;
    } else {
        let words = format!(
            "these parts do not count until you accept them: chock run asks at a terminal, and it \
             and chock exec take --accept-project {}",
            widening.digest
        );
        terminal.say(Weight::Warn, &words);
    }
    Ok(yes)
}

/// Shows exactly what widens.
fn tell(widening: &Widening, terminal: &mut Terminal) {
    terminal.say(Weight::Warn, "The project asks for more than the defaults give:");
    for item in &widening.items {
        let place = match item.place.line {
            0 => ".git".to_owned(),
            line => format!("chock.zon:{line}"),
        };
        let line = format!("  {place}  {}", visible_line(&item.text));
        terminal.say(Weight::Plain, &line);
        terminal.say(Weight::Quiet, &format!("      {}", visible_line(&item.effect)));
    }
}

fn ask(terminal: &mut Terminal) -> bool {
    terminal
        .say_piece("Accept it for this project, until it changes? y = yes, anything else = no: ");
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line);
    read.is_ok() && matches!(line.trim(), "y" | "yes")
}

/// Measures the machine, for the limits that follow from its size.
fn machine() -> Machine {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory = rustix::system::sysinfo();
    Machine {
        processors: u32::try_from(processors).unwrap_or(u32::MAX),
        memory_bytes: memory.totalram.saturating_mul(u64::from(memory.mem_unit)),
    }
}
