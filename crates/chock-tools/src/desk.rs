//! Where a session works, and how the paths of its calls are read.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Times;
use crate::command_line::{Ground, Named, line};
use crate::denied::DeniedRows;
use crate::skill::Skill;

/// The longest path a call may name, in bytes: Linux's own limit.
const PATH_BYTES_MAX: usize = 4095;

/// What every call of a session starts from.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) project: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) shell: PathBuf,
    pub(crate) times: Times,
    /// What no tool may read.
    pub(crate) denied: DeniedRows,
    /// The skills that can be read, each with a name of its own.
    pub(crate) skills: Vec<Skill>,
}

/// One path of a call, without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// What to open, relative to the session's directory where it lies beneath it.
    pub(crate) open: String,
    /// The absolute path, by which the session remembers a file.
    pub(crate) key: String,
    /// Whether it lies in the project by its name.
    pub(crate) inside: bool,
}

impl Desk {
    /// Reads a path as a call names it: absolute, or relative to the session's directory.
    ///
    /// `..` is taken back by name, as a shell's `cd` does. Nothing is looked up.
    pub(crate) fn place(&self, field: &str, path: &str) -> Result<Place, String> {
        if path.is_empty() {
            return Err(format!("`{field}` is empty: name a path"));
        }
        if path.len() > PATH_BYTES_MAX {
            let bytes = path.len();
            return Err(format!("`{field}` has {bytes} bytes: the limit is {PATH_BYTES_MAX}"));
        }
        if path.contains('\0') {
            return Err(format!("`{field}` holds a NUL byte, which no path can"));
        }
        let absolute = clean(&self.directory.join(path));
        let open = match absolute.strip_prefix(&self.directory) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
            Ok(rest) => rest.to_string_lossy().into_owned(),
            Err(_) => self.climb(&absolute),
        };
        let inside = absolute.starts_with(&self.project);
        Ok(Place { open, key: absolute.to_string_lossy().into_owned(), inside })
    }

    /// Names what a command line starts and opens, run at a place.
    pub(crate) fn named(&self, command: &str, place: &Place) -> Named {
        line(command, &Ground::new(&self.project, &self.path(place), &self.environment))
    }

    /// Returns the absolute path of a place.
    pub(crate) fn path(&self, place: &Place) -> PathBuf {
        clean(&self.directory.join(&place.open))
    }

    /// Spells a path of the project from a session's directory deeper in it. The project's own
    /// path may hold bytes that are not text, so it is not spelled out.
    fn climb(&self, absolute: &Path) -> String {
        let (Ok(depth), Ok(rest)) =
            (self.directory.strip_prefix(&self.project), absolute.strip_prefix(&self.project))
        else {
            return absolute.to_string_lossy().into_owned();
        };
        let mut shared = 0;
        for (one, other) in depth.components().zip(rest.components()) {
            if one != other {
                break;
            }
            shared += 1;
        }
        let up = depth.components().skip(shared).map(|_| Component::ParentDir);
        let path: PathBuf = up.chain(rest.components().skip(shared)).collect();
        path.to_string_lossy().into_owned()
    }
}

/// Takes `.` and `..` out of an absolute path, by name, as a shell's `cd` does.
pub(crate) fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                cleaned.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => cleaned.push(part),
        }
    }
    cleaned
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::skill::SkillLayer;
    use crate::skill::tests::skill;

    /// A desk for tests: a project at `/p`, worked on from `directory`.
    pub(crate) fn desk(directory: &str) -> Desk {
        Desk {
            project: "/p".into(),
            directory: directory.into(),
            environment: Vec::new(),
            shell: "/bin/sh".into(),
            times: Times::usual(),
            denied: DeniedRows::default(),
            skills: vec![skill("tests", SkillLayer::Project), skill("words", SkillLayer::Operator)],
        }
    }

    #[test]
    fn paths_are_read_from_the_session_s_directory() {
        // (directory, path, opened, key, inside)
        let cases = [
            ("/p", "a", "a", "/p/a", true),
            ("/p", "./a//b/", "a/b", "/p/a/b", true),
            ("/p", "/p/a", "a", "/p/a", true),
            ("/p", ".", ".", "/p", true),
            ("/p", "a/../..", "/", "/", false),
            ("/p", "../../../etc/passwd", "/etc/passwd", "/etc/passwd", false),
            ("/p", "/project", "/project", "/project", false),
            ("/p/s/t", "a", "a", "/p/s/t/a", true),
            ("/p/s/t", "../u/a", "../u/a", "/p/s/u/a", true),
            ("/p/s/t", "/p/a", "../../a", "/p/a", true),
            ("/p/s/t", "../..", "../..", "/p", true),
            ("/p/s/t", "../../../x", "/x", "/x", false),
            ("/p", "-rf", "-rf", "/p/-rf", true),
        ];
        for (directory, path, open, key, inside) in cases {
            let expected = Place { open: open.into(), key: key.into(), inside };
            let desk = desk(directory);
            let place = desk.place("path", path).expect(path);
            assert_eq!(place, expected, "{directory} {path}");
            assert_eq!(desk.path(&place), Path::new(key), "{directory} {path}");
        }
    }

    #[test]
    fn what_cannot_be_a_path_is_refused_by_field() {
        let long = "x".repeat(PATH_BYTES_MAX + 1);
        for path in ["", "a\0b", &long] {
            let fault = desk("/p").place("cwd", path).expect_err(path);
            assert!(fault.starts_with("`cwd` "), "{fault}");
        }
    }
}
