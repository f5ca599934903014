//! Which folders belong to a directory of programs that no table row explains.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The parts of an installed package that hold programs, libraries and what they read.
const PARTS: [&str; 14] = [
    "bin", "conf", "include", "jmods", "jre", "lib", "lib32", "lib64", "libexec", "release",
    "sbin", "share", "src", "VERSION",
];

/// What goes with a directory of programs.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// It is the `bin` of a package, whose other parts it needs.
    Package { root: PathBuf, parts: &'static [&'static str] },
    /// Nothing but itself.
    Alone,
    /// It is somewhere that holds more than programs.
    Unknown,
}

/// Finds the package of a real directory: below `/opt`, or a Go or Java of the person's own.
pub(super) fn of(directory: &Path) -> Prefix {
    let is_bin = matches!(directory.file_name().and_then(OsStr::to_str), Some("bin" | "sbin"));
    let parent = directory.parent().filter(|_| is_bin);
    let is_package = parent.is_some_and(|root| {
        root.join("src/runtime/runtime2.go").exists() || root.join("lib/modules").exists()
    });
    match parent {
        Some(root) if is_package || directory.starts_with("/opt") => {
            Prefix::Package { root: root.to_owned(), parts: &PARTS }
        }
        Some(_) | None if directory.starts_with("/opt") && directory != Path::new("/opt") => {
            Prefix::Alone
        }
        Some(_) | None => Prefix::Unknown,
    }
}
