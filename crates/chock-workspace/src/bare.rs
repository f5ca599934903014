//! A bare git directory of Chock's own that borrows the objects of a project.
//!
//! Git and libgit2 work in it instead of in the project, so that the project's
//! configuration and the filters of its attributes have no say.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::{WorkspaceFault, files};

/// The configuration: stat data that an overlay keeps, and bytes as they are.
const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tbare = true
\tfileMode = true
\tsymlinks = true
\tautocrlf = false
\tcheckStat = minimal
\ttrustctime = false
[gc]
\tauto = 0
[checkout]
\tworkers = 0
";

/// No attribute of a project changes bytes on their way.
const ATTRIBUTES: &str = "* -text -ident !eol !filter !working-tree-encoding\n";

/// Makes the git directory `path`, which borrows from `objects`.
///
/// The borrowed directories are named through links: a list of alternates cannot
/// hold every path.
pub(crate) fn make(path: &Path, objects: &[PathBuf]) -> Result<(), WorkspaceFault> {
    for directory in ["", "borrowed", "info", "objects", "objects/info", "objects/pack", "refs"] {
        files::make_private(&path.join(directory))?;
    }
    let mut alternates = String::new();
    for (number, directory) in objects.iter().enumerate() {
        let link = path.join("borrowed").join(number.to_string());
        symlink(directory, &link).map_err(files::fault("make", &link))?;
        alternates.push_str(&format!("../borrowed/{number}\n"));
    }
    files::write(&path.join("objects/info/alternates"), alternates.as_bytes())?;
    files::write(&path.join("info/attributes"), ATTRIBUTES.as_bytes())?;
    files::write(&path.join("config"), CONFIG.as_bytes())?;
    files::write(&path.join("HEAD"), b"ref: refs/heads/none\n")
}

/// Removes what a killed process left half written among the objects.
///
/// Objects are written under another name and renamed, so whatever is not an
/// object, a pack or `info` is such a rest.
pub(crate) fn sweep(path: &Path) -> Result<(), WorkspaceFault> {
    let objects = path.join("objects");
    for entry in objects.read_dir().map_err(files::fault("read", &objects))? {
        let entry = entry.map_err(files::fault("read", &objects))?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file {
            std::fs::remove_file(entry.path()).map_err(files::fault("remove", &entry.path()))?;
        }
    }
    Ok(())
}
