//! A program of a crate that measures pieces of its own: one line in, one time out.
//!
//! It is an example of the crate (`crates/<crate>/examples/bench_<noun>.rs`). It gets a scratch
//! directory as its first argument, and maybe more. For each line on its standard input, the name
//! of a lane, it does that work once and prints one line: the nanoseconds it took, or `!` and the
//! reason why it cannot.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// A running program of lanes.
pub(super) struct Lanes {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Lanes {
    /// Starts the program with a scratch directory and further arguments.
    pub(super) fn start(program: &Path, scratch: &Path, more: &[&Path]) -> Result<Self> {
        let mut child = Command::new(program)
            .arg(scratch)
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let orders = child.stdin.take();
        let answers = child.stdout.take().context("invariant: the output is a pipe")?;
        Ok(Self { child, orders, answers: BufReader::new(answers) })
    }

    /// Returns the program's process.
    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Does the work of one lane once.
    pub(super) fn once(&mut self, lane: &str) -> Result<Duration> {
        let orders = self.orders.as_mut().context("invariant: the input is a pipe")?;
        writeln!(orders, "{lane}").context("the bench program is gone")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer).context("the bench program is gone")?;
        read(lane, answer.trim())
    }
}

fn read(lane: &str, answer: &str) -> Result<Duration> {
    if let Some(reason) = answer.strip_prefix('!') {
        bail!("{}", reason.trim());
    }
    let nanoseconds = answer.parse().with_context(|| format!("lane {lane} answered {answer:?}"))?;
    Ok(Duration::from_nanos(nanoseconds))
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.orders = None;
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_time_or_a_reason() {
        assert_eq!(read("a", "1500").expect("a time"), Duration::from_nanos(1500));
        assert_eq!(read("a", "! no cells").expect_err("a reason").to_string(), "no cells");
        read("a", "").expect_err("a program that ended");
    }
}
