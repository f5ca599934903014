//! What the system prompt says of a session, and the person's words with their pictures.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use chock_agent::{Facts, Gallery};
use chock_log::{PICTURE_BYTES_MAX, UserBody};
use chock_tools::picture::look;
use chock_tools::{Shown, Tools};
use jiff::Timestamp;
use rustix::fs::{Mode, OFlags};

use crate::exit::Failure;
use crate::instructions::Told;
use crate::visible::visible_line;

/// Gathers what the system prompt says of a session: where it works, below which top, since when,
/// with which tools, and what people and earlier sessions say.
pub(crate) fn facts(
    (project, directory): (&Path, &Path),
    started: Option<Timestamp>,
    tools: &Tools,
    told: Told,
) -> Facts {
    Facts {
        project: project.display().to_string(),
        directory: directory.display().to_string(),
        day: day(started),
        cage: cage_words(),
        tools: tools.schemas().into_iter().map(|schema| schema.name).collect(),
        instructions: told.instructions,
        elsewhere: told.elsewhere,
        skills: told.skill_rows,
        notes: told.memory,
    }
}

/// What the model is told of its cage.
fn cage_words() -> Vec<String> {
    [
        "The project here is a copy; the real one is not visible and cannot be changed. Commits you make are offered to the person at the end.",
        "There is no network; programs can talk to each other on localhost.",
        "The home directory is empty and private; /tmp is kept from call to call.",
        "Every process of a call ends with it; a background task lives on, at most as long as the session.",
        "chock.zon can be read and not changed.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Writes the day of a time, today's where there is none.
fn day(time: Option<Timestamp>) -> String {
    time.unwrap_or_else(Timestamp::now).strftime("%Y-%m-%d").to_string()
}

/// Reads a picture that the person names. What it is, its content says.
///
/// A link in its place is refused: a project could have it lead to any other file.
pub(crate) fn picture(path: &Path) -> Result<Shown, Failure> {
    read(path).map_err(|why| {
        let path = visible_line(&path.to_string_lossy());
        Failure::start(format!("the picture `{path}` cannot be shown: {why}"))
    })
}

fn read(path: &Path) -> Result<Shown, String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty());
    let file = opened.map_err(|errno| match errno {
        rustix::io::Errno::LOOP => "it is a link; name the file itself".to_owned(),
        errno => errno.to_string(),
    })?;
    let file = File::from(file);
    if !file.metadata().map_err(|fault| fault.to_string())?.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut content = Vec::new();
    let read = file.take(PICTURE_BYTES_MAX as u64 + 1).read_to_end(&mut content);
    read.map_err(|fault| fault.to_string())?;
    if content.len() > PICTURE_BYTES_MAX {
        return Err(format!("it has over {PICTURE_BYTES_MAX} bytes"));
    }
    let seen = look(&content)?;
    Ok(Shown { media_type: seen.media_type, content })
}

/// Keeps the pictures that belong to the person's words, before the words' record names them.
pub(crate) fn with_pictures(
    message: Option<String>,
    shown: &[Shown],
    gallery: &Gallery,
) -> Result<Option<UserBody>, Failure> {
    let Some(text) = message else { return Ok(None) };
    let keep = |shown: &Shown| gallery.pictures.keep(shown.media_type, &shown.content);
    let pictures = shown.iter().map(keep).collect::<Result<_, _>>();
    let pictures =
        pictures.map_err(|fault| Failure::fault(format!("a picture cannot be kept: {fault}")))?;
    Ok(Some(UserBody { text, pictures }))
}
