//! The benchmarks: each row is one piece of work against a peer, as a ratio of one run.
//!
//! Nothing here is a test. A row that cannot be measured prints `-` and the reason.

mod call;
mod cell;
mod files;
mod fold;
mod ground;
mod lane;
mod measure;
mod open;
mod peer;
mod search;
mod session;
mod snapshot;
mod start;
mod version;

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;

use ground::Ground;
use measure::Measured;

pub(crate) use open::open_close;

/// One line of the report.
struct Row {
    /// What Chock does.
    work: &'static str,
    /// What it is compared with.
    against: &'static str,
    /// What is aimed at.
    aim: Aim,
    /// Measures it; an error is the reason why it cannot be measured here.
    measure: fn(&Ground) -> Result<Measured>,
}

/// The bar of a row.
enum Aim {
    /// The ratio is at most this.
    Ratio(f64),
    /// The amount, in MiB, is under this.
    Mebibytes(f64),
}

/// Every row, in the order of the design's table.
const ROWS: &[Row] = &[
    Row {
        work: "one caged `true`, warm",
        against: "plain spawn",
        aim: Aim::Ratio(1.3),
        measure: cell::warm_against_spawn,
    },
    Row {
        work: "one caged `true`, warm",
        against: "bubblewrap",
        aim: Aim::Ratio(0.25),
        measure: cell::warm_against_bubblewrap,
    },
    Row {
        work: "one caged `true`, cold",
        against: "bubblewrap",
        aim: Aim::Ratio(0.5),
        measure: cell::cold_against_bubblewrap,
    },
    Row {
        work: "200 caged calls in a row",
        against: "bubblewrap",
        aim: Aim::Ratio(0.4),
        measure: cell::row_against_bubblewrap,
    },
    Row {
        work: "a whole tool call, record and flush",
        against: "caged `true` and one fdatasync",
        aim: Aim::Ratio(2.0),
        measure: call::tool_call,
    },
    Row {
        work: "open and close in the workspace",
        against: "outside",
        aim: Aim::Ratio(2.3),
        measure: open::in_workspace,
    },
    Row {
        work: "open and close elsewhere",
        against: "outside",
        aim: Aim::Ratio(1.7),
        measure: open::elsewhere,
    },
    Row {
        work: "one caged `true`, 2,000 mounts",
        against: "7 mounts",
        aim: Aim::Ratio(1.2),
        measure: cell::many_mounts,
    },
    Row {
        work: "the same, 256 MiB more in the parent",
        against: "without",
        aim: Aim::Ratio(1.05),
        measure: cell::large_parent,
    },
    Row {
        work: "keeper and first cell ready",
        against: "plain spawn",
        aim: Aim::Ratio(10.0),
        measure: cell::keeper_against_spawn,
    },
    Row {
        work: "memory of the keeper and two idle cells",
        against: "",
        aim: Aim::Mebibytes(5.0),
        measure: cell::idle_memory,
    },
    Row {
        work: "session start, 20,000 files, warm base",
        against: "git worktree add",
        aim: Aim::Ratio(0.1),
        measure: start::session_start,
    },
    Row {
        work: "snapshot and diff, 10 of 20,000 files changed",
        against: "git add -A && git write-tree",
        aim: Aim::Ratio(0.3),
        measure: snapshot::snapshot_and_diff,
    },
    Row {
        work: "session start, 100,000 files, warm base",
        against: "20,000 files",
        aim: Aim::Ratio(1.5),
        measure: start::start_of_huge,
    },
    Row {
        work: "snapshot and diff, 10 of 100,000 files changed",
        against: "10 of 20,000 files",
        aim: Aim::Ratio(1.5),
        measure: snapshot::snapshot_of_huge,
    },
    Row {
        work: "workspace of a fork, 20,000 files",
        against: "workspace of a start",
        aim: Aim::Ratio(1.2),
        measure: snapshot::fork_against_start,
    },
    Row { work: "grep", against: "rg", aim: Aim::Ratio(1.2), measure: search::grep },
    Row { work: "glob", against: "rg --files", aim: Aim::Ratio(1.2), measure: search::glob },
    Row {
        work: "fold of a 100 MB log",
        against: "reading the file",
        aim: Aim::Ratio(10.0),
        measure: fold::fold,
    },
    Row {
        work: "`chock --version`",
        against: "`git --version`",
        aim: Aim::Ratio(2.0),
        measure: version::version,
    },
    Row {
        work: "a session of 50 calls",
        against: "floor.py",
        aim: Aim::Ratio(2.5),
        measure: session::fifty_calls,
    },
    Row {
        work: "resident memory of that session",
        against: "",
        aim: Aim::Mebibytes(40.0),
        measure: session::resident_memory,
    },
];

