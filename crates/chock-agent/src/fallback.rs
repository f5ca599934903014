//! Goes on with another model where the one that answered is overloaded.

use chock_log::{Event, Session, SwitchedBody, causes};
use chock_provider::{Message, Model, ProviderFault};

use crate::agent::{Agent, Finish};
use crate::context::messages;

/// A model that may answer in the place of one whose server is overloaded.
pub struct Fallback {
    /// It.
    pub model: Box<dyn Model>,
    /// Its provider's row.
    pub provider: String,
    /// Its name, as the server spells it.
    pub name: String,
    /// Whether it takes pictures.
    pub images: bool,
}

impl Agent<'_> {
    /// Has the next model answer from here on, if the fault is an overload and one is left that
    /// can go on. The switch is a record before the other is asked anything.
    ///
    /// One that takes no pictures is passed over while there are some in the conversation.
    pub(crate) fn switch(&mut self, fault: &ProviderFault) -> Result<bool, Finish> {
        let house = &mut self.house;
        if !fault.is_overload() || house.fallbacks.is_empty() {
            return Ok(false);
        }
        let shows = house.gallery.is_shown && house.pen.session(has_pictures);
        let fits = |fallback: &Fallback| fallback.images || !shows;
        let Some(next) = house.fallbacks.iter().position(fits) else { return Ok(false) };
        let Fallback { model, provider, name, images } = house.fallbacks.remove(next);
        let from = house.pen.session(|session| session.answering.clone()).unwrap_or_default();
        let (from_provider, from_model) = from;
        let body = SwitchedBody {
            provider,
            model: name.clone(),
            from_provider,
            from_model,
            reason: causes(fault),
        };
        self.record(Event::Switched(body))?;
        let house = &mut self.house;
        house.model = model;
        house.broker.hears(&name);
        if house.gallery.is_shown && !images {
            house.gallery.is_shown = false;
            house.tools.take_pictures_away();
            self.schemas = house.tools.schemas();
        }
        self.no_room_at = 0;
        Ok(true)
    }
}

/// Says whether pictures are in the conversation as it is told now.
fn has_pictures(session: &Session) -> bool {
    let told = messages(session, session.compaction.as_ref());
    told.iter().any(|message| matches!(message, Message::Picture { .. }))
}
