//! The driver of a platform that has none: everything refuses.

use crate::{
    Applied, Cage, Call, Finished, Hand, KeeperOptions, Layer, Program, Row, SandboxFault, State,
    SurveyOptions,
};

/// A keeper that cannot exist.
#[derive(Debug)]
pub(crate) enum Keeper {}

/// A cell that cannot exist.
#[derive(Debug)]
pub(crate) enum Held {}

impl Keeper {
    pub(crate) fn start(_: &KeeperOptions, _: &Cage) -> Result<Self, SandboxFault> {
        Err(SandboxFault::Unsupported)
    }

    pub(crate) fn layers(&self) -> &[Applied] {
        match *self {}
    }

    pub(crate) fn ids(&self) -> (u32, u32) {
        match *self {}
    }
}

pub(crate) fn run(keeper: &Keeper, _: &Program, _: Call<'_>) -> Result<Finished, SandboxFault> {
    match *keeper {}
}

/// There is no keeper to become, so the process goes on and refuses the word as a command.
pub(crate) fn keep(_: &'static [Hand]) {}

pub(crate) fn survey(_: &SurveyOptions) -> Vec<Row> {
    let row = |layer: Layer| Row {
        layer: layer.name().to_owned(),
        state: State::Unsupported,
        blocks: true,
        detail: "not on this platform".to_owned(),
        cure: String::new(),
    };
    Layer::ALL.into_iter().map(row).collect()
}
