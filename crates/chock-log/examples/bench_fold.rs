//! Times the fold of a large log in lanes, for `cargo xtask bench`: a name in, nanoseconds out.
//!
//! Its argument is a scratch directory. Lanes: `fold` ([`Log::read`]) and `read` (the bytes alone).

use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chock_log::{
    Cost, Ended, Event, FinishedBody, Log, ModelMessage, Options, Outcome, Part, Pen, Redactor,
    SnapshotBody, StartedBody, Stop, Tokens, ToolCall, UsageBody, UserBody, Verdict,
};

/// How large the log is at least: design section 11.
const LOG_BYTES: u64 = 100_000_000;

/// The bytes of one call's output, as a build or a file that was read has them.
const OUTPUT_BYTES: usize = 4000;

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> Answer<()> {
    let scratch = std::env::args_os().nth(1).map(PathBuf::from).ok_or("a scratch directory")?;
    let log = scratch.join("log/bench.jsonl");
    fill(&log)?;
    for lane in io::stdin().lock().lines() {
        let answer = match once(&log, lane?.trim()) {
            Ok(time) => time.as_nanos().to_string(),
            Err(fault) => format!("! {fault}"),
        };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

fn once(log: &Path, lane: &str) -> Answer<Duration> {
    let start = Instant::now();
    match lane {
        "fold" => {
            let (session, verdict) = Log::read(log)?;
            let time = start.elapsed();
            if session.turns == 0 || !matches!(verdict, Verdict::Intact { .. }) {
                return Err(format!("the log is not what was written: {verdict}").into());
            }
            Ok(time)
        }
        "read" => {
            let bytes = fs::read(log)?.len() as u64;
            let time = start.elapsed();
            if bytes < LOG_BYTES { Err("the log is too small".into()) } else { Ok(time) }
        }
        other => Err(format!("no lane is named {other}").into()),
    }
}

/// Writes turns of one call each until the log is large enough.
fn fill(log: &Path) -> Answer<()> {
    let redactor = Redactor::new([], [0; 32]);
    let options =
        Options { clock: Box::new(Default::default), redactor, observer: None, courier: None };
    let pen = Log::open(log, options)?.pen;
    pen.write(Event::User(UserBody {
        text: "Make the tests pass.".to_owned(),
        ..UserBody::default()
    }))?;
    let mut turn = 0;
    while fs::metadata(log)?.len() < LOG_BYTES {
        for _ in 0..100 {
            turn += 1;
            write_turn(&pen, turn)?;
        }
    }
    Ok(pen.flush()?)
}

fn write_turn(pen: &Pen, turn: u64) -> Answer<()> {
    let call = ToolCall {
        id: format!("call-{turn}"),
        name: "run_command".to_owned(),
        arguments: format!("{{\"command\":\"cargo test part_{turn}\"}}"),
    };
    let message = ModelMessage {
        provider: "bench".to_owned(),
        model: "bench".to_owned(),
        parts: vec![Part::Text("The next part.\n".to_owned()), Part::Call(call.clone())],
        stop: Stop::Calls,
    };
    let line = format!("test part_{turn} ... \"ok\"\n");
    let output = line.repeat(OUTPUT_BYTES / line.len());
    let (id, tool) = (call.id.clone(), call.name.clone());
    let tokens = Some(Tokens { input: 1000, output: 20, ..Tokens::default() });
    let events = [
        Event::Usage(UsageBody { model: "bench".to_owned(), tokens, cost: Cost::Free }),
        Event::Model(message),
        Event::ToolStarted(StartedBody { call, approval: None }),
        Event::ToolFinished(FinishedBody {
            call: id,
            tool,
            outcome: Outcome::new(Ended::Exited(0), output),
        }),
        Event::Snapshot(SnapshotBody { turn, tree: "0".repeat(40), files: 1, git: None }),
    ];
    for event in events {
        pen.write(event)?;
    }
    Ok(())
}
