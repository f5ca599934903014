//! Prepares the models that answer in the place of one whose server is overloaded.

use chock_agent::Fallback;
use chock_config::Flags;
use chock_log::{LogError, Pen};
use chock_provider::Model;

use crate::exit::Failure;
use crate::house::unflushed;
use crate::lesson::{self, Lesson};
use crate::program::Program;
use crate::settings::Settings;
use crate::speaker::{self, Speaker};
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

/// What is being learned of a run's model, and who answers in its place.
#[derive(Default)]
pub(crate) struct Spares {
    first: Option<Lesson>,
    spares: Vec<Spare>,
}

/// One model that answers in the place of another.
struct Spare {
    speaker: Speaker,
    lesson: Option<Lesson>,
    images: bool,
}

impl Spares {
    /// Prepares those that `defaults.fallbacks` names, without the model `first`, and has their
    /// secrets masked. One that cannot be used is named and left out: the run can start without.
    pub(crate) fn prepare(
        program: &Program,
        settings: &mut Settings,
        first: (&str, &str),
        terminal: &mut Terminal,
    ) -> Self {
        let lesson = Lesson::of(program, settings, first);
        let mut spares: Vec<Spare> = Vec::new();
        for named in settings.effective.person.defaults.fallbacks.clone() {
            let provider = Some(named.provider.value.clone());
            let model = named.model.map(|model| model.value);
            let flags = Flags { provider, model, max_turns: None };
            let prepared = speaker::chosen(&program.places, settings, &flags);
            let prepared = prepared.and_then(|speaker| {
                settings.permits_model(&speaker.provider, &speaker.name)?;
                Ok(speaker)
            });
            let mut speaker = match prepared {
                Ok(speaker) => speaker,
                Err(failure) => {
                    let name = &named.provider.value;
                    let line = format!("note: {name} is no fallback: {}", failure.message);
                    terminal.say(Weight::Warn, &visible_line(&line));
                    continue;
                }
            };
            let names = (speaker.provider.as_str(), speaker.name.as_str());
            if names == first || spares.iter().any(|spare| spare.names() == names) {
                continue;
            }
            let lesson = Lesson::of(program, settings, names);
            let images = settings.takes_pictures(&speaker.provider);
            settings.lent.append(&mut speaker.lent);
            spares.push(Spare { speaker, lesson, images });
        }
        Self { first: lesson, spares }
    }

    /// Tells the run's model what was learned of it, and returns the fallbacks.
    pub(crate) fn ready(
        self,
        pen: &Pen,
        first: (&str, &str),
        model: &mut dyn Model,
    ) -> Result<Vec<Fallback>, Failure> {
        let learned = lesson::learn(pen, self.first, first, model);
        learned.map_err(|fault| unflushed(&fault))?;
        let fallbacks = self.spares.into_iter().map(|spare| spare.ready(pen));
        fallbacks.collect::<Result<_, _>>().map_err(|fault| unflushed(&fault))
    }
}

impl Spare {
    fn names(&self) -> (&str, &str) {
        (&self.speaker.provider, &self.speaker.name)
    }

    /// Takes up what its server told of it, and makes a fallback of it.
    fn ready(self, pen: &Pen) -> Result<Fallback, LogError> {
        let Self { speaker, lesson, images } = self;
        let Speaker { mut model, provider, name, .. } = speaker;
        lesson::learn(pen, lesson, (&provider, &name), model.as_mut())?;
        Ok(Fallback { model, provider, name, images })
    }
}
