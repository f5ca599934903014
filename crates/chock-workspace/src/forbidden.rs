//! Directories that are never a project.

use std::path::{Path, PathBuf};

use crate::{ProjectFault, Surroundings};

/// Places the cage fills itself. Nothing of a project can be shown below them.
const TAKEN: [&str; 4] = ["/dev", "/proc", "/sys", "/run/chock"];

/// Directories of the system that are mounted as they are.
const SYSTEM: [&str; 2] = ["/usr", "/etc"];

/// Refuses `project`, a real path, when it cannot be one.
pub(crate) fn check(project: &Path, surroundings: &Surroundings) -> Result<(), ProjectFault> {
    let refuse = |why: String| Err(ProjectFault::Forbidden { path: project.to_owned(), why });
    if project == Path::new("/") {
        return refuse("it is the root of the file system".to_owned());
    }
    for taken in TAKEN {
        if project.starts_with(taken) {
            return refuse(format!("it is inside `{taken}`"));
        }
        if Path::new(taken).starts_with(project) {
            return refuse(format!("it holds `{taken}`"));
        }
    }
    for system in SYSTEM {
        if Path::new(system).starts_with(project) {
            return refuse(format!("it is or holds `{system}`"));
        }
    }
    if let Some(home) = &surroundings.home {
        let home = real(home);
        if project == home {
            return refuse("it is your home".to_owned());
        }
        if home.starts_with(project) {
            return refuse("it holds your home".to_owned());
        }
    }
    for own in &surroundings.own_directories {
        let own = real(own);
        if own.starts_with(project) || project.starts_with(&own) {
            return Err(ProjectFault::Own { path: project.to_owned(), own });
        }
    }
    Ok(())
}

/// The real path of something that may not be there yet.
fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        if let Ok(found) = there.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                missing.push(name);
                there = parent;
            }
            (None, _) | (_, None) => return path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::check;
    use crate::Surroundings;

    #[test]
    fn system_places_homes_and_own_directories_are_refused() {
        let around = Surroundings {
            search_path: "/usr/bin".into(),
            home: Some(PathBuf::from("/nowhere/people/ann")),
            config_home: None,
            own_directories: vec![PathBuf::from("/nowhere/state/chock")],
        };
        let refused = [
            "/",
            "/dev",
            "/dev/shm/x",
            "/proc/1",
            "/sys",
            "/run",
            "/run/chock/x",
            "/usr",
            "/etc",
            "/nowhere/people/ann",
            "/nowhere/people",
            "/nowhere",
            "/nowhere/state",
            "/nowhere/state/chock",
            "/nowhere/state/chock/sessions/x",
        ];
        for path in refused {
            assert!(check(Path::new(path), &around).is_err(), "{path}");
        }
        let allowed = [
            "/nowhere/people/ann/work",
            "/nowhere/state/other",
            "/run/user/1",
            "/usr/src/x",
            "/tmp/x",
            "/devices",
        ];
        for path in allowed {
            assert!(check(Path::new(path), &around).is_ok(), "{path}");
        }
    }
}
