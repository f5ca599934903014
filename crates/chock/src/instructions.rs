//! What the person and the project say of how to work: `AGENTS.md` and files that are named.
//!
//! A project's words come from the tree that the session started from, never from the copy that
//! the agent writes in; a link is followed within that tree only. None of them allows anything.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use chock_agent::Instruction;
use chock_log::{Mask, Redactor};
use chock_tools::Skill;
use chock_workspace::{TreeFile, Workspace};
use rustix::fs::OFlags;

use crate::exit::Failure;
use crate::settings::{Settings, digest};
use crate::visible::visible_line;

/// The file that is looked for, and the one that is read where it is absent.
const NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The most bytes of one file that the agent is told; more are cut off, and it is said.
const FILE_BYTES_MAX: u64 = 32 << 10;

/// The most bytes of all files together.
const ALL_BYTES_MAX: usize = 128 << 10;

/// The largest file of a project that is read at all.
const READ_BYTES_MAX: u64 = 4 << 20;

/// How many directories with instructions of their own are named.
const ELSEWHERE_MAX: usize = 64;

/// What the agent is told, and what the person is told of it.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) instructions: Vec<Instruction>,
    /// Files of directories that the session does not start in, relative to the top.
    pub(crate) elsewhere: Vec<String>,
    /// The skills that can be read, and a row for each.
    pub(crate) skills: Vec<Skill>,
    pub(crate) skill_rows: Vec<String>,
    /// Rows of the notes of earlier sessions.
    pub(crate) memory: Vec<String>,
    /// SHA-256 of each file, by whose it is.
    pub(crate) files: BTreeMap<String, String>,
    /// What was left out or cut.
    pub(crate) notes: Vec<String>,
    bytes: usize,
}

/// Where instructions are looked for.
pub(crate) struct Places<'a> {
    /// The directory of the person's own configuration.
    pub(crate) config: &'a Path,
    pub(crate) workspace: &'a Workspace,
    pub(crate) settings: &'a Settings,
    /// Where the session works from, below the project's top; empty for the top.
    pub(crate) directory: &'a Path,
    /// Files that the command line names.
    pub(crate) named: &'a [PathBuf],
}

/// Gathers all of it, most general first.
///
/// What is named and cannot be read stops the start; what is only looked for need not be there.
pub(crate) fn gather(places: &Places<'_>) -> Result<Told, Failure> {
    let mut told = Told::default();
    let own = places.config.join(NAMES[0]);
    match read_outside(&own) {
        Ok(text) => told.add("the person, for all projects", "~/AGENTS.md", text),
        Err(fault) if fault.kind() == io::ErrorKind::NotFound => {}
        Err(fault) => return Err(unread(&own, &fault.to_string())),
    }
    told.usual(places)?;
    for path in &places.settings.effective.project.instructions {
        let name = path.value.as_str();
        let text = read_inside(places, name)?.map_err(|why| {
            Failure::start(format!(
                "chock.zon names `{}` in `instructions`, and {why}; commit it or take out the name",
                visible_line(name)
            ))
        })?;
        told.add(&format!("the project, {name}, which chock.zon names"), name, text);
    }
    for path in places.named {
        let text = read_outside(path).map_err(|fault| unread(path, &fault.to_string()))?;
        let name = visible_line(&path.to_string_lossy());
        told.add(&format!("the person, for this run, {name}"), &name, text);
    }
    Ok(told)
}

impl Told {
    /// Takes the usual files: of the top, of each directory down to where the session works, and
    /// the names of all others.
    fn usual(&mut self, places: &Places<'_>) -> Result<(), Failure> {
        let mut on_the_way: Vec<_> = places.directory.ancestors().collect();
        on_the_way.reverse();
        for directory in on_the_way {
            // A name that is no text has no file that could be told either.
            let Some(directory) = directory.to_str() else { continue };
            self.of_directory(places, directory)?;
        }
        let (store, tree) = (places.workspace.store(), places.workspace.start_tree());
        let all = store.named(tree, &NAMES, ELSEWHERE_MAX * NAMES.len());
        let all = all.map_err(|fault| Failure::because(&fault))?;
        let mut seen = BTreeSet::new();
        for name in NAMES {
            for path in all.iter().filter(|path| path.rsplit('/').next() == Some(name)) {
                let directory = Path::new(path).parent().unwrap_or(Path::new(""));
                let is_elsewhere = !places.directory.starts_with(directory);
                if is_elsewhere
                    && !is_kept_from_tools(places.workspace, path)
                    && seen.insert(directory)
                {
                    self.elsewhere.push(visible_line(path));
                }
            }
        }
        self.elsewhere.sort();
        self.elsewhere.truncate(ELSEWHERE_MAX);
        Ok(())
    }

