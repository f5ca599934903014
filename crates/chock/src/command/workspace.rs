//! `chock workspace`: what the copies, the hand-backs and the bases take of the disk.

use std::fs;
use std::path::PathBuf;

use chock_workspace::{Project, Shelf, forget_directory, prune_bases, remove_tree, size_on_disk};
use serde_json::json;

use super::exec::ExecArgs;
use super::sessions::remove::{Desk, Doomed, bytes, consent};
use super::sessions::seal::hold;
use crate::exit::{Exit, Failure};
use crate::found;
use crate::handback;
use crate::program::Program;
use crate::settings::Settings;
use crate::terminal::{Terminal, Weight};

/// Show what is kept of sessions and hand-backs, and clear it
#[derive(Debug, clap::Args)]
pub(crate) struct WorkspaceArgs {
    #[command(subcommand)]
    act: Option<Act>,

    /// Print one JSON object a line
    #[arg(long, global = true)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, global = true, value_name = "DIRECTORY")]
    project: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// List the copies, the hand-backs and the bases
    List,
    /// Open a shell in the copy of a session, in the cage
    Shell {
        /// The session's id or the end of it; the newest if there is none
        session: Option<String>,
    },
    /// Remove the copy of a session, what undo needs, or bases; logs stay
    Clear(ClearArgs),
}

#[derive(Debug, clap::Args)]
struct ClearArgs {
    /// The session's id or the end of it: its work can then not be reviewed or gone on with
    #[arg(required_unless_present_any = ["hand_backs", "executions", "bases"])]
    session: Option<String>,

    /// Remove the logs of every chock exec of the project, and the copies that --keep kept
    #[arg(long)]
    executions: bool,

    /// Forget every hand-back of the project: none can then be undone
    #[arg(long)]
    hand_backs: bool,

    /// Remove the bases that no session uses now; each is made again when it is needed
    #[arg(long)]
    bases: bool,

    /// Remove without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &WorkspaceArgs,
) -> Result<Exit, Failure> {
    match &args.act {
        None | Some(Act::List) => list(program, terminal, args),
        Some(Act::Shell { session }) => shell(program, terminal, (args, session.as_deref())),
        Some(Act::Clear(words)) => clear(program, terminal, (args, words)),
    }
}

/// Opens the cage's shell in the copy of a session, as `chock exec --session` does.
fn shell(
    program: &Program,
    terminal: &mut Terminal,
    (args, session): (&WorkspaceArgs, Option<&str>),
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let found = found::session(&program.places.sessions(project.root()), session)?;
    let words = format!("a shell in the copy of session {}; what it changes is in it", found.id);
    terminal.say(Weight::Quiet, &words);
    let exec = ExecArgs::shell_in(found.id.to_string(), args.project.clone());
    super::exec::run(program, terminal, &exec)
}

fn list(program: &Program, terminal: &mut Terminal, args: &WorkspaceArgs) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let mut total = 0;
    for found in found::sessions(&sessions) {
        let work = found.work();
        if !work.exists() {
            continue;
        }
        let (size, running) = (size_on_disk(&work).unwrap_or(0), handback::is_running(&found));
        total += size;
        if args.json {
            let row = json!({
                "kind": "workspace", "session": found.id.to_string(), "bytes": size, "running": running,
            });
            terminal.answer(&row.to_string())?;
        } else {
            let state = if running { "  running" } else { "" };
            terminal.answer(&format!("workspace  {}  {:>10}{state}", found.id, bytes(size)))?;
        }
    }
    total += list_executions(program, terminal, (args, &project))?;
    let kept = Shelf::list_in(&handback::place(&sessions));
    for step in kept.map_err(|fault| Failure::because(&fault))? {
        total += step.bytes;
        if args.json {
            let row = json!({
                "kind": "hand_back", "number": step.number, "session": step.session,
                "files": step.files, "bytes": step.bytes, "undone": step.undone,
            });
            terminal.answer(&row.to_string())?;
        } else {
            let state = if step.undone { "  undone" } else { "" };
            let (session, files) = (&step.session, step.files);
            let size = bytes(step.bytes);
            terminal.answer(&format!("hand-back  {session}  {size:>10}  {files} files{state}"))?;
        }
    }
    total += list_directory(program, terminal, (args, &project))?;
    let bases = size_on_disk(&program.places.cache.join("bases")).unwrap_or(0);
    if args.json {
        terminal.answer(&json!({ "kind": "bases", "bytes": bases }).to_string())?;
    } else {
        let (total, bases) = (bytes(total), bytes(bases));
        let words = format!("{total} here, and {bases} of bases that all projects share");
        terminal.say(Weight::Quiet, &words);
    }
    Ok(Exit::Finished)
}

