//! The program of the sandbox's own tests: a small Chock, its keeper, and the attacker inside.
//!
//! `run <file>` reads what to do in a cage from a file of JSON and prints one JSON line for each
//! thing that happens. `try <attempt> [argument...]` attacks: exit 0 means it got through, 3
//! that it was refused (the last line says how), 4 that it could not be tried.
#![expect(clippy::print_stdout, reason = "what an attempt found is its output")]

mod attempts;
mod hands;
mod runner;
mod sys;

use std::process::ExitCode;

fn main() -> ExitCode {
    chock_sandbox::enter_role_if_asked(std::env::args_os(), &hands::HANDS);
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.split_first() {
        Some((verb, rest)) if verb == "run" => runner::run(rest),
        Some((verb, rest)) if verb == "try" => attempts::attempt(rest),
        _ => ExitCode::from(4),
    }
}
