//! The wire of Anthropic's Messages.

mod draft;
mod request;

use chock_log::Delta;
use reqwest::Response;
use reqwest::header::{HeaderName, HeaderValue};

use crate::answer::{self, Said};
use crate::context::Context;
use crate::endpoint::{Endpoint, Pass};
use crate::gist::{Excess, Gist};
use crate::http::{Bearer, Refusal, Server};
use crate::ids::Ids;
use crate::messages::draft::{Event, Gathering};
use crate::wired::{Wire, model_of, piece, told_in};

model_of! {
    /// A model behind Anthropic's Messages.
    Anthropic, Messages
}

/// The wire of Anthropic's Messages.
#[derive(Debug)]
pub(crate) struct Messages;

/// The version that is spoken when none is named, which local servers know too.
const VERSION: &str = "2023-06-01";

impl Wire for Messages {
    const PATH: &'static str = "/messages";

    /// Without a limit, the server tells of 20.
    fn models(_endpoint: &Endpoint) -> &'static str {
        "/models?limit=1000"
    }

    /// The oldest version has the key in a header of its own; later ones as a bearer.
    fn bearer(endpoint: &Endpoint, pass: Option<Pass>, _conversation: &str) -> Bearer {
        let secret = pass.map(|pass| pass.secret);
        let version = endpoint.api_version.as_deref().unwrap_or(VERSION);
        let bearer = match version {
            VERSION => Bearer::new(secret).in_header(HeaderName::from_static("x-api-key")),
            _ => Bearer::new(secret),
        };
        // What no header takes is refused by the server for its absence.
        match HeaderValue::from_str(version) {
            Ok(version) => bearer.with(HeaderName::from_static("anthropic-version"), version),
            Err(_) => bearer,
        }
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
                Said::Whole(text) => gathering.whole(event(server, bearer, text)?, deltas),
                Said::Event(text) => gathering.take(event(server, bearer, text)?, deltas),
            };
            taken.map_err(|Excess { what, max }| server.too_large(what, max))?;
            Ok(gathering.is_stopped())
        };
        answer::each(server, response, take).await?;
        gathering.finish(ids).ok_or_else(|| server.cut_short().into())
    }
}

/// Reads one event, or the error that came in its place.
fn event(server: &Server, bearer: &Bearer, text: &str) -> Result<Event, Refusal> {
    let event: Event = piece(server, text, "an event")?;
    if event.kind != "error" {
        return Ok(event);
    }
    Err(told_in(bearer, text))
}
