//! `chock completions`: what a shell needs to complete the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::exit::{Exit, Failure};
use crate::terminal::Terminal;
use crate::words::Words;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(terminal: &mut Terminal, args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Words::command(), "chock", &mut script);
    terminal.out().write_all(&script)?;
    Ok(Exit::Finished)
}
