//! A server that answers with the very bytes it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// A server whose n-th connection is answered by the n-th of its answers.
pub(crate) struct Raw {
    port: u16,
    requests: Receiver<String>,
}

/// Answers one connection, whose request has been read.
pub(crate) type Answering = Box<dyn FnOnce(TcpStream) + Send>;

impl Raw {
    pub(crate) fn start(answers: Vec<Answering>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = channel();
        thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                let Some(request) = read(&stream) else { continue };
                // Nobody may be asking any more.
                let _ = sender.send(request);
                answer(stream);
            }
        });
        Self { port, requests }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// Lists the request lines so far.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

fn read(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(first.trim().to_owned())
}

/// Answers with a head, and a body that the connection's end ends.
pub(crate) fn bytes(status: &str, headers: &[&str], body: impl Into<Vec<u8>>) -> Answering {
    let first = format!("HTTP/1.1 {status}");
    let head = [&[&first, "connection: close"], headers].concat();
    let mut answer = format!("{}\r\n\r\n", head.join("\r\n")).into_bytes();
    answer.extend(body.into());
    // A client that has heard enough hangs up.
    Box::new(move |mut stream| drop(stream.write_all(&answer)))
}

/// Answers with a stream of events.
pub(crate) fn events(body: &str) -> Answering {
    bytes("200 OK", &["content-type: text/event-stream"], body)
}

/// A chunk with words, and one that finishes.
pub(crate) const WORDS: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hé\"}}]}\n\n";
pub(crate) const FINISH: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";
