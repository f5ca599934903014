//! One model behind one server, whatever its wire: tries, waits, and what errors mean.

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use chock_log::{Cost, Delta, ModelMessage, Stop};
use reqwest::Response;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use crate::cancel::Cancel;
use crate::context::Context;
use crate::endpoint::{Credentials, CredentialsFault, Endpoint, Pass};
use crate::fault::ProviderFault;
use crate::gist::Gist;
use crate::http::{Bearer, Refusal, Server};
use crate::ids::Ids;
use crate::listing::list;
use crate::model::{Listed, Model, Reply};
use crate::nearest::nearest;
use crate::retry::{Again, Course, Failure, Next};
use crate::told::{Meaning, Told};

/// How often a wait is told of.
const SECOND: Duration = Duration::from_secs(1);

/// How a context is written and a reply is read.
pub(crate) trait Wire: 'static {
    /// Where requests go, behind the base URL.
    const PATH: &'static str;

    /// Where models are listed, behind the base URL.
    fn models(endpoint: &Endpoint) -> &'static str {
        let _ = endpoint;
        "/models"
    }

    /// Puts the credential, and what else each request of a conversation says, into headers.
    fn bearer(endpoint: &Endpoint, pass: Option<Pass>, conversation: &str) -> Bearer;

    /// Writes a request's body.
    fn body(endpoint: &Endpoint, context: &Context) -> Vec<u8>;

    /// Reads a whole reply out of an answer.
    fn read(
        server: &Server,
        response: Response,
        bearer: &Bearer,
        ids: Ids,
        deltas: &mut dyn FnMut(Delta),
    ) -> impl Future<Output = Result<Gist, Refusal>>;
}

/// A model behind a server that speaks the wire `W`.
pub(crate) struct Wired<W> {
    endpoint: Endpoint,
    credentials: Box<dyn Credentials>,
    server: Server,
    wire: PhantomData<fn() -> W>,
}

/// What each try of one reply sends.
struct Request {
    /// The body, copied for each.
    body: Vec<u8>,
    /// The ids that calls already have.
    ids: Ids,
    /// What the conversation is called.
    conversation: String,
}

