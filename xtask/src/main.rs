//! Runs the house rules and the benchmarks.

mod bench;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask tidy | cargo xtask bench [words of a row]";

fn main() -> Result<ExitCode> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent")?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => run_tidy(root),
        ["bench"] => bench::run(root, "").map(|()| ExitCode::SUCCESS),
        ["bench", wanted] => bench::run(root, wanted).map(|()| ExitCode::SUCCESS),
        // What the benchmark of open and close runs inside the cage.
        ["open-close", file, count] => {
            bench::open_close(Path::new(file), count.parse()?).map(|()| ExitCode::SUCCESS)
        }
        _ => bail!(USAGE),
    }
}

#[expect(clippy::print_stdout, reason = "the faults are what a person asked for")]
fn run_tidy(root: &Path) -> Result<ExitCode> {
    let faults = tidy::run(root)?;
    for fault in &faults {
        println!("{fault}");
    }
    println!("tidy: {} faults", faults.len());
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
