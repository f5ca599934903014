//! Starts the strict fake provider of the repository's `fakes` folder.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A running fake; it ends when dropped.
pub(crate) struct Fake {
    child: Child,
    port: u16,
    folder: TempDir,
}

impl Fake {
    /// Plays a scenario of the folder, by the beginning of its name, or one given as JSON.
    pub(crate) fn start(scenario: &str, options: &[&str]) -> Self {
        let fakes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fakes");
        let program = fakes.join("provider.py");
        assert!(program.exists(), "the fake provider is missing: {}", program.display());
        let folder = TempDir::new().unwrap();
        let scenario = if scenario.starts_with('{') {
            let path = folder.path().join("scenario.json");
            fs::write(&path, scenario).unwrap();
            path
        } else {
            named(&fakes.join("scenarios"), scenario)
        };
        let mut child = Command::new("python3")
            .arg(program)
            .args(["--port", "0", "--scenario"])
            .arg(scenario)
            .arg("--record")
            .arg(folder.path().join("requests.jsonl"))
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts the fake provider");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().expect("the fake says its port first");
        Self { child, port, folder }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Returns every request so far, as the fake recorded it.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("requests.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Asserts that every turn was played and no request was wrong.
    pub(crate) fn assert_finished(&self) {
        let state = self.state();
        assert_eq!(state["finished"], true, "{state}");
        assert_eq!(state["problems"], serde_json::json!([]), "{state}");
    }

    pub(crate) fn state(&self) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(b"GET /_fake/state HTTP/1.1\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn named(folder: &Path, beginning: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let fits = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(beginning);
    files.into_iter().find(fits).expect("a scenario of that name")
}
