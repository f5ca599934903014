//! `chock sessions export`: a copy of a log that verifies elsewhere, or a view of it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use chock_log::{Log, Redactor, Running};

use super::view;
use crate::exit::{Exit, Failure};
use crate::found::{self, Found};
use crate::keys;
use crate::program::Program;
use crate::signers::Signers;
use crate::terminal::{Terminal, Weight};
use crate::visible::visible_line;

#[derive(Debug, clap::Args)]
pub(crate) struct ExportArgs {
    /// The session's id or the end of it; the newest if there is none
    session: Option<String>,

    /// Where to: a file, or a directory in which the file gets the session's name
    #[arg(long, value_name = "PATH")]
    to: PathBuf,

    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,

    /// Overwrite a file that is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// The log byte for byte, and its seal
    Jsonl,
    /// What was said and done, for reading
    Markdown,
    /// One object with everything
    Json,
}

impl Format {
    fn ending(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Markdown => "md",
            Self::Json => "json",
        }
    }
}

pub(super) fn run(
    program: &Program,
    terminal: &mut Terminal,
    directory: &Path,
    args: &ExportArgs,
) -> Result<Exit, Failure> {
    let found = found::session(directory, args.session.as_deref())?;
    let target = target(program, &found, args);
    let signers = Signers::read(&Signers::own_file(&program.places.data)).unwrap_or_default();
    let files = match args.format {
        Format::Jsonl => copies(&found, &target)?,
        Format::Markdown | Format::Json => {
            let key = keys::redaction_key(&program.places.data)?;
            let redactor = Redactor::new([], key);
            let view = view::View { found: &found, signers: &signers, redactor: &redactor };
            let mut draft = draft(&target)?;
            let mut out = BufWriter::new(draft.as_file_mut());
            let written = match args.format {
                Format::Json => view.json(&mut out),
                Format::Jsonl | Format::Markdown => view.markdown(&mut out),
            };
            written.and_then(|()| out.flush()).map_err(|fault| unwritten(&target, &fault))?;
            drop(out);
            vec![(draft, target)]
        }
    };
    let force = args.force;
    if !force
        && let Some((_, path)) = files.iter().find(|(_, path)| path.symlink_metadata().is_ok())
    {
        return Err(there_already(path));
    }
    for (draft, path) in files {
        draft.as_file().sync_all().map_err(|fault| unwritten(&path, &fault))?;
        let placed = if force { draft.persist(&path) } else { draft.persist_noclobber(&path) };
        match placed {
            Ok(_) => terminal.answer(&visible_line(&path.display().to_string()))?,
            Err(fault) if fault.error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(there_already(&path));
            }
            Err(fault) => return Err(unwritten(&path, &fault.error)),
        }
    }
    conclude(terminal, &found, args.format)
}

/// Says what was exported, and fails for a log that is damaged: a copy makes it no better.
fn conclude(terminal: &mut Terminal, found: &Found, format: Format) -> Result<Exit, Failure> {
    let verdict = chock_log::verify(&found.log);
    let weight = if verdict.is_damage() { Weight::Bad } else { Weight::Quiet };
    let words = format!("the log is {}", visible_line(&verdict.to_string()));
    terminal.say(weight, &words);
    if format != Format::Jsonl {
        terminal
            .say(Weight::Quiet, "a view proves nothing; --format jsonl makes a copy that verifies");
    }
    Ok(if verdict.is_damage() { Exit::NotIntact } else { Exit::Finished })
}

fn target(program: &Program, found: &Found, args: &ExportArgs) -> PathBuf {
    let path = program.directory.join(&args.to);
    if path.is_dir() { path.join(format!("{}.{}", found.id, args.format.ending())) } else { path }
}

type Draft = (tempfile::NamedTempFile, PathBuf);

/// Copies the log and its seal beside their places.
///
/// Of a session that runs, the whole lines so far are copied: its log only ever grows.
fn copies(found: &Found, target: &Path) -> Result<Vec<Draft>, Failure> {
    let fault = |fault: io::Error| unwritten(target, &fault);
    let running = Log::running(&found.log) != Running::No;
    let mut source = File::open(&found.log)
        .map_err(|fault| Failure::start(format!("cannot read the log: {fault}")))?;
    let length = if running {
        whole_lines(&mut source).map_err(fault)?
    } else {
        source.metadata().map_err(fault)?.len()
    };
    source.rewind().map_err(fault)?;
    let mut copy = draft(target)?;
    io::copy(&mut source.take(length), copy.as_file_mut()).map_err(fault)?;
    let mut files = vec![(copy, target.to_owned())];
    match fs::read(found.seal()) {
        Ok(seal) => {
            let path = found::seal_of(target);
            let mut copy = draft(&path)?;
            copy.write_all(&seal).map_err(fault)?;
            files.push((copy, path));
        }
        Err(absent) if absent.kind() == io::ErrorKind::NotFound => {}
        Err(unreadable) => return Err(fault(unreadable)),
    }
    Ok(files)
}

/// Returns where the last whole line ends.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    const STEP: u64 = 1 << 16;
    let mut end = file.metadata()?.len();
    let mut piece = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        file.seek(io::SeekFrom::Start(start))?;
        piece.clear();
        file.take(end - start).read_to_end(&mut piece)?;
        if let Some(place) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + place as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// Makes a file for the caller alone, beside its place.
fn draft(target: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    let directory = target.parent().unwrap_or(Path::new("/"));
    tempfile::NamedTempFile::new_in(directory).map_err(|fault| unwritten(target, &fault))
}

fn unwritten(path: &Path, fault: &io::Error) -> Failure {
    let path = visible_line(&path.display().to_string());
    Failure::fault(format!("cannot write {path}: {fault}"))
}

fn there_already(path: &Path) -> Failure {
    let path = visible_line(&path.display().to_string());
    Failure::start(format!("{path} is there already, and was left as it is; --force overwrites it"))
}
