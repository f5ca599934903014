//! `chock tasks`: the background tasks of a session that runs.

use serde_json::json;

use crate::control::{Asked, Reply, Request, Row, beside_the_point, no_such_task};
use crate::exit::{Exit, Failure};
use crate::found::{self, Found};
use crate::program::Program;
use crate::show::task_ending;
use crate::terminal::{Terminal, Weight};
use crate::visible::{shortened, visible, visible_line};

/// How much of a command line the list shows, in characters.
const COMMAND_CHARACTERS: usize = 80;

/// List, read and stop the background tasks of a running session
#[derive(Debug, clap::Args)]
pub(crate) struct TasksArgs {
    #[command(subcommand)]
    act: Option<Act>,

    /// The session's id or the end of it; the newest that runs if there is none
    #[arg(long, global = true, value_name = "ID")]
    session: Option<String>,

    /// Print one JSON object a line
    #[arg(long, global = true)]
    json: bool,

    /// The project, if it is not the current directory
    #[arg(long, global = true, value_name = "DIRECTORY")]
    project: Option<std::path::PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// List the tasks, in the order they were started
    List,
    /// Print what a task printed so far, as far as it is kept
    Output {
        /// The task, such as task-01
        task: String,
    },
    /// End a task with everything it started
    Stop {
        /// The task, such as task-01
        task: String,
    },
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &TasksArgs,
) -> Result<Exit, Failure> {
    let project = program.project(args.project.as_deref())?;
    let found = found::running(&program.places.sessions(project.root()), args.session.as_deref())?;
    let mut asked = Asked::connect(found)?;
    match &args.act {
        None | Some(Act::List) => {
            let rows = asked.rows()?;
            list(terminal, &asked.found, &rows, args.json)
        }
        Some(Act::Output { task }) => output(terminal, &mut asked, task, args.json),
        Some(Act::Stop { task }) => stop(terminal, &mut asked, task, args.json),
    }
}

impl Asked {
    fn rows(&mut self) -> Result<Vec<Row>, Failure> {
        match self.ask(&Request::Tasks)? {
            Reply::Tasks(rows) => Ok(rows),
            Reply::Output(_)
            | Reply::Stopped(_)
            | Reply::Question(_)
            | Reply::Answered
            | Reply::Report(_)
            | Reply::Error(_) => Err(beside_the_point()),
        }
    }

    /// Returns the row of one task, and says what there is when it is not there.
    fn row(&mut self, task: &str) -> Result<Row, Failure> {
        let rows = self.rows()?;
        if rows.is_empty() {
            return Err(Failure::start(nothing(&self.found)));
        }
        let names: Vec<_> = rows.iter().map(|row| row.task.clone()).collect();
        let row = rows.into_iter().find(|row| row.task == task);
        row.ok_or_else(|| Failure::start(no_such_task(task, &names)))
    }

    /// Reads what a task printed until now, as far as it is kept, and how many bytes are not.
    fn output(&mut self, task: &str) -> Result<(Vec<u8>, u64), Failure> {
        let (mut all, mut from, mut left_out, mut until) = (Vec::new(), 0, 0, None);
        loop {
            let request = Request::TaskOutput { task: task.to_owned(), from };
            let Reply::Output(piece) = self.ask(&request)? else { return Err(beside_the_point()) };
            let bytes = piece.bytes()?;
            left_out += piece.from.saturating_sub(from);
            from = piece.from + bytes.len() as u64;
            all.extend_from_slice(&bytes);
            // What a task prints meanwhile is the next command's to show.
            if bytes.is_empty() || from >= *until.get_or_insert(piece.total) {
                return Ok((all, left_out));
            }
        }
    }
}

fn nothing(found: &Found) -> String {
    format!("session {} runs and has no background tasks", found.id)
}

fn list(
    terminal: &mut Terminal,
    found: &Found,
    rows: &[Row],
    as_json: bool,
) -> Result<Exit, Failure> {
    if rows.is_empty() {
        terminal.say(Weight::Quiet, &nothing(found));
    }
    for row in rows {
        if as_json {
            terminal.answer(&object(row)?.to_string())?;
            continue;
        }
        let (weight, state) = match &row.ended {
            None => (Weight::Good, "running".to_owned()),
            Some(ended) => task_ending(ended),
        };
        let state = terminal.paint(&format!("{state:<12}"), weight);
        let command = shortened(&visible_line(&row.command), COMMAND_CHARACTERS);
        let (task, seconds, bytes) = (visible_line(&row.task), row.seconds, row.bytes);
        terminal
            .answer(&format!("{task}  {state}  {seconds:>5} s  {bytes:>9} bytes  {command}"))?;
    }
    Ok(Exit::Finished)
}

fn object(row: &Row) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(row).map_err(|fault| Failure::because(&fault))
}

fn output(
    terminal: &mut Terminal,
    asked: &mut Asked,
    task: &str,
    as_json: bool,
) -> Result<Exit, Failure> {
    let row = asked.row(task)?;
    let (bytes, left_out) = asked.output(task)?;
    if as_json {
        let mut object = object(&row)?;
        object["left_out"] = json!(left_out);
        object["text"] = json!(String::from_utf8_lossy(&bytes));
        terminal.answer(&object.to_string())?;
        return Ok(Exit::Finished);
    }
    if left_out > 0 {
        let words = format!("{left_out} bytes in the middle are not kept");
        terminal.say(Weight::Warn, &words);
    }
    // A terminal gets text that cannot draw; a pipe gets the bytes.
    if terminal.out_is_terminal {
        let text = String::from_utf8_lossy(&bytes);
        terminal.out().write_all(visible(&text).as_bytes())?;
    } else {
        terminal.out().write_all(&bytes)?;
    }
    terminal.out().flush()?;
    Ok(Exit::Finished)
}

fn stop(
    terminal: &mut Terminal,
    asked: &mut Asked,
    task: &str,
    as_json: bool,
) -> Result<Exit, Failure> {
    let before = asked.row(task)?;
    let request = Request::TaskStop { task: task.to_owned() };
    let Reply::Stopped(row) = asked.ask(&request)? else { return Err(beside_the_point()) };
    if as_json {
        terminal.answer(&object(&row)?.to_string())?;
        return Ok(Exit::Finished);
    }
    let Some(ended) = &row.ended else {
        return Err(Failure::fault(format!("{task} was told to end and has not yet")));
    };
    let (_, words) = task_ending(ended);
    let already = if before.ended.is_some() { "had ended already: " } else { "" };
    terminal.say(Weight::Plain, &format!("{task} {already}{words}"));
    Ok(Exit::Finished)
}