    /// Takes the file of one directory on the way, if it has one.
    fn of_directory(&mut self, places: &Places<'_>, directory: &str) -> Result<(), Failure> {
        for name in NAMES {
            let path = match directory {
                "" => name.to_owned(),
                directory => format!("{directory}/{name}"),
            };
            match look_inside(places, &path)? {
                Inside::Text(text) => self.add(&format!("the project, {path}"), &path, text),
                Inside::Missing | Inside::Denied => continue,
                Inside::Unusable(why) => {
                    let path = visible_line(&path);
                    self.notes.push(format!("{path} is not told to the agent: {why}"));
                }
            }
            break;
        }
        Ok(())
    }

    fn add(&mut self, whose: &str, name: &str, text: String) {
        self.files.insert(format!("instructions: {name}"), digest(&text));
        let room = ALL_BYTES_MAX.saturating_sub(self.bytes).min(FILE_BYTES_MAX as usize);
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut told = text[..end].to_owned();
        if end < text.len() {
            told.push_str("\n[the rest was cut off]");
            self.notes.push(format!(
                "the agent is told {end} of the {} bytes of {}; shorten it",
                text.len(),
                visible_line(name)
            ));
        }
        self.bytes += end;
        if !told.trim().is_empty() {
            self.instructions.push(Instruction { whose: visible_line(whose), text: told });
        }
    }

    /// Replaces what no request may hold.
    pub(crate) fn mask(&mut self, redactor: &Redactor) {
        for instruction in &mut self.instructions {
            if let Some(masked) = redactor.text(&instruction.text, Mask::All) {
                instruction.text = masked;
            }
        }
        for row in self.memory.iter_mut().chain(&mut self.skill_rows) {
            if let Some(masked) = redactor.text(row, Mask::All) {
                *row = masked;
            }
        }
    }
}

/// What stands at a path of the tree that the session started from.
pub(crate) enum Inside {
    Text(String),
    Missing,
    Denied,
    Unusable(String),
}

pub(crate) fn look_inside(places: &Places<'_>, path: &str) -> Result<Inside, Failure> {
    if is_kept_from_tools(places.workspace, path) {
        return Ok(Inside::Denied);
    }
    let (store, tree) = (places.workspace.store(), places.workspace.start_tree());
    let found = store.file(tree, path, READ_BYTES_MAX);
    Ok(match found.map_err(|fault| Failure::because(&fault))? {
        TreeFile::Content(bytes) => String::from_utf8(bytes)
            .map_or_else(|_| Inside::Unusable("it is not UTF-8 text".to_owned()), Inside::Text),
        TreeFile::TooLarge { bytes } => Inside::Unusable(format!("it has {bytes} bytes")),
        TreeFile::Missing => Inside::Missing,
        TreeFile::Outside => {
            Inside::Unusable("it is a link that leads out of the project".to_owned())
        }
    })
}

/// Reads a file that is named. The inner error says why not.
fn read_inside(places: &Places<'_>, path: &str) -> Result<Result<String, String>, Failure> {
    Ok(match look_inside(places, path)? {
        Inside::Text(text) => Ok(text),
        Inside::Missing => Err("git tracks no such file".to_owned()),
        Inside::Denied => Err("`deny_read` keeps it from every tool".to_owned()),
        Inside::Unusable(why) => Err(why),
    })
}

fn is_kept_from_tools(workspace: &Workspace, path: &str) -> bool {
    workspace.covered().iter().any(|cover| Path::new(path).starts_with(&cover.path))
}

/// Reads a file of the person's own. A FIFO in its place holds nobody up.
pub(crate) fn read_outside(path: &Path) -> io::Result<String> {
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    let mut text = String::new();
    file.take(READ_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > READ_BYTES_MAX {
        return Err(io::Error::other(format!("it has over {READ_BYTES_MAX} bytes")));
    }
    Ok(text)
}

fn unread(path: &Path, why: &str) -> Failure {
    let path = visible_line(&path.to_string_lossy());
    Failure::start(format!("the instructions `{path}` cannot be read: {why}"))
}