/// Measures the rows whose work or peer has `wanted` in its name, and prints them as they come.
///
/// # Errors
///
/// Chock could not be built, or nothing could be printed.
pub(crate) fn run(root: &Path, wanted: &str) -> Result<()> {
    let ground = Ground::prepare(root)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{:<46} {:<31} {:>7} {:>8}  detail", "work", "against", "ratio", "aim")?;
    for row in ROWS {
        if !row.work.contains(wanted) && !row.against.contains(wanted) {
            continue;
        }
        writeln!(out, "{}", line(row, (row.measure)(&ground)))?;
        out.flush()?;
    }
    Ok(())
}

fn line(row: &Row, measured: Result<Measured>) -> String {
    let aim = match row.aim {
        Aim::Ratio(most) => format!("{most}"),
        Aim::Mebibytes(most) => format!("{most} MiB"),
    };
    let (value, detail) = match measured {
        Ok(measured) => {
            let verdict = if is_reached(&row.aim, &measured) { "" } else { "over the aim; " };
            (measured.value(), format!("{verdict}{}", measured.detail()))
        }
        Err(reason) => ("-".to_owned(), format!("{reason:#}")),
    };
    format!("{:<46} {:<31} {value:>7} {aim:>8}  {detail}", row.work, row.against)
}

fn is_reached(aim: &Aim, measured: &Measured) -> bool {
    match (aim, measured) {
        (Aim::Ratio(most), Measured::Pair(pair)) => pair.ratio() <= *most,
        (Aim::Mebibytes(most), Measured::Mebibytes(amount)) => amount < most,
        (Aim::Ratio(_), Measured::Mebibytes(_)) | (Aim::Mebibytes(_), Measured::Pair(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anyhow::anyhow;

    use super::measure::Pair;
    use super::*;

    fn row(aim: Aim) -> Row {
        Row { work: "work", against: "peer", aim, measure: |_| Err(anyhow!("unused")) }
    }

    #[test]
    fn a_row_that_cannot_be_measured_says_why() {
        let line = line(&row(Aim::Ratio(1.0)), Err(anyhow!("bubblewrap is not installed")));
        assert!(line.contains(" - ") && line.ends_with("bubblewrap is not installed"), "{line}");
    }

    #[test]
    fn a_row_over_its_aim_says_so() {
        let pair = |ours| Pair {
            ours: Duration::from_millis(ours),
            theirs: Duration::from_millis(10),
            least: (Duration::ZERO, Duration::ZERO),
        };
        let over = line(&row(Aim::Ratio(0.5)), Ok(Measured::Pair(pair(6))));
        let within = line(&row(Aim::Ratio(0.5)), Ok(Measured::Pair(pair(5))));
        assert!(
            over.contains("over the aim") && !within.contains("over the aim"),
            "{over}\n{within}"
        );
        assert!(over.contains("0.60"), "{over}");
    }

    #[test]
    fn memory_is_compared_in_mebibytes() {
        let over = line(&row(Aim::Mebibytes(40.0)), Ok(Measured::Mebibytes(41.0)));
        assert!(over.contains("over the aim"), "{over}");
    }
}