impl<W> std::fmt::Debug for Wired<W> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Wired").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl<W: Wire> Wired<W> {
    /// Prepares a model without asking its server anything.
    ///
    /// # Errors
    ///
    /// The base URL is none, or the client cannot be built.
    pub(crate) fn new(
        endpoint: Endpoint,
        credentials: Box<dyn Credentials>,
    ) -> Result<Self, ProviderFault> {
        let server = Server::new(&endpoint)?;
        Ok(Self { endpoint, credentials, server, wire: PhantomData })
    }

    /// Makes a request with the credential, and once more with a renewed one when the server
    /// refuses it.
    fn let_in<T>(
        &self,
        conversation: &str,
        cancel: &Cancel,
        tries: u32,
        mut send: impl FnMut(&Bearer) -> Result<Result<T, Refusal>, ProviderFault>,
    ) -> Result<T, Failure> {
        let never = |fault| Failure::new(fault, Again::Never);
        let mut renewed = false;
        loop {
            let pass = self.credentials.pass();
            let pass = pass.map_err(|source| never(self.no_credential(source)))?;
            let bearer = W::bearer(&self.endpoint, pass.clone(), conversation);
            let told = match send(&bearer).map_err(never)? {
                Ok(done) => return Ok(done),
                Err(Refusal::Failure(failure)) => return Err(failure),
                Err(Refusal::Told(told)) => told,
            };
            if let Some(pass) = pass.filter(|_| told.status == 401 && !renewed) {
                renewed = true;
                let another = self.credentials.renew(&pass);
                if another.map_err(|source| never(self.no_credential(source)))? {
                    continue;
                }
            }
            return Err(self.meant(*told, &bearer, tries, cancel));
        }
    }

    fn no_credential(&self, source: CredentialsFault) -> ProviderFault {
        ProviderFault::Credential { provider: self.endpoint.provider.clone(), source }
    }

    /// Sends the request for the `tries`th time.
    fn attempt(
        &self,
        request: &Request,
        tries: u32,
        deltas: &mut dyn FnMut(Delta),
        cancel: &Cancel,
    ) -> Result<Gist, Failure> {
        self.let_in(&request.conversation, cancel, tries, |bearer| {
            let reply = self.server.run(cancel, async |server| {
                let response = server.post(W::PATH, bearer, request.body.clone()).await?;
                W::read(server, response, bearer, request.ids.clone(), deltas).await
            });
            reply.map(|reply| match reply {
                Err(Refusal::Told(told)) if told.meaning() == Meaning::Refused => {
                    Ok(refused(*told))
                }
                reply => reply,
            })
        })
    }

    /// Says what a server's words mean for the person and for another try.
    fn meant(&self, told: Told, bearer: &Bearer, tries: u32, cancel: &Cancel) -> Failure {
        let provider = self.endpoint.provider.clone();
        let reason = told.reason();
        let (meaning, limit) = (told.meaning(), told.context_limit());
        let is_overload = told.is_overload();
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
            Meaning::Failed if is_overload => {
                ProviderFault::Overloaded { provider, status, tries, message }
            }
            Meaning::Failed | Meaning::Rejected | Meaning::Refused if status == 0 => {
                ProviderFault::Interrupted { provider, message }
            }
            Meaning::Picture => ProviderFault::Picture { provider, status, message },
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

    /// Waits, and tells each second how much is left.
    fn pause(
        &self,
        wait: Duration,
        deltas: &mut dyn FnMut(Delta),
        cancel: &Cancel,
    ) -> Result<(), ProviderFault> {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            deltas(Delta::Left { seconds });
            self.server.run(cancel, async |_| sleep(left.min(SECOND)).await)?;
        }
    }

    /// Finds the models that a wrong name may have meant, if the server lists any.
    fn near(&self, bearer: &Bearer, cancel: &Cancel) -> Vec<String> {
        let listed =
            self.server.run(cancel, async |server| list::<W>(server, &self.endpoint, bearer).await);
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

/// Makes the public type of one wire.
macro_rules! model_of {
    ($(#[$doc:meta])* $name:ident, $wire:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name($crate::wired::Wired<$wire>);

        impl $name {
            /// Prepares a model without asking its server anything.
            ///
            /// # Errors
            ///
            /// The base URL is none, or the client cannot be built.
            pub fn new(
                endpoint: $crate::Endpoint,
                credentials: Box<dyn $crate::Credentials>,
            ) -> Result<Self, $crate::ProviderFault> {
                $crate::wired::Wired::new(endpoint, credentials).map(Self)
            }
        }

        impl $crate::Model for $name {
            fn reply(
                &mut self,
                context: &$crate::Context,
                deltas: &mut dyn FnMut(chock_log::Delta),
                cancel: &$crate::Cancel,
            ) -> Result<$crate::Reply, $crate::ProviderFault> {
                self.0.reply(context, deltas, cancel)
            }

            fn context_tokens(&self) -> Option<u64> {
                self.0.context_tokens()
            }

            fn models(
                &self,
                cancel: &$crate::Cancel,
            ) -> Result<Vec<$crate::Listed>, $crate::ProviderFault> {
                self.0.models(cancel)
            }

            fn learn(&mut self, listed: &$crate::Listed) {
                self.0.learn(listed);
            }
        }
    };
}

pub(crate) use model_of;

impl<W: Wire> Model for Wired<W> {
    fn reply(
        &mut self,
        context: &Context,
        deltas: &mut dyn FnMut(Delta),
        cancel: &Cancel,
    ) -> Result<Reply, ProviderFault> {
        let body = W::body(&self.endpoint, context);
        let conversation = context.conversation.clone();
        let request = Request { body, ids: Ids::of(context), conversation };
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
                self.pause(wait, deltas, cancel)?;
            }
        }
    }

    fn context_tokens(&self) -> Option<u64> {
        self.endpoint.context_tokens
    }

    fn models(&self, cancel: &Cancel) -> Result<Vec<Listed>, ProviderFault> {
        let listed = self.let_in("", cancel, 1, |bearer| {
            self.server.run(cancel, async |server| list::<W>(server, &self.endpoint, bearer).await)
        });
        listed.map_err(Failure::fault)
    }

    fn learn(&mut self, listed: &Listed) {
        let endpoint = &mut self.endpoint;
        endpoint.context_tokens = endpoint.context_tokens.or(listed.context_tokens);
        endpoint.price = endpoint.price.take().or_else(|| listed.price.clone());
    }
}

/// Reads one piece of an answer, called `what`.
pub(crate) fn piece<T: DeserializeOwned>(
    server: &Server,
    text: &str,
    what: &str,
) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|fault| {
        let place = format!("column {} of {what}", fault.column());
        server.malformed(format!("{:?} error at {place}", fault.classify())).into()
    })
}

/// Reads the error that came in the place of a piece.
pub(crate) fn told_in(bearer: &Bearer, text: &str) -> Refusal {
    let value = serde_json::from_str(text).unwrap_or(Value::Null);
    let mut told = Told::from_stream(&value);
    bearer.hide(&mut told.message);
    Refusal::Told(Box::new(told))
}

/// Makes a reply of a request that the server refused for its content.
fn refused(told: Told) -> Gist {
    let (category, explanation) = (told.codes.into_iter().next(), Some(told.message));
    Gist { parts: Vec::new(), stop: Stop::Refused { category, explanation }, tokens: None }
}

/// Returns a number that is evenly spread over 0 to 1.
fn chance() -> f64 {
    getrandom::u32().map_or(0.5, |number| f64::from(number) / f64::from(u32::MAX))
}
