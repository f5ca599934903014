//! `run_command`: a command line, run by the cage's shell.

use std::time::Duration;

use chock_log::Session;
use chock_sandbox::Program;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::Times;
use crate::answer::Refused;
use crate::command_line::{Named, Reach};
use crate::desk::Desk;
use crate::names::shown;
use crate::reading::{Background, CommandReading, How, When};
use crate::tasks::{self, TASKS_MAX};

/// The longest command line, in bytes: Linux's limit of one argument, and its end.
const COMMAND_BYTES_MAX: usize = (128 << 10) - 1;

pub(crate) struct RunCommand;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The command line, in the language of the shell: pipes, lists and here-documents work.
    command: String,
    /// The directory to run it in. The default is the working directory.
    cwd: Option<String>,
    /// How many seconds it may take. The default is 120 and the most 600; in the background
    /// they are 1800 and 86400.
    #[schemars(range(min = 1, max = 86400))]
    timeout_s: Option<u64>,
    /// Start it as a background task and go on: for servers, watchers and what takes long. The
    /// default is false.
    background: Option<bool>,
}

impl Tool for RunCommand {
    const NAME: &'static str = "run_command";
    const DESCRIPTION: &'static str = "Runs a command line in the sandbox with bash (sh where there is none) and waits for its \
         end. Output and errors come in one text, its input is empty, there is no terminal. \
         Everything it starts ends with the call, unless `background` is set. Long output keeps its beginning and its end; \
         the whole is then in a file that the answer names. There is no network, only 127.0.0.1 \
         and ::1; what a background task serves there can be reached by later calls.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { command, cwd, timeout_s, background }: Arguments,
        desk: &Desk,
        session: &Session,
    ) -> Result<Prepared, String> {
        if command.trim().is_empty() {
            return Err("`command` is empty".into());
        }
        if command.contains('\0') {
            return Err("`command` holds a NUL byte, which no command line can".into());
        }
        if command.len() > COMMAND_BYTES_MAX {
            let bytes = command.len();
            return Err(format!(
                "`command` has {bytes} bytes: the limit is {COMMAND_BYTES_MAX}; write a script \
                 with write_file and run that"
            ));
        }
        let place = desk.place("cwd", cwd.as_deref().unwrap_or("."))?;
        let Named { actions, reaches } = desk.named(&command, &place);
        let refused = reaches.into_iter().find(|reach| desk.denied.row(&reach.path).is_some());
        if let Some(Reach { operation, path }) = refused {
            return Ok(Prepared::Refused(Refused::covered(operation, &path, &desk.denied)));
        }
        let background = background.unwrap_or(false);
        let time = time(desk, timeout_s, background)?;
        let mut effect = match place.open.as_str() {
            "." => command.clone(),
            open => format!("{command}\n(in {})", shown(open)),
        };
        // `--` keeps a command line that begins with a dash from being an option.
        let argv = [desk.shell.as_os_str(), "-c".as_ref(), "--".as_ref(), command.as_ref()];
        let act = Program::Command {
            argv: argv.map(ToOwned::to_owned).to_vec(),
            environment: desk.environment.clone(),
            directory: desk.path(&place),
        };
        let reading = CommandReading { time, directory: place.open, shell: desk.shell.clone() };
        let when = if background {
            effect.push_str(&format!("\n(in the background, for at most {} s)", time.as_secs()));
            let task = next_task(session)?;
            When::InTheBackground(Background { task, line: command, command: reading })
        } else {
            When::Now(How::Command(reading))
        };
        Ok(Prepared::Command { act, actions, effect, when })
    }
}

/// Says how long a command may take.
fn time(desk: &Desk, asked: Option<u64>, background: bool) -> Result<Duration, String> {
    let Times { call, call_max, task, task_max } = desk.times;
    let usual = Times::usual().call_max.as_secs();
    match asked {
        None => Ok(if background { task } else { call }),
        Some(seconds) if background => Ok(Duration::from_secs(seconds).min(task_max)),
        Some(seconds) if seconds > usual => Err(format!(
            "`timeout_s` is {seconds}: the most is {usual}, or set `background` and go on meanwhile"
        )),
        Some(seconds) => Ok(Duration::from_secs(seconds).min(call_max)),
    }
}

/// Names the next background task. Names go on where an earlier run of the session stopped.
fn next_task(session: &Session) -> Result<String, String> {
    let number = session.tasks.len() + 1;
    if number > TASKS_MAX {
        return Err(format!(
            "this session has started {TASKS_MAX} background tasks, and that is the limit; run it \
             without `background`"
        ));
    }
    Ok(tasks::name(number))
}