/// Lists what is kept of a project without git. Returns its bytes.
fn list_directory(
    program: &Program,
    terminal: &mut Terminal,
    (args, project): (&WorkspaceArgs, &Project),
) -> Result<u64, Failure> {
    let places =
        [program.places.sessions(project.root()), program.places.executions(project.root())];
    let sizes = places.iter().map(|place| size_on_disk(&place.join("directory")).unwrap_or(0));
    let kept = sizes.sum();
    if kept > 0 && args.json {
        terminal.answer(&json!({ "kind": "directory", "bytes": kept }).to_string())?;
    } else if kept > 0 {
        let what = "the project, without git";
        terminal.answer(&format!("directory  {what:<26}  {:>10}", bytes(kept)))?;
    }
    Ok(kept)
}

/// Lists the copies that `chock exec --keep` kept, and counts the logs. Returns the bytes of both.
fn list_executions(
    program: &Program,
    terminal: &mut Terminal,
    (args, project): (&WorkspaceArgs, &Project),
) -> Result<u64, Failure> {
    let all = found::sessions(&program.places.executions(project.root()));
    let mut total = 0;
    for found in &all {
        let (work, running) = (found.work(), handback::is_running(found));
        if !work.exists() {
            continue;
        }
        let (id, size) = (found.id, size_on_disk(&work).unwrap_or(0));
        total += size;
        if args.json {
            let row = json!({
                "kind": "execution", "session": id.to_string(), "bytes": size, "running": running,
            });
            terminal.answer(&row.to_string())?;
        } else {
            let state = if running { "  running" } else { "" };
            terminal.answer(&format!("exec copy  {id}  {:>10}{state}", bytes(size)))?;
        }
    }
    let logs = all.iter().filter_map(|found| fs::metadata(&found.log).ok());
    let size: u64 = logs.map(|data| data.len()).sum();
    if args.json {
        let row = json!({ "kind": "execution_logs", "count": all.len(), "bytes": size });
        terminal.answer(&row.to_string())?;
    } else if !all.is_empty() {
        let word = if all.len() == 1 { "log" } else { "logs" };
        let (count, size) = (format!("{} {word} of chock exec", all.len()), bytes(size));
        terminal.answer(&format!("exec logs  {count:<26}  {size:>10}"))?;
    }
    Ok(total + size)
}

/// Removes what `chock exec` left, but of those that run. Returns how many bytes that were.
fn clear_executions(
    program: &Program,
    terminal: &mut Terminal,
    (project, yes): (&Project, bool),
) -> Result<u64, Failure> {
    let directory = program.places.executions(project.root());
    let desk = Desk { program, directory: &directory, as_json: false };
    let settings = Settings::everywhere(program, terminal)?;
    let asks = desk.judge(&settings, "session.prune")?;
    // What runs is held by its owner, and stays.
    let held = found::sessions(&directory).into_iter();
    let held: Vec<_> = held.filter_map(|found| Some((hold(&found).ok()?, found))).collect();
    if held.is_empty() {
        return Ok(0);
    }
    let question = format!("Remove the logs and copies of {} runs of chock exec?", held.len());
    consent(terminal, &question, yes && !asks)?;
    let mut cleared = 0;
    for (held, found) in held {
        cleared += Doomed::new(found, held).take_away(&desk, &settings)?;
    }
    forget_directory(&directory).map_err(|fault| Failure::because(&fault))?;
    Ok(cleared)
}

fn clear(
    program: &Program,
    terminal: &mut Terminal,
    (args, words): (&WorkspaceArgs, &ClearArgs),
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let sessions = program.places.sessions(project.root());
    let mut cleared = 0;
    if let Some(name) = &words.session {
        let found = found::session(&sessions, Some(name))?;
        // Nobody can take the session up meanwhile.
        let _held = hold(&found)?;
        let question =
            format!("The work of session {} can then not be reviewed. Remove it?", found.id);
        consent(terminal, &question, words.yes)?;
        cleared += size_on_disk(&found.work()).unwrap_or(0);
        remove_tree(&found.work()).map_err(|fault| Failure::because(&fault))?;
        forget_directory(&sessions).map_err(|fault| Failure::because(&fault))?;
    }
    if words.executions {
        cleared += clear_executions(program, terminal, (&project, words.yes))?;
    }
    if words.hand_backs {
        let place = handback::place(&sessions);
        if place.exists() {
            let (mut shelf, recovered) =
                Shelf::open(&place, &project).map_err(|fault| Failure::because(&fault))?;
            if recovered.is_some() {
                return Err(Failure::start(
                    "a hand-back was cut short; chock undo settles it, then clear again",
                ));
            }
            consent(terminal, "Nothing can then be undone. Forget it?", words.yes)?;
            let kept = shelf.list().map_err(|fault| Failure::because(&fault))?;
            cleared += kept.iter().map(|step| step.bytes).sum::<u64>();
            shelf.clear().map_err(|fault| Failure::because(&fault))?;
        }
    }
    if words.bases {
        let pruned = prune_bases(&program.places.cache);
        cleared += pruned.map_err(|fault| Failure::because(&fault))?.bytes;
    }
    if args.json {
        terminal.answer(&json!({ "cleared": cleared }).to_string())?;
    } else {
        terminal.say(Weight::Plain, &format!("cleared {}", bytes(cleared)));
    }
    Ok(Exit::Finished)
}
