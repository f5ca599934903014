//! `chock context`: what fills the conversation of a session.

use std::path::PathBuf;

use chock_agent::Fill;
use chock_config::Flags;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::found;
use crate::program::Program;
use crate::settings::{Consent, Settings};
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// How wide a bar of the whole is, in columns.
const BAR: u64 = 30;

/// Show what fills the conversation of a session
///
/// Tokens of the parts are estimated from their text; those of the last request are the
/// provider's count.
#[derive(Debug, clap::Args)]
pub(crate) struct FillArgs {
    /// The session's id or the end of it; the newest if there is none
    session: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &FillArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let directory = program.places.sessions(project.root());
    let listed = found::session(&directory, args.session.as_deref())?.read()?;
    let session = &listed.session;
    let fill = Fill::of(session);
    let flags = Flags::default();
    let settings = Settings::read(program, &project, flags, Consent::Tell, terminal)?;
    let provider = session.answering.as_ref().map(|(provider, _)| provider.as_str());
    let mut providers = settings.effective.person.providers.iter();
    let row = providers.find(|row| Some(row.name.as_str()) == provider);
    let learned = session.answering.as_ref().and_then(|model| session.learned.get(model));
    let limit = row.and_then(|row| row.context_tokens);
    let limit = limit.or(learned.and_then(|learned| learned.context_tokens));
    // The provider counts the system prompt and the tools as well.
    let counted = session.last_input;
    let rows = rows(&fill);
    if args.json {
        let parts: serde_json::Map<_, _> =
            rows.iter().map(|(name, bytes)| (name.clone(), json!(Fill::tokens(*bytes)))).collect();
        let object = json!({
            "session": listed.found.id.to_string(), "limit": limit, "last_request": counted,
            "parts": parts,
        });
        terminal.answer(&object.to_string())?;
        return Ok(Exit::Finished);
    }
    let whole = fill.bytes().max(1);
    for (name, bytes) in rows.iter().filter(|(_, bytes)| *bytes > 0) {
        let columns = usize::try_from((bytes * BAR).div_ceil(whole)).unwrap_or_default();
        let tokens = Fill::tokens(*bytes);
        terminal.answer(&format!(
            "{tokens:>9}  {:<28} {}",
            visible_line(name),
            "█".repeat(columns)
        ))?;
    }
    terminal.answer(&format!("{:>9}  all of it, estimated", Fill::tokens(fill.bytes())))?;
    if let Some(counted) = counted {
        let words =
            "the last request, as the provider counted it, system prompt and tools included";
        terminal.answer(&format!("{counted:>9}  {words}"))?;
    }
    match limit {
        Some(limit) => terminal.answer(&format!("{limit:>9}  what the model takes"))?,
        None => terminal.say(
            Weight::Quiet,
            "what the model takes is not known here; say `.context_tokens` in its row of config.zon",
        ),
    }
    Ok(Exit::Finished)
}

/// Lists the parts by size, largest first.
fn rows(fill: &Fill) -> Vec<(String, u64)> {
    let mut rows = vec![
        ("words of people".to_owned(), fill.people),
        ("words of chock".to_owned(), fill.chock),
        ("summary of earlier turns".to_owned(), fill.summary),
        ("words of the model".to_owned(), fill.replies),
        ("reasoning".to_owned(), fill.thinking),
        ("calls".to_owned(), fill.calls),
        ("pictures".to_owned(), fill.pictures),
    ];
    rows.extend(fill.results.iter().map(|(tool, bytes)| (format!("results of {tool}"), *bytes)));
    rows.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    rows
}
