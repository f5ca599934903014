//! A scripted session of 50 calls, everything on, against a bare client that does the same.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::ground::Ground;
use super::measure::{Measured, alternate};

/// The provider's script.
const SCENARIO: &str = "fakes/scenarios/50-calls.json";

/// How often a session is measured; it takes a second or so.
const ROUNDS: usize = 5;

/// How often a running session is asked for its memory.
const SAMPLE: Duration = Duration::from_millis(10);

pub(super) fn fifty_calls(ground: &Ground) -> Result<Measured> {
    alternate(ROUNDS, || Ok(session(ground)?.time), || floor(ground))
}

pub(super) fn resident_memory(ground: &Ground) -> Result<Measured> {
    let peak = session(ground)?.peak_kib;
    ensure!(peak > 0, "the kernel did not say how much memory the session had");
    Ok(Measured::Mebibytes(f64::from(peak) / 1024.0))
}

/// What one session cost.
struct Cost {
    time: Duration,
    peak_kib: u32,
}

fn session(ground: &Ground) -> Result<Cost> {
    let provider = Provider::start(&ground.root)?;
    let mut command = ground.chock()?;
    let config = ground.directory("home/.config/chock")?;
    fs::write(config.join("config.zon"), configuration(provider.port))?;
    command.args(["run", "go"]).current_dir(ground.small()?);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn().context("cannot start chock")?;
    let mut peak_kib = 0;
    let status = loop {
        peak_kib = peak_kib.max(peak(child.id()));
        match child.try_wait()? {
            Some(status) => break status,
            None => thread::sleep(SAMPLE),
        }
    };
    let time = start.elapsed();
    let mut faults = String::new();
    let mut stderr = child.stderr.take().context("invariant: errors are a pipe")?;
    std::io::Read::read_to_string(&mut stderr, &mut faults)?;
    ensure!(status.success(), "chock run: {status}: {}", faults.lines().last().unwrap_or_default());
    Ok(Cost { time, peak_kib })
}

/// Returns the person's configuration: one provider, the fake.
fn configuration(port: u16) -> String {
    format!(
        ".{{ .providers = .{{ .{{ .name = \"fake\", .kind = \"openai-compat\", .token = \"k\", \
         .base_url = \"http://127.0.0.1:{port}/v1\", .model = \"m\" }} }}, \
         .defaults = .{{ .provider = \"fake\" }} }}\n"
    )
}

/// Returns the most memory a process had so far, in KiB; 0 when it is gone.
fn peak(process: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Runs the bare client and returns the seconds it prints.
fn floor(ground: &Ground) -> Result<Duration> {
    let provider = Provider::start(&ground.root)?;
    let output = Command::new("python3")
        .arg("fakes/floor.py")
        .env("PORT", provider.port.to_string())
        .current_dir(&ground.root)
        .output()
        .context("cannot start python3")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds = text.split_whitespace().nth(2).context("floor.py printed no time")?;
    Ok(Duration::from_secs_f64(seconds.parse()?))
}

/// The fake provider, killed when it is dropped.
struct Provider {
    child: Child,
    port: u16,
}

impl Provider {
    fn start(root: &Path) -> Result<Self> {
        let mut child = Command::new("python3")
            .args(["fakes/provider.py", "--port", "0", "--scenario", SCENARIO])
            .current_dir(root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start python3")?;
        let output = child.stdout.take().context("invariant: the output is a pipe")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse().context("provider.py printed no port")?;
        Ok(Self { child, port })
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
