//! The wire of chat completions, as `OpenAI` and every compatible server speak it.

mod calls;
mod draft;
mod request;

use chock_log::{Cost, Delta, ModelMessage, Stop};
use reqwest::Response;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

use crate::answer::{self, Answer};
use crate::cancel::Cancel;
use crate::compat::draft::{Chunk, Excess, Gathering, Gist};
use crate::context::Context;
use crate::endpoint::{Credentials, Endpoint};
use crate::fault::ProviderFault;
use crate::http::{Bearer, Refusal, Server};
use crate::ids::Ids;
use crate::model::{Listed, Model, Reply};
use crate::nearest::nearest;
use crate::retry::{Again, Course, Failure, Next};
use crate::told::{Meaning, Told};

/// The most bytes of a list of models. The longest seen, of 400 models, has 700 KB.
const MODELS_BYTES_MAX: usize = 8 << 20;
/// The most models that are read.
const MODELS_MAX: usize = 4096;

/// A model behind chat completions.
pub struct OpenaiCompat {
    endpoint: Endpoint,
    credentials: Box<dyn Credentials>,
    server: Server,
}

/// What each try of one reply sends.
struct Request {
    /// The body, copied for each.
    body: Vec<u8>,
    /// The ids that calls already have.
    ids: Ids,
}

impl std::fmt::Debug for OpenaiCompat {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("OpenaiCompat").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl OpenaiCompat {
    /// Prepares a model without asking its server anything.
    ///
    /// # Errors
    ///
    /// The base URL is none, or the client cannot be built.
    pub fn new(
        endpoint: Endpoint,
        credentials: Box<dyn Credentials>,
    ) -> Result<Self, ProviderFault> {
        let server = Server::new(&endpoint)?;
        Ok(Self { endpoint, credentials, server })
    }

    /// Lists the models that the server offers, at most 4096.
    ///
    /// # Errors
    ///
    /// As for a reply; nothing is tried twice.
    pub fn models(&self, cancel: &Cancel) -> Result<Vec<Listed>, ProviderFault> {
        let bearer = self.bearer()?;
        let list = self.server.run(cancel, async |server| list(server, &bearer).await)?;
        list.map_err(|refusal| match refusal {
            Refusal::Failure(failure) => failure.fault(),
            Refusal::Told(told) => self.meant(*told, &bearer, 1, cancel).fault(),
        })
    }

    fn bearer(&self) -> Result<Bearer, ProviderFault> {
        let secret = self.credentials.bearer().map_err(|source| ProviderFault::Credential {
            provider: self.endpoint.provider.clone(),
            source,
        })?;
        Ok(Bearer::new(secret))
    }

    /// Sends the request for the `tries`th time.
    fn attempt(
        &self,
        request: &Request,
        tries: u32,
        deltas: &mut dyn FnMut(Delta),
        cancel: &Cancel,
    ) -> Result<Gist, Failure> {
        let never = |fault| Failure::new(fault, Again::Never);
        let bearer = self.bearer().map_err(never)?;
        let reply = self.server.run(cancel, async |server| {
            let response = server.post("/chat/completions", &bearer, request.body.clone()).await?;
            read(server, response, &bearer, request.ids.clone(), deltas).await
        });
        match reply.map_err(never)? {
            Ok(gist) => Ok(gist),
            Err(Refusal::Failure(failure)) => Err(failure),
            Err(Refusal::Told(told)) if told.meaning() == Meaning::Refused => Ok(refused(*told)),
            Err(Refusal::Told(told)) => Err(self.meant(*told, &bearer, tries, cancel)),
        }
    }

    /// Says what a server's words mean for the person and for another try.
    fn meant(&self, told: Told, bearer: &Bearer, tries: u32, cancel: &Cancel) -> Failure {
        let provider = self.endpoint.provider.clone();
        let reason = told.reason();
        let (meaning, limit) = (told.meaning(), told.context_limit());
        let Told { url, status, message, wait, retry, page, .. } = told;
        let fault = match meaning {
            Meaning::Key => ProviderFault::Key { provider, status, message },
            Meaning::NoSuchModel => {
                let (model, near) = (self.endpoint.model.clone(), self.near(bearer, cancel));
                ProviderFault::NoSuchModel { provider, model, near, message }
            }
            Meaning::ContextTooLong => ProviderFault::ContextTooLong { limit, message },
            Meaning::OutOfCredit => ProviderFault::OutOfCredit { provider, resets: wait, message },
            Meaning::RateLimited => ProviderFault::RateLimited { provider, tries, wait, message },
            Meaning::NotAnApi => {
                let answer = if page { "an HTML page" } else { "something else" };
                ProviderFault::NotAnApi { url, status, answer }
            }
            Meaning::Failed | Meaning::Rejected | Meaning::Refused if status == 0 => {
                ProviderFault::Interrupted { provider, message }
            }
            Meaning::Failed => ProviderFault::Server { provider, status, tries, message },
            Meaning::Rejected | Meaning::Refused => {
                ProviderFault::Rejected { provider, status, message }
            }
        };
        let passes = matches!(meaning, Meaning::RateLimited | Meaning::Failed);
        let again = match retry {
            Some(false) => Again::Never,
            Some(true) | None if passes => Again::Later { asked: wait, reason },
            Some(true) | None => Again::Never,
        };
        Failure::new(fault, again)
    }

