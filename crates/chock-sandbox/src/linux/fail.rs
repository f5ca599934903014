//! What the keeper's side could not do, in a form that travels.

use std::io;
use std::path::Path;

use rustix::io::Errno;

use super::machine::Machine;
use super::wire::{Reader, Torn, Writer};
use crate::{Layer, SandboxFault};

/// A step that the kernel refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fail {
    pub(super) what: What,
    pub(super) step: String,
    pub(super) errno: Errno,
}

/// What the step was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    Layer(Layer),
    /// A path of the cage, as text for people.
    Path(String),
}

/// The longest step or path of a report, in bytes, so that a report fits one message.
const TEXT_MAX: usize = 1024;

impl Fail {
    /// Returns a closure that says which step of a layer failed, for `map_err`.
    pub(super) fn at(layer: Layer, step: &str) -> impl FnOnce(Errno) -> Self + '_ {
        move |errno| Self { what: What::Layer(layer), step: step.to_owned(), errno }
    }

    /// As [`at`](Self::at), for a path of the cage.
    pub(super) fn path<'a>(path: &'a Path, step: &'a str) -> impl FnOnce(Errno) -> Self + 'a {
        move |errno| Self {
            what: What::Path(path.display().to_string()),
            step: step.to_owned(),
            errno,
        }
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        match &self.what {
            What::Layer(layer) => writer.number(*layer as u32),
            What::Path(path) => {
                writer.number(0);
                writer.bytes(bounded(path));
            }
        }
        writer.bytes(bounded(&self.step));
        writer.number(self.errno.raw_os_error().unsigned_abs());
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Torn> {
        let number = u8::try_from(reader.number()?).map_err(|_| Torn)?;
        let what = match number {
            0 => What::Path(reader.text(TEXT_MAX)?),
            _ => What::Layer(Layer::from_number(number).ok_or(Torn)?),
        };
        let step = reader.text(TEXT_MAX)?;
        let errno = i32::try_from(reader.number()?).map_err(|_| Torn)?;
        Ok(Self { what, step, errno: Errno::from_raw_os_error(errno) })
    }

    /// Returns the fault that the caller of the sandbox sees, with the cure if one is known.
    pub(super) fn into_fault(self) -> SandboxFault {
        let source = io::Error::from(self.errno);
        match self.what {
            What::Layer(layer) => {
                let cure = Machine::ask().cure(layer, self.errno).to_owned();
                SandboxFault::Layer { layer, step: self.step, cure, source }
            }
            What::Path(path) => SandboxFault::Mount { path, step: self.step, source },
        }
    }
}

fn bounded(text: &str) -> &[u8] {
    let end = text.floor_char_boundary(TEXT_MAX);
    &text.as_bytes()[..end]
}
