//! Learns beside the start of a run what its model takes and costs, where the configuration does
//! not say.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use chock_config::{Provider, ProviderKind};
use chock_log::{Event, LearnedBody, LogError, Pen};
use chock_provider::{Cancel, Listed, Model};

use crate::program::Program;
use crate::settings::Settings;
use crate::speaker;

/// How long a run's start may wait for a list of models. Servers answer in a tenth of it, and much
/// of it passes while the workspace is made.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// What is asked of a model's server.
pub(crate) struct Lesson {
    answer: Receiver<Option<Listed>>,
    cancel: Cancel,
    until: Instant,
}

impl Lesson {
    /// Asks the server of a model for it, on a thread of its own, if the provider's row leaves out
    /// what a server can tell.
    pub(crate) fn of(
        program: &Program,
        settings: &Settings,
        (provider, name): (&str, &str),
    ) -> Option<Self> {
        let row = settings.effective.person.provider(provider)?.clone();
        if !leaves_out(&row) {
            return None;
        }
        let (tell, answer) = channel();
        let cancel = Cancel::new();
        let (stop, name) = (cancel.clone(), name.to_owned());
        let (places, person) = (program.places.clone(), settings.effective.person.clone());
        thread::spawn(move || {
            // Whatever is wrong here, the first request of the run meets as well, and tells.
            let model = speaker::of_row(&places, &person, &row).ok();
            let listed = model.and_then(|model| model.models(&stop).ok());
            let listed = listed.and_then(|listed| Listed::of(&listed, &name).cloned());
            // Nobody may wait any more.
            let _ = tell.send(listed);
        });
        Some(Self { answer, cancel, until: Instant::now() + WAIT_MAX })
    }

    /// Waits for the answer, but not for long.
    fn end(self) -> Option<Listed> {
        let left = self.until.saturating_duration_since(Instant::now());
        let listed = self.answer.recv_timeout(left);
        self.cancel.trigger();
        listed.ok().flatten()
    }
}

/// Tells a model what was learned of it now, or in an earlier run. What is new is a record.
pub(crate) fn learn(
    pen: &Pen,
    lesson: Option<Lesson>,
    (provider, name): (&str, &str),
    model: &mut dyn Model,
) -> Result<(), LogError> {
    let Some(lesson) = lesson else { return Ok(()) };
    let of_model = (provider.to_owned(), name.to_owned());
    let known = pen.session(|session| session.learned.get(&of_model).cloned());
    let now = lesson.end().map(|listed| LearnedBody {
        provider: provider.to_owned(),
        model: name.to_owned(),
        context_tokens: listed.context_tokens,
        price: listed.price,
        price_day: listed.price_day,
    });
    let says_something = |body: &LearnedBody| body.context_tokens.is_some() || body.price.is_some();
    let now = now.filter(says_something);
    if let Some(body) = now.as_ref().filter(|now| known.as_ref() != Some(now)) {
        pen.write(Event::Learned(body.clone()))?;
    }
    if let Some(body) = now.or(known) {
        let LearnedBody { context_tokens, price, model: name, .. } = body;
        let (efforts, price_day) = (Vec::new(), None);
        model.learn(&Listed { name, context_tokens, efforts, price, price_day });
    }
    Ok(())
}

/// Says whether a row leaves out what its server may tell.
fn leaves_out(row: &Provider) -> bool {
    // A script's turns are free, and as long as they are.
    let has_server = !matches!(row.kind, ProviderKind::Scripted { .. });
    has_server && (row.context_tokens.is_none() || row.price().is_none())
}