    /// Finds the models that a wrong name may have meant, if the server lists any.
    fn near(&self, bearer: &Bearer, cancel: &Cancel) -> Vec<String> {
        let listed = self.server.run(cancel, async |server| list(server, bearer).await);
        let Ok(Ok(listed)) = listed else { return Vec::new() };
        let names: Vec<_> = listed.into_iter().map(|listed| listed.name).collect();
        nearest(&self.endpoint.model, &names)
    }

    fn cost(&self, gist: &Gist) -> Cost {
        match (&self.endpoint.price, &gist.tokens) {
            (Some(price), Some(tokens)) => price.of(tokens),
            (Some(_), None) => Cost::Unknown,
            (None, _) if self.server.is_loopback() => Cost::Free,
            (None, _) => Cost::Unknown,
        }
    }

    fn whole(&self, gist: Gist, course: Course) -> Reply {
        let cost = self.cost(&gist);
        let Gist { parts, stop, tokens } = gist;
        let (provider, model) = (self.endpoint.provider.clone(), self.endpoint.model.clone());
        let message = ModelMessage { provider, model, parts, stop };
        Reply { message, tokens, cost, retries: course.retries() }
    }
}

impl Model for OpenaiCompat {
    fn reply(
        &mut self,
        context: &Context,
        deltas: &mut dyn FnMut(Delta),
        cancel: &Cancel,
    ) -> Result<Reply, ProviderFault> {
        let body = request::body(&self.endpoint, context);
        let request = Request { body, ids: Ids::of(context) };
        let mut course = Course::new(self.endpoint.patience);
        loop {
            let sent = course.send();
            let mut shown = false;
            let mut show = |delta| {
                shown = true;
                deltas(delta);
            };
            let failure = match self.attempt(&request, sent, &mut show, cancel) {
                Ok(gist) => return Ok(self.whole(gist, course)),
                Err(failure) => failure,
            };
            let next = course.after(failure, chance())?;
            if shown {
                deltas(Delta::Restart);
            }
            if let Next::Wait(wait) = next {
                if let Some(told) = course.last() {
                    let (attempt, reason) = (told.attempt, told.reason.clone());
                    deltas(Delta::Waiting { seconds: told.seconds, attempt, reason });
                }
                self.server.run(cancel, async |_| sleep(wait).await)?;
            }
        }
    }

    fn context_tokens(&self) -> Option<u64> {
        self.endpoint.context_tokens
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
    let chunk: Chunk = serde_json::from_str(text).map_err(|fault| {
        let place = format!("column {} of a chunk", fault.column());
        server.malformed(format!("{:?} error at {place}", fault.classify()))
    })?;
    let error = chunk.error.as_ref().filter(|error| !error.is_null());
    if error.is_none() && chunk.object.as_ref().and_then(Value::as_str) != Some("error") {
        return Ok(chunk);
    }
    let value = serde_json::from_str(text).unwrap_or(Value::Null);
    let mut told = Told::from_stream(&value);
    bearer.hide(&mut told.message);
    Err(Refusal::Told(Box::new(told)))
}

/// Makes a reply of a request that the server refused for its content.
fn refused(told: Told) -> Gist {
    let (category, explanation) = (told.codes.into_iter().next(), Some(told.message));
    Gist { parts: Vec::new(), stop: Stop::Refused { category, explanation }, tokens: None }
}

/// The rows of `GET /models`, in the fields of several servers.
#[derive(Debug, Deserialize)]
struct Models {
    data: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    context_window: Option<u64>,
    #[serde(default)]
    context_length: Option<u64>,
    #[serde(default)]
    max_model_len: Option<u64>,
}

async fn list(server: &Server, bearer: &Bearer) -> Result<Vec<Listed>, Refusal> {
    let body = server.get("/models", bearer, MODELS_BYTES_MAX).await?;
    let models: Models = serde_json::from_slice(&body)
        .map_err(|_| server.malformed("its list of models is none"))?;
    let rows = models.data.into_iter().take(MODELS_MAX).map(|row| Listed {
        name: row.id,
        context_tokens: row.context_window.or(row.context_length).or(row.max_model_len),
    });
    Ok(rows.collect())
}

/// Returns a number that is evenly spread over 0 to 1.
fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
