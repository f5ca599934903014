//! Tells what an answer with a good status is, and reads its events.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use serde::de::IgnoredAny;
use tokio::time::timeout;

use crate::http::{Refusal, Server, kind};
use crate::retry::Failure;
use crate::sse::{EVENT_BYTES_MAX, Event, EventTooLarge, Sse};
use crate::told::Told;

/// The most bytes of one stream. A token comes in an event of 300 to 600 bytes, and the longest
/// replies have 128,000 tokens.
const STREAM_BYTES_MAX: usize = 256 << 20;
/// The most bytes of an answer that is one document: 4 MiB of a reply, escaped.
const DOCUMENT_BYTES_MAX: usize = EVENT_BYTES_MAX;
/// How long the count of tokens may take to come behind a whole reply.
const TAIL_WAIT: Duration = Duration::from_secs(5);
/// How long a connection's last bytes may take, so that it can be used again.
const END_WAIT: Duration = Duration::from_millis(50);

/// An answer with a good status.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A stream of events.
    Events(Box<Events>),
    /// One JSON document, whatever was asked for.
    Document(String),
}

/// What an answer says of a reply.
#[derive(Debug)]
pub(crate) enum Said<'a> {
    /// All of it, in one document.
    Whole(&'a str),
    /// The data of one event.
    Event(&'a str),
}

/// Has each thing that an answer says taken, until the taker has seen the wire's last event.
pub(crate) async fn each(
    server: &Server,
    response: Response,
    mut take: impl FnMut(Said<'_>) -> Result<bool, Refusal>,
) -> Result<(), Refusal> {
    let mut events = match open(server, response).await? {
        Answer::Document(text) => return take(Said::Whole(&text)).map(drop),
        Answer::Events(events) => events,
    };
    while let Some(next) = events.next(server).await? {
        if take(Said::Event(&next.data))? {
            events.drain().await;
            break;
        }
    }
    Ok(())
}

/// The events of an answer.
#[derive(Debug)]
pub(crate) struct Events {
    response: Response,
    sse: Option<Sse>,
    events: VecDeque<Event>,
    chunk: Vec<u8>,
    bytes: usize,
}

/// Looks at an answer's type, or at its first bytes where the type does not tell.
pub(crate) async fn open(server: &Server, mut response: Response) -> Result<Answer, Refusal> {
    let status = response.status().as_u16();
    let kind = kind(response.headers()).to_ascii_lowercase();
    if kind == "text/event-stream" {
        return Ok(Answer::Events(Events::new(response, Vec::new()).into()));
    }
    let (mut body, mut chunk) = (Vec::<u8>::new(), Vec::new());
    let first = loop {
        if let Some(first) = body.iter().find(|byte| !byte.is_ascii_whitespace()) {
            break Some(*first);
        }
        if body.len() > DOCUMENT_BYTES_MAX || !server.next(&mut response, &mut chunk).await? {
            break None;
        }
        body.extend_from_slice(&chunk);
    };
    match first {
        _ if kind.contains("html") => Err(not_an_api(status, &response)),
        Some(b'<') => Err(not_an_api(status, &response)),
        Some(b'{' | b'[') => document(server, response, body).await.map(Answer::Document),
        Some(_) | None => Ok(Answer::Events(Events::new(response, body).into())),
    }
}

fn not_an_api(status: u16, response: &Response) -> Refusal {
    let url = response.url().to_string();
    Refusal::Told(Box::new(Told { url, status, page: true, ..Told::default() }))
}

async fn document(
    server: &Server,
    mut response: Response,
    mut body: Vec<u8>,
) -> Result<String, Refusal> {
    let mut chunk = Vec::new();
    while server.next(&mut response, &mut chunk).await? {
        if body.len() + chunk.len() > DOCUMENT_BYTES_MAX {
            return Err(server.too_large("bytes", DOCUMENT_BYTES_MAX).into());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

impl Events {
    fn new(response: Response, chunk: Vec<u8>) -> Self {
        Self { response, sse: Some(Sse::default()), events: VecDeque::new(), chunk, bytes: 0 }
    }

    /// Returns the next event; `None` is the stream's orderly end.
    pub(crate) async fn next(&mut self, server: &Server) -> Result<Option<Event>, Failure> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            let Some(sse) = &mut self.sse else { return Ok(None) };
            let fed = sse.feed(&self.chunk, &mut self.events);
            fed.map_err(|EventTooLarge| server.too_large("bytes in an event", EVENT_BYTES_MAX))?;
            self.chunk.clear();
            if !self.events.is_empty() {
                continue;
            }
            if !server.next(&mut self.response, &mut self.chunk).await? {
                let last = self.sse.take().and_then(Sse::finish);
                return Ok(last.filter(|event| is_whole(&event.data)));
            }
            self.bytes += self.chunk.len();
            if self.bytes > STREAM_BYTES_MAX {
                return Err(server.too_large("bytes in a stream", STREAM_BYTES_MAX));
            }
        }
    }

    /// Returns the next event behind a whole reply, where nothing that fails matters any more.
    pub(crate) async fn tail(&mut self, server: &Server) -> Option<Event> {
        timeout(TAIL_WAIT, self.next(server)).await.ok()?.ok()?
    }

    /// Reads the end behind the last event, so that the connection can be used again.
    pub(crate) async fn drain(mut self) {
        // A connection that does not end in time is closed.
        let _ = timeout(END_WAIT, async { while let Ok(Some(_)) = self.response.chunk().await {} })
            .await;
    }
}

/// Says whether an event that lacks its blank line lost nothing else.
fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok()
}
