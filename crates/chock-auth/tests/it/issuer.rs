//! The strict issuer, run as a program of its own on loopback, and how it is asked.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use chock_auth::{Answer, Issuer, Wire, WireFault};
use serde_json::Value;

/// The issuer that a configuration without a word about it has.
pub(crate) fn usual() -> Issuer {
    Issuer::of(&chock_config::Account::default())
}

/// A running issuer. It ends with the value.
pub(crate) struct Fake {
    child: Child,
    port: u16,
    record: PathBuf,
}

impl Fake {
    pub(crate) fn start(directory: &Path, options: &[&str]) -> Self {
        let record = directory.join("requests.jsonl");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fakes/provider.py");
        let mut child = Command::new("python3")
            .arg(program)
            .args(["--port", "0", "--any-redirect-port", "--record"])
            .arg(&record)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 for the issuer");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().expect("a port"), record }
    }

    /// The issuer as Chock is told of it, with any free port for the callback.
    pub(crate) fn issuer(&self) -> Issuer {
        let url = format!("http://127.0.0.1:{}", self.port);
        Issuer { url, ports: vec![0], ..usual() }
    }

    /// How many requests of a path had a text in their body.
    pub(crate) fn count(&self, path: &str, text: &str) -> usize {
        let lines = fs::read_to_string(&self.record).unwrap_or_default();
        let requests = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let is_one =
            |request: &Value| request["path"] == path && request["body"].to_string().contains(text);
        requests.filter(is_one).count()
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A client of loopback, that can be slow.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) before: Duration,
}

impl Wire for Plain {
    fn post(&self, url: &str, content_type: &str, body: Vec<u8>) -> Result<Answer, WireFault> {
        thread::sleep(self.before);
        let head = format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
        let fault = |source: std::io::Error| WireFault {
            reason: "no answer".to_owned(),
            source: Some(Box::new(source)),
        };
        let (status, _, body) = exchange("POST", url, &head, &body).map_err(fault)?;
        Ok(Answer { status, body })
    }
}

/// Plays the browser: fetches an address and says the status and where it leads.
pub(crate) fn get(url: &str) -> (u16, Option<String>) {
    let (status, head, _) = exchange("GET", url, "", b"").expect("an answer");
    let line = head.lines().find_map(|line| line.strip_prefix("location: "));
    (status, line.map(str::to_owned))
}

/// Sends one request and returns the status, the head in lower case names, and the body.
pub(crate) fn exchange(
    method: &str,
    url: &str,
    head: &str,
    body: &[u8],
) -> std::io::Result<(u16, String, Vec<u8>)> {
    let rest = url.strip_prefix("http://").expect("plain HTTP");
    let (host, path) = rest.split_at(rest.find('/').expect("a path"));
    // As a browser does where there is no IPv6 listener.
    let mut stream = TcpStream::connect(host.replace("localhost", "127.0.0.1"))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{head}\r\n");
    stream.write_all(request.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&answer[..end]).replace("Location: ", "location: ");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Ok((status, head, answer[end + 4..].to_vec()))
}
