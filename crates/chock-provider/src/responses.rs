//! The wire of `OpenAI`'s Responses, with a key or with a ChatGPT account.

mod draft;
mod request;

use chock_log::Delta;
use reqwest::Response;
use reqwest::header::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answer::{self, Said};
use crate::context::Context;
use crate::endpoint::{Endpoint, Pass};
use crate::gist::{Excess, Gist};
use crate::http::{Bearer, Refusal, Server};
use crate::ids::Ids;
use crate::responses::draft::{Event, Gathering, Response as Whole};
use crate::wired::{Wire, model_of, piece, told_in};

model_of! {
    /// A model behind `OpenAI`'s Responses.
    Responses, Items
}

/// The wire of Responses: a conversation is a list of items.
#[derive(Debug)]
pub(crate) struct Items;

/// The header with the account that a credential speaks for.
const ACCOUNT: HeaderName = HeaderName::from_static("chatgpt-account-id");
/// The header with the name that requests give themselves.
const ORIGINATOR: HeaderName = HeaderName::from_static("originator");
/// The header with the conversation's name.
const SESSION: HeaderName = HeaderName::from_static("session_id");

impl Wire for Items {
    const PATH: &'static str = "/responses";

    fn models(endpoint: &Endpoint) -> &'static str {
        match endpoint.originator {
            Some(_) => concat!("/models?client_version=", env!("CARGO_PKG_VERSION")),
            None => "/models",
        }
    }

    fn bearer(endpoint: &Endpoint, pass: Option<Pass>, conversation: &str) -> Bearer {
        let (secret, account) = pass.map(|pass| (pass.secret, pass.account)).unzip();
        let mut bearer = Bearer::new(secret);
        let Some(originator) = &endpoint.originator else { return bearer };
        let session = Some(conversation).filter(|name| !name.is_empty());
        let account = account.flatten();
        let more = [
            (ACCOUNT, account.as_deref()),
            (ORIGINATOR, Some(originator.as_str())),
            (SESSION, session),
        ];
        for (name, value) in more {
            // What no header takes is refused by the server for its absence.
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                bearer = bearer.with(name, value);
            }
        }
        bearer
    }

    fn body(endpoint: &Endpoint, context: &Context) -> Vec<u8> {
        request::body(endpoint, context)
    }

    async fn read(
        server: &Server,
        response: Response,
        bearer: &Bearer,
        ids: Ids,
        deltas: &mut dyn FnMut(Delta),
    ) -> Result<Gist, Refusal> {
        let mut gathering = Gathering::default();
        let take = |said: Said<'_>| {
            let taken = match said {
                Said::Whole(text) => gathering.whole(document(server, bearer, text)?, deltas),
                Said::Event(text) => gathering.take(event(server, bearer, text)?, deltas),
            };
            taken.map_err(|Excess { what, max }| server.too_large(what, max))?;
            Ok(gathering.is_ended())
        };
        answer::each(server, response, take).await?;
        gathering.finish(ids).ok_or_else(|| server.cut_short().into())
    }
}

/// Reads one event, or the error that came in its place.
fn event(server: &Server, bearer: &Bearer, text: &str) -> Result<Event, Refusal> {
    let event: Event = piece(server, text, "an event")?;
    match event.kind.as_str() {
        "response.failed" => {
            let failed: Failed = piece(server, text, "an event")?;
            Err(told_in(bearer, failed.response.as_ref().map_or(text, |response| response.get())))
        }
        "error" => Err(told_in(bearer, text)),
        // Gateways put an error alone where an event should be.
        "" if event.error.is_some() => Err(told_in(bearer, text)),
        _ => Ok(event),
    }
}

/// Reads a response that came in one piece, or the error in its place.
fn document(server: &Server, bearer: &Bearer, text: &str) -> Result<Whole, Refusal> {
    let whole: Whole = piece(server, text, "a response")?;
    let failed = whole.status.as_deref() == Some("failed");
    if failed || whole.status.is_none() || whole.error.as_ref().is_some_and(|it| !it.is_null()) {
        return Err(told_in(bearer, text));
    }
    Ok(whole)
}

/// An event that tells of a failure.
#[derive(Debug, Deserialize)]
struct Failed {
    response: Option<Box<RawValue>>,
}
