//! `run_command`: a command line, run by the cage's shell.

use std::time::Duration;

use chock_log::Session;
use chock_sandbox::Program;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Tool};
use crate::desk::Desk;
use crate::names::shown;
use crate::reading::CommandReading;

/// The longest command line, in bytes: Linux's limit of one argument, and its end.
const COMMAND_BYTES_MAX: usize = (128 << 10) - 1;

/// The most seconds a command may take.
const SECONDS_MAX: u64 = 600;

pub(crate) struct RunCommand;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The command line, in the language of the shell: pipes, lists and here-documents work.
    command: String,
    /// The directory to run it in. The default is the working directory.
    cwd: Option<String>,
    /// How many seconds it may take. The default is 120, the most is 600.
    #[schemars(range(min = 1, max = 600))]
    timeout_s: Option<u64>,
}

impl Tool for RunCommand {
    const NAME: &'static str = "run_command";
    const DESCRIPTION: &'static str = "Runs a command line in the sandbox with bash (sh where there is none) and waits for its \
         end. Output and errors come in one text, its input is empty, there is no terminal. \
         Everything it starts ends with the call. Long output keeps its beginning and its end; \
         the whole is then in a file that the answer names. There is no network, only 127.0.0.1 \
         and ::1.";
    type Arguments = Arguments;

    fn prepare(
        Arguments { command, cwd, timeout_s }: Arguments,
        desk: &Desk,
        _: &Session,
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
        let time = timeout_s.map_or(desk.call_time, Duration::from_secs);
        let time = time.min(Duration::from_secs(SECONDS_MAX));
        let effect = match place.open.as_str() {
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
        Ok(Prepared::Command { act, effect, reading })
    }
}
