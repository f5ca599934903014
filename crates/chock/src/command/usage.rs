//! `chock usage`: what sessions used, in tokens and money.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chock_log::{Cost, Event, Log, Record, Seq, Tokens, UsageBody};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, causes};
use crate::found::{self, Found};
use crate::program::Program;
use crate::show::thousands;
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// Show what sessions used, in tokens and money
///
/// Of a fork only what it used itself counts: what came before is its parent's.
#[derive(Debug, clap::Args)]
pub(crate) struct UsageArgs {
    /// A session's id or the end of it; every session of the project if there is none
    session: Option<String>,

    /// What to add up by
    #[arg(long, value_enum, default_value_t)]
    by: By,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

/// What usage is added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
enum By {
    /// The model that answered
    #[default]
    Model,
    /// The day, in the machine's time zone
    Day,
    /// The session
    Session,
}

/// What was used under one heading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sum {
    requests: u64,
    tokens: Tokens,
    /// Requests whose tokens nobody told.
    uncounted: u64,
    /// Millionths, by currency.
    spent: BTreeMap<String, u64>,
    /// Requests whose price nobody told.
    unpriced: u64,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &UsageArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let directory = program.places.sessions(project.root());
    let all = match &args.session {
        Some(name) => vec![found::session(&directory, Some(name))?],
        None => found::sessions(&directory),
    };
    let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
    for found in &all {
        if let Err(why) = add(found, args.by, &mut sums) {
            terminal.say(Weight::Warn, &format!("{} is not counted: {why}", found.id));
        }
    }
    let mut whole = Sum::default();
    sums.values().for_each(|sum| whole.merge(sum));
    if args.json {
        let parts: serde_json::Map<_, _> =
            sums.iter().map(|(name, sum)| (name.clone(), sum.as_json())).collect();
        terminal.answer(&json!({ "total": whole.as_json(), "parts": parts }).to_string())?;
        return Ok(Exit::Finished);
    }
    for (name, sum) in &sums {
        terminal.answer(&format!("{:<30} {}", visible_line(name), sum.words()))?;
    }
    if sums.len() != 1 {
        terminal.answer(&format!("{:<30} {}", "all", whole.words()))?;
    }
    Ok(Exit::Finished)
}

/// Adds what one session used.
fn add(found: &Found, by: By, sums: &mut BTreeMap<String, Sum>) -> Result<(), String> {
    // The records that a fork took over stand behind its first two.
    let taken_over = Log::fork_of(&found.log).map_or(Seq(0), |fork| Seq(fork.carried + 2));
    let mut each = |record: Record| {
        let Event::Usage(usage) = &record.event else { return };
        if record.seq <= taken_over {
            return;
        }
        let name = match by {
            By::Model => usage.model.clone(),
            By::Session => found.id.to_string(),
            By::Day => {
                let zone = jiff::tz::TimeZone::system();
                zone.to_datetime(record.time).date().to_string()
            }
        };
        sums.entry(name).or_default().add(usage);
    };
    let verdict = Log::records(&found.log, &mut each).map_err(|fault| causes(&fault))?;
    if verdict.is_damage() { Err(verdict.to_string()) } else { Ok(()) }
}

impl Sum {
    fn add(&mut self, usage: &UsageBody) {
        self.requests += 1;
        match &usage.tokens {
            Some(tokens) => self.tokens.add(tokens),
            None => self.uncounted += 1,
        }
        match &usage.cost {
            Cost::Priced { micros, currency } => {
                *self.spent.entry(currency.clone()).or_default() += micros;
            }
            Cost::Free => {}
            Cost::Unknown => self.unpriced += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.tokens.add(&other.tokens);
        self.uncounted += other.uncounted;
        self.unpriced += other.unpriced;
        for (currency, micros) in &other.spent {
            *self.spent.entry(currency.clone()).or_default() += micros;
        }
    }

    /// Priced, free and unknown are three answers.
    fn words(&self) -> String {
        let input = self.tokens.input + self.tokens.cache_read + self.tokens.cache_write;
        let requests = if self.requests == 1 { "request" } else { "requests" };
        let mut words = vec![format!(
            "{} {requests} · {} tokens in ({} from the cache), {} out",
            self.requests,
            thousands(input),
            thousands(self.tokens.cache_read),
            thousands(self.tokens.output)
        )];
        if self.uncounted > 0 {
            words.push(format!("tokens of {} not told", self.uncounted));
        }
        words.extend(self.spent.iter().map(|(currency, micros)| {
            format!("{:.4} {}", *micros as f64 / 1e6, visible_line(currency))
        }));
        if self.unpriced > 0 {
            words.push(format!("cost of {} unknown", self.unpriced));
        } else if self.spent.is_empty() {
            words.push("free".to_owned());
        }
        words.join(" · ")
    }

    fn as_json(&self) -> Value {
        json!({
            "requests": self.requests, "tokens": self.tokens, "uncounted": self.uncounted,
            "spent_micros": self.spent, "unpriced": self.unpriced,
        })
    }
}
