//! `PATH` and the shell inside.

use std::fs;
use std::path::{Path, PathBuf};

use chock_sandbox::{HOME, Mount};

use super::{Host, is_shown};

/// Where systems keep their programs.
const USUAL: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Where programs that a session installs for itself end up.
const OWN: [&str; 2] = [".cargo/bin", ".local/bin"];

/// Rebuilds `PATH` from the person's, as far as it leads to something in the cage.
pub(super) fn inside(host: &Host, project: &Path, tree: &[Mount]) -> Vec<PathBuf> {
    let mut path: Vec<PathBuf> = Vec::new();
    let mut push = |entry: PathBuf| {
        if !path.contains(&entry) {
            path.push(entry);
        }
    };
    for entry in host.path.iter().filter(|entry| entry.is_absolute()) {
        if entry.starts_with(project) {
            push(entry.clone());
        } else if let Ok(real) = fs::canonicalize(entry)
            && real.is_dir()
        {
            if is_shown(tree, &real) {
                push(real);
            } else if is_target(tree, entry) {
                push(entry.clone());
            }
        }
    }
    for entry in USUAL {
        if let Ok(real) = fs::canonicalize(entry) {
            push(real);
        }
    }
    for entry in OWN {
        push(Path::new(HOME).join(entry));
    }
    path
}

/// Says whether something is bound at a path, from elsewhere.
fn is_target(tree: &[Mount], path: &Path) -> bool {
    tree.iter().any(|mount| matches!(mount, Mount::Bind { target, .. } if path == target))
}

/// Finds the shell for command lines: `bash`, else `sh`.
pub(super) fn shell(path: &[PathBuf]) -> PathBuf {
    let usual: Vec<_> = USUAL.iter().map(Path::new).collect();
    let own = path.iter().map(PathBuf::as_path);
    let directories: Vec<_> = usual.into_iter().chain(own).collect();
    let found = |name: &str| {
        let mut programs = directories.iter().map(|directory| directory.join(name));
        programs.find(|program| program.is_file())
    };
    found("bash").or_else(|| found("sh")).unwrap_or_else(|| "/bin/sh".into())
}
