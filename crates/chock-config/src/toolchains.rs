//! Which toolchains of the home enter the sandbox.

use chock_zon::Spanned;
use serde::Deserialize;

use crate::path::PersonPath;
use crate::source::Source;

/// What the person adds to the toolchains that are found, and takes away from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Toolchains {
    /// Directories that are bound read only at their own place: absolute or below `~/`.
    pub add: Vec<Spanned<PersonPath>>,
    /// Names of toolchains (`pyenv`), or paths as in `add`, that do not enter.
    pub remove: Vec<Spanned<PersonPath>>,
}

/// The most paths of each list. Each is a mount of every call.
const PATHS_MAX: usize = 64;

impl Toolchains {
    /// Notes every path that cannot be.
    pub(crate) fn check(self, source: &mut Source<'_>) -> Self {
        for path in &self.add {
            if let Some(why) = refusal(path.value.as_str(), path.value.is_anchored()) {
                source.refuse(path.place, why);
            }
        }
        for path in &self.remove {
            let is_name = !path.value.as_str().contains('/');
            if !is_name && !path.value.is_anchored() {
                source.refuse(path.place, "name a toolchain, or a path with `/` or `~/` in front");
            }
        }
        for paths in [&self.add, &self.remove] {
            if let Some(path) = paths.get(PATHS_MAX) {
                source.refuse(path.place, format!("more than {PATHS_MAX} paths are listed"));
            }
        }
        self
    }
}

/// Why a directory may not enter: it would bring more than a toolchain along.
fn refusal(path: &str, is_anchored: bool) -> Option<&'static str> {
    if !is_anchored {
        return Some("a toolchain's path starts with `/` or `~/`");
    }
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    match parts.as_slice() {
        parts if parts.contains(&"..") => Some("a toolchain's path has no `..` in it"),
        [] | ["~"] => Some("all of `/` or of the home is not a toolchain"),
        ["home" | "root" | "proc" | "sys" | "dev" | "run" | "etc" | "var"] | ["home", _] => {
            Some("this directory holds more than a toolchain; name the one below it")
        }
        _ => None,
    }
}
