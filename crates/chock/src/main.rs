//! Parses words, builds the house and prints.
//!
//! # Never knows
//!
//! Any decision of its own: what may be done is the broker's, what is owed the agent's.
//!
//! # Holds
//!
//! - The first statement of `main` is the keeper's role, before any thread.
//! - Standard output holds answers, standard error everything else.
//! - Nothing an agent wrote reaches the terminal unfiltered.
//!
//! # Start reading at
//!
//! [`main`], then `command/run.rs` and `house.rs`.

mod account;
mod asker;
mod audit;
mod board;
mod browse;
mod command;
mod control;
mod counting;
mod errand;
mod exit;
mod explain;
mod ferry;
mod filter;
mod filter_words;
mod first_row;
mod forking;
mod found;
mod handback;
mod house;
mod instructions;
mod issuer;
mod judge;
mod kept;
mod keys;
mod lesson;
mod making;
mod memory;
mod nearby;
mod outside;
mod places;
mod program;
mod pty;
mod question;
mod relay;
mod report;
mod reviewer;
mod selection;
mod settings;
mod show;
mod sign_in;
mod signals;
mod signers;
mod site;
mod skills;
mod spare;
mod speaker;
mod streams;
mod terminal;
mod told;
mod typed;
mod unseen;
mod visible;
mod walk;
mod word_diff;
mod words;

use std::process::ExitCode;

use chock_workspace::Direction;
use command::Command;
use exit::{Exit, Failure};
use program::Program;
use terminal::{Colour, Terminal};
use words::{Everywhere, Parsed, Words};

fn main() -> ExitCode {
    chock_sandbox::enter_role_if_asked(std::env::args_os(), chock_tools::HANDS);
    let (terminal, ended) = match words::parse(std::env::args_os().collect()) {
        Ok(Parsed::Told) => return Exit::Finished.into(),
        Ok(Parsed::Command(words)) => obey(*words),
        Err(failure) => {
            let usual = Everywhere { verbose: false, color: Colour::Auto, org_bundle: None };
            (new_terminal(&usual), Err(failure))
        }
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(failure) => {
            if let Some(mut terminal) = terminal.filter(|_| !failure.message.is_empty()) {
                terminal.fail(&failure.message);
            }
            failure.exit.into()
        }
    }
}

/// Does one command. The terminal comes back unless the command gave it away.
fn obey(words: Words) -> (Option<Terminal>, Result<Exit, Failure>) {
    let mut terminal =
        new_terminal(&words.everywhere).expect("invariant: a terminal is always made");
    let program = match Program::new() {
        Ok(program) => program.under(words.everywhere.org_bundle.clone()),
        Err(failure) => return (Some(terminal), Err(failure)),
    };
    let ended = match &words.command {
        Command::Run(args) => return command::run::run(&program, terminal, args),
        Command::Fork(args) => return command::fork::run(&program, terminal, args),
        Command::Demo(args) => return command::demo::run(&program, terminal, args),
        Command::Exec(args) => command::exec::run(&program, &mut terminal, args),
        Command::Doctor(args) => command::doctor::run(&program, &mut terminal, args),
        Command::Sessions(args) => command::sessions::run(&program, &mut terminal, args),
        Command::Approve(args) => command::approve::run(&program, &mut terminal, args),
        Command::Policy(args) => command::policy::run(&program, &mut terminal, args),
        Command::Tasks(args) => command::tasks::run(&program, &mut terminal, args),
        Command::Diff(args) => command::diff::run(&program, &mut terminal, args),
        Command::Review(args) => command::review::run(&program, &mut terminal, args),
        Command::Apply(args) => command::apply::run(&program, &mut terminal, args),
        Command::Undo(args) => command::undo::run(&program, &mut terminal, (args, Direction::Undo)),
        Command::Redo(args) => command::undo::run(&program, &mut terminal, (args, Direction::Redo)),
        Command::Workspace(args) => command::workspace::run(&program, &mut terminal, args),
        Command::Context(args) => command::fill::run(&program, &mut terminal, args),
        Command::Models(args) => command::models::run(&program, &mut terminal, args),
        Command::Usage(args) => command::usage::run(&program, &mut terminal, args),
        Command::Plan(args) => command::plan::run(&program, &mut terminal, args),
        Command::Memory(args) => command::memory::run(&program, &mut terminal, args),
        Command::Config(args) => command::config::run(&program, &mut terminal, args),
        Command::Login(args) => command::login::run(&program, &mut terminal, args),
        Command::Logout(args) => command::logout::run(&program, &mut terminal, args),
        Command::Completions(args) => command::completions::run(&mut terminal, args),
    };
    (Some(terminal), ended)
}

fn new_terminal(everywhere: &Everywhere) -> Option<Terminal> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let colourless = (set("NO_COLOR") || dumb) && !set("CLICOLOR_FORCE");
    Some(Terminal::new(everywhere.color, colourless, everywhere.verbose))
}
