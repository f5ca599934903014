//! The act that the sandbox does: one program, or one hand.

use std::ffi::OsString;
use std::path::PathBuf;

use chock_log::Act;
use serde_json::{Value, json};

/// The most bytes that arguments and environment may have together, as Linux's own limit.
pub const ARGUMENT_BYTES_MAX: usize = 2 << 20;

/// The most bytes of a hand's request: a file tool's largest file, and room for its words.
pub const REQUEST_BYTES_MAX: usize = 64 << 20;

/// What to run in a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// A program inside the cage.
    Command {
        /// The program and its arguments. Without a `/` in it, the program is looked for in
        /// the `PATH` of `environment`, inside the cage.
        argv: Vec<OsString>,
        /// The whole environment; nothing else is added.
        environment: Vec<(OsString, OsString)>,
        /// The working directory inside the cage.
        directory: PathBuf,
    },
    /// A function of this binary, called in the cell without an exec.
    Hand {
        /// The name of the [`Hand`](crate::Hand).
        name: String,
        /// What it is asked, in its own format.
        request: Vec<u8>,
        /// The working directory inside the cage.
        directory: PathBuf,
    },
}

impl Act for Program {
    /// Returns what an approval's record says: never a value of the environment, never the
    /// bytes of a request.
    fn record(&self) -> Value {
        match self {
            Self::Command { argv, environment, directory } => {
                let argv: Vec<_> = argv.iter().map(|part| part.to_string_lossy()).collect();
                let names: Vec<_> =
                    environment.iter().map(|(name, _)| name.to_string_lossy()).collect();
                json!({
                    "program": "command",
                    "argv": argv,
                    "directory": directory.to_string_lossy(),
                    "environment": names,
                })
            }
            Self::Hand { name, request, directory } => json!({
                "program": "hand",
                "name": name,
                "request_bytes": request.len(),
                "directory": directory.to_string_lossy(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_variables_and_keeps_their_values_out() {
        let program = Program::Command {
            argv: vec!["true".into()],
            environment: vec![("TOKEN".into(), "hunter2".into())],
            directory: "/w".into(),
        };
        let text = program.record().to_string();
        assert!(text.contains("TOKEN") && !text.contains("hunter2"), "{text}");
    }
}
