//! Times one caged `true` against a plain spawn and bubblewrap, in one run, as ratios.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio as Standard};
use std::time::{Duration, Instant};

use chock_sandbox::{Call, Cancel, Keeper, Program, Stdio};
use serde_json::{Value, json};

use crate::runner;

/// The pause between calls: as tool calls come, and long enough for what is deferred.
const PAUSE: Duration = Duration::from_millis(20);

/// `bench <file>`, a file of JSON: `{"yard", "rounds", "mounts", ...}`; prints one JSON object.
pub(crate) fn bench(words: &[String]) -> ExitCode {
    let Some(spec) = words.first().and_then(|path| runner::read_spec(Path::new(path))) else {
        return ExitCode::from(4);
    };
    let yard = PathBuf::from(spec["yard"].as_str().expect("a yard"));
    let rounds = usize::try_from(spec["rounds"].as_u64().unwrap_or(100)).expect("a few rounds");
    let cage = runner::cage(&spec, &yard);
    let start = |warm| {
        let options = runner::options(&json!({ "warm": warm, "containment": spec["containment"] }));
        let begun = Instant::now();
        let keeper = Keeper::start(&options, &cage).expect("a keeper");
        (keeper, begun.elapsed())
    };
    let ((cold, ready), (warm, _)) = (start(0), start(1));
    let ballast = vec![1u8; usize::try_from(spec["ballast"].as_u64().unwrap_or(0)).expect("bytes")];
    let mut times = [const { Vec::new() }; 4];
    let mut permits = runner::permits(&yard, 2 * rounds + 200);
    let mut next = || permits.next().expect("a permit");
    for _ in 0..rounds {
        times[0].push(timed(plain));
        times[1].push(timed(|| caged(&warm, next())));
        times[2].push(timed(|| caged(&cold, next())));
        times[3].push(timed(bubblewrap));
    }
    let row = Instant::now();
    for _ in 0..200 {
        caged(&warm, next());
    }
    let row_caged = row.elapsed();
    let row = Instant::now();
    for _ in 0..200 {
        bubblewrap();
    }
    let row_bubblewrap = row.elapsed();
    let [plain, warm, cold, bubblewrap] = times.map(median);
    let ratio = |part: Duration, whole: Duration| {
        (100.0 * part.as_secs_f64() / whole.as_secs_f64()).round() / 100.0
    };
    println!(
        "{}",
        json!({
            "plain_us": plain.as_micros(), "warm_us": warm.as_micros(),
            "cold_us": cold.as_micros(), "bubblewrap_us": bubblewrap.as_micros(),
            "warm/plain": ratio(warm, plain), "warm/bubblewrap": ratio(warm, bubblewrap),
            "cold/bubblewrap": ratio(cold, bubblewrap),
            "200 in a row/bubblewrap": ratio(row_caged, row_bubblewrap),
            "keeper_ready_us": ready.as_micros(), "ballast": ballast.len(),
        })
    );
    ExitCode::SUCCESS
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn timed(work: impl FnOnce()) -> Duration {
    std::thread::sleep(PAUSE);
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn plain() {
    let mut command = Command::new("/bin/true");
    command.stdin(Standard::null()).stdout(Standard::null()).stderr(Standard::null());
    assert!(command.status().expect("true").success());
}

fn caged(keeper: &Keeper, permit: chock_log::Permit<Program>) {
    let cancel = Cancel::new().expect("a pipe");
    let mut sink = |_: &[u8]| {};
    let call = Call { stdio: Stdio::Captured(&mut sink), wall_time: None, cancel: &cancel };
    let (_, finished) = chock_sandbox::run(keeper, permit, call);
    let finished = finished.expect("a contained call");
    assert_eq!(finished.ended, chock_sandbox::Ended::Exited(0));
    // As a caller does: the record is written before the cell is let go.
    std::mem::forget(std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        drop(finished);
    }));
}

/// All namespaces and a minimal root, as the distribution's package does it.
fn bubblewrap() {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
    command.args(["--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin"]);
    command.args(["--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64"]);
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/true"]);
    command.stdin(Standard::null()).stdout(Standard::null()).stderr(Standard::null());
    assert!(command.status().expect("bubblewrap").success());
}

/// The program that every row runs.
pub(crate) fn trivial(directory: &Path) -> Program {
    Program::Command {
        argv: vec!["/bin/true".into()],
        environment: Vec::new(),
        directory: directory.to_owned(),
    }
}
