//! The strict provider, run as a program of its own on loopback.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running provider. It ends with the value.
pub(crate) struct Fake {
    child: Child,
    pub(crate) port: u16,
    record: PathBuf,
}

/// Names a file of the repository's `fakes` folder.
pub(crate) fn fakes(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fakes").join(name)
}

impl Fake {
    /// Starts the provider on a scenario of the repository.
    pub(crate) fn play(scenario: &str, directory: &Path) -> Self {
        Self::start(&fakes("scenarios").join(scenario), directory, &[])
    }

    /// Starts the provider on turns of a test's own.
    pub(crate) fn script(turns: &Value, directory: &Path) -> Self {
        let path = directory.join("scenario.json");
        fs::write(&path, turns.to_string()).expect("a scenario");
        Self::start(&path, directory, &[])
    }

    pub(crate) fn start(scenario: &Path, directory: &Path, options: &[&str]) -> Self {
        let record = directory.join("requests.jsonl");
        let mut child = Command::new("python3")
            .arg(fakes("provider.py"))
            .args(["--port", "0", "--scenario"])
            .arg(scenario)
            .arg("--record")
            .arg(&record)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 for the provider");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the port's line");
        let port = line.trim().parse().expect("a port");
        Self { child, port, record }
    }

    /// Returns what the provider says of its turns and of the requests it refused.
    pub(crate) fn state(&self) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the provider");
        let request = "GET /_fake/state HTTP/1.0\r\nHost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let body = answer.split_once("\r\n\r\n").expect("a body").1;
        serde_json::from_str(body).expect("JSON")
    }

    /// Ends a token at the issuer.
    pub(crate) fn revoke(&self, token: &str) {
        let body =
            format!("{{\"token\":\"{token}\",\"client_id\":\"app_EMoamEEZ73f0CkXaXp7hrann\"}}");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the issuer");
        let head = format!(
            "POST /oauth/revoke HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.contains(" 200 "), "{answer}");
    }

    /// Asserts that every turn was used and no request was refused.
    pub(crate) fn expect_finished(&self) {
        let state = self.state();
        assert_eq!(state["finished"], true, "{state}");
        assert_eq!(state["problems"], serde_json::json!([]), "{state}");
    }

    /// Returns the requests so far, oldest first, but not those for the list of models.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let all = self.all_requests().into_iter();
        all.filter(|request| request["method"] != "GET").collect()
    }

    /// Returns all requests so far, oldest first.
    pub(crate) fn all_requests(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.record).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a request")).collect()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
