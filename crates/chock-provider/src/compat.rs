//! The wire of chat completions, as `OpenAI` and every compatible server speak it.

mod calls;
mod draft;
mod request;

use chock_log::Delta;
use reqwest::Response;
use serde_json::Value;

use crate::answer::{self, Answer};
use crate::compat::draft::{Chunk, Gathering};
use crate::context::Context;
use crate::endpoint::{Endpoint, Pass};
use crate::gist::{Excess, Gist};
use crate::http::{Bearer, Refusal, Server};
use crate::ids::Ids;
use crate::wired::{Wire, model_of, piece, told_in};

pub(crate) use calls::replayed;
pub(crate) use request::valid;

model_of! {
    /// A model behind chat completions.
    OpenaiCompat, ChatCompletions
}

/// The wire of chat completions.
#[derive(Debug)]
pub(crate) struct ChatCompletions;

impl Wire for ChatCompletions {
    const PATH: &'static str = "/chat/completions";

    fn bearer(_endpoint: &Endpoint, pass: Option<Pass>, _conversation: &str) -> Bearer {
        Bearer::new(pass.map(|pass| pass.secret))
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
        read(server, response, bearer, ids, deltas).await
    }
}

/// Reads a whole reply out of an answer.
async fn read(
    server: &Server,
    response: Response,
    bearer: &Bearer,
    ids: Ids,
    deltas: &mut dyn FnMut(Delta),
) -> Result<Gist, Refusal> {
    let mut gathering = Gathering::default();
    let mut take = |gathering: &mut Gathering, chunk| {
        let taken = gathering.take(chunk, deltas);
        taken.map_err(|Excess { what, max }| server.too_large(what, max))
    };
    let done = match answer::open(server, response).await? {
        Answer::Document(text) => {
            take(&mut gathering, chunk(server, bearer, &text)?)?;
            true
        }
        Answer::Events(mut events) => loop {
            let event = match gathering.is_finished() {
                // The reply is whole: what is missing now is only its count of tokens.
                true => events.tail(server).await,
                false => events.next(server).await?,
            };
            let Some(event) = event else { break false };
            if event.data.trim() == "[DONE]" {
                events.drain().await;
                break true;
            }
            match chunk(server, bearer, &event.data) {
                Ok(chunk) => take(&mut gathering, chunk)?,
                Err(_) if gathering.is_finished() => {}
                Err(refusal) => return Err(refusal),
            }
        },
    };
    gathering.finish(done, ids).ok_or_else(|| server.cut_short().into())
}

/// Reads one chunk, or the error that came in its place.
fn chunk(server: &Server, bearer: &Bearer, text: &str) -> Result<Chunk, Refusal> {
    let chunk: Chunk = piece(server, text, "a chunk")?;
    let error = chunk.error.as_ref().filter(|error| !error.is_null());
    if error.is_none() && chunk.object.as_ref().and_then(Value::as_str) != Some("error") {
        return Ok(chunk);
    }
    Err(told_in(bearer, text))
}
