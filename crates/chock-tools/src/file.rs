//! Opens, reads and replaces files, inside the cell.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, StatVfsMountFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::answer::{Operation, Refused, Trouble, Wall};
use crate::desk::Place;
use crate::names::shown;

/// The most links followed to find out where a missing path leads, as Linux's own limit.
const LINKS_MAX: usize = 40;

/// The type of a file system in memory.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// How many names are tried for a file that will replace another.
const NAMES_MAX: u32 = 64;

/// Opens a regular file for reading. Nothing else can make the call wait.
pub(crate) fn open(place: &Place) -> Result<(File, Metadata), Trouble> {
    let fault = |error| trouble(place, Operation::Read, &error);
    let path = Path::new(&place.open);
    regular(place, &fs::metadata(path).map_err(fault)?)?;
    // A FIFO could have taken the place since: without NONBLOCK its opening would wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| fault(io::Error::from(errno)))?;
    let file = File::from(file);
    let metadata = file.metadata().map_err(fault)?;
    regular(place, &metadata)?;
    Ok((file, metadata))
}

/// Reads a whole regular file of at most `max` bytes.
pub(crate) fn read(place: &Place, max: u64) -> Result<Vec<u8>, Trouble> {
    let (file, metadata) = open(place)?;
    let too_large = |bytes: u64| {
        format!("{} has {bytes} bytes: the limit of this tool is {max}", shown(&place.open))
    };
    if metadata.len() > max {
        return Err(too_large(metadata.len()).into());
    }
    let mut bytes = Vec::new();
    let read = file.take(max + 1).read_to_end(&mut bytes);
    read.map_err(|error| trouble(place, Operation::Read, &error))?;
    if bytes.len() as u64 > max {
        return Err(too_large(bytes.len() as u64).into());
    }
    Ok(bytes)
}

fn regular(place: &Place, metadata: &Metadata) -> Result<(), Trouble> {
    let kind = metadata.file_type();
    let path = shown(&place.open);
    let fault = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        format!("{path} is a directory, not a file: list_directory shows what is in it")
    } else if kind.is_fifo() {
        format!("{path} is a FIFO, not a file")
    } else if kind.is_socket() {
        format!("{path} is a socket, not a file")
    } else {
        format!("{path} is a device, not a file")
    };
    Err(fault.into())
}

/// Returns the whole SHA-256 in 64 hex digits, as records say it.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the hash that tools show: 16 hex digits of SHA-256.
pub(crate) fn hash(bytes: &[u8]) -> String {
    short(Sha256::digest(bytes).as_slice())
}

/// Spells the first bytes of a digest.
pub(crate) fn short(digest: &[u8]) -> String {
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Where a file is to be written: the end of every link of a path.
#[derive(Debug)]
pub(crate) struct Target {
    /// The file itself.
    pub(crate) path: PathBuf,
    /// Whether a link was followed to it.
    pub(crate) linked: bool,
    /// Its mode bits and content, if it is there.
    pub(crate) existing: Option<Existing>,
}

/// A file that is there already.
#[derive(Debug)]
pub(crate) struct Existing {
    pub(crate) bytes: Vec<u8>,
    mode: u32,
}

/// Finds the file that a write to `place` means, and reads it if it is there.
pub(crate) fn target(place: &Place, max: u64) -> Result<Target, Trouble> {
    let path = Path::new(&place.open);
    let fault = |error: io::Error| trouble(place, Operation::Write, &error);
    let link = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink());
    match fs::canonicalize(path) {
        Ok(real) => {
            writable(place, &real)?;
            let mode = fs::metadata(&real).map_err(fault)?.mode() & 0o777;
            let bytes = read(place, max)?;
            Ok(Target { path: real, linked: link, existing: Some(Existing { bytes, mode }) })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && !link => {
            Ok(Target { path: path.to_owned(), linked: false, existing: None })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(match trouble(place, Operation::Write, &error) {
                Trouble::Fault(_) => {
                    let path = shown(&place.open);
                    format!("{path} is a link to a file that is not there").into()
                }
                refused @ Trouble::Refused(_) => refused,
            })
        }
        Err(error) => Err(fault(error)),
    }
}

/// Refuses a file on a mount that is read only; asked first, since an exchange by name would
/// be refused with a word that says less.
fn writable(place: &Place, path: &Path) -> Result<(), Trouble> {
    if let Some(cover) = cover(path) {
        return Err(covered(place, Operation::Write, cover));
    }
    if read_only(path) {
        return Err(refused(place, Operation::Write, Wall::ReadOnly));
    }
    Ok(())
}

/// Writes a file whole: beside its place first, then exchanged by name. Parents are made, and
/// the mode of a file that was there is kept.
pub(crate) fn replace(place: &Place, target: &Target, bytes: &[u8]) -> Result<(), Trouble> {
    let fault = |error: io::Error| trouble(place, Operation::Write, &error);
    let parent = match target.path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    fs::create_dir_all(parent).map_err(fault)?;
    let name = target.path.file_name().ok_or_else(|| {
        Trouble::from(format!("{} is a directory, not a file", shown(&place.open)))
    })?;
    let mode = target.existing.as_ref().map(|existing| existing.mode);
    exchange(parent, name, mode, bytes).map_err(fault)
}

fn exchange(parent: &Path, name: &OsStr, mode: Option<u32>, bytes: &[u8]) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let parent = rustix::fs::open(parent, flags, Mode::empty())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut number = 0;
    let (file, beside) = loop {
        let beside = format!(".chock-write-{number}");
        match rustix::fs::openat(&parent, &beside, flags, Mode::from(0o666)) {
            Ok(file) => break (File::from(file), beside),
            Err(Errno::EXIST) if number < NAMES_MAX => number += 1,
            Err(errno) => return Err(errno.into()),
        }
    };
    let written = fill(file, mode, bytes)
        .and_then(|()| Ok(rustix::fs::renameat(&parent, &beside, &parent, name)?));
    if written.is_err() {
        // The first fault is the one to tell.
        let _ = rustix::fs::unlinkat(&parent, &beside, AtFlags::empty());
    }
    written
}

fn fill(mut file: File, mode: Option<u32>, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)?;
    match mode {
        Some(mode) => file.set_permissions(fs::Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

/// Words an error, and says whether the wall or the file system refused.
pub(crate) fn trouble(place: &Place, operation: Operation, error: &io::Error) -> Trouble {
    let path = Path::new(&place.open);
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) if leads_out(place) => refused(place, operation, Wall::Absent),
        Some(Errno::ROFS) => refused(place, operation, Wall::ReadOnly),
        Some(Errno::ACCESS | Errno::PERM | Errno::BUSY) => {
            if let Some(cover) = cover(path) {
                covered(place, operation, cover)
            } else if operation == Operation::Write && read_only(path) {
                refused(place, operation, Wall::ReadOnly)
            } else {
                fault(place, operation, error)
            }
        }
        Some(_) | None => fault(place, operation, error),
    }
}

fn refused(place: &Place, operation: Operation, wall: Wall) -> Trouble {
    Trouble::Refused(Refused { operation, path: place.open.clone(), wall, cover: None })
}

fn covered(place: &Place, operation: Operation, cover: PathBuf) -> Trouble {
    let (path, wall) = (place.open.clone(), Wall::Covered);
    let cover = Some(cover.into_os_string().into_vec());
    Trouble::Refused(Refused { operation, path, wall, cover })
}

fn fault(place: &Place, operation: Operation, error: &io::Error) -> Trouble {
    let path = shown(&place.open);
    let why = match error.kind() {
        io::ErrorKind::NotFound => return format!("{path} is not there").into(),
        io::ErrorKind::PermissionDenied => "its mode does not permit it".into(),
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a directory".into(),
        io::ErrorKind::IsADirectory => "it is a directory".into(),
        io::ErrorKind::StorageFull => "no space is left".into(),
        _ => error.to_string(),
    };
    format!("cannot {} {path}: {why}", operation.word()).into()
}

/// Returns the deepest part of a path that is there.
fn standing(path: &Path) -> Option<(PathBuf, Metadata)> {
    path.ancestors().find_map(|part| {
        let part = if part.as_os_str().is_empty() { Path::new(".") } else { part };
        fs::symlink_metadata(part).ok().map(|metadata| (part.to_owned(), metadata))
    })
}

/// Says whether a missing path leads out of everything the cage holds: then what is missing
/// would stand in the bare tree, which holds mount points only and is read-only memory.
fn leads_out(place: &Place) -> bool {
    let mut path = PathBuf::from(&place.open);
    let mut linked = false;
    for _ in 0..LINKS_MAX {
        let Some((part, metadata)) = standing(&path) else { return false };
        if !metadata.is_symlink() {
            return (linked || !place.inside) && is_bare(&part);
        }
        let Ok(to) = fs::read_link(&part) else { return false };
        let rest = path.strip_prefix(&part).map(Path::to_owned).unwrap_or_default();
        let end = part.parent().unwrap_or(Path::new("/")).join(to);
        // Joining nothing would leave a slash at the end, which follows a link.
        path = if rest.as_os_str().is_empty() { end } else { end.join(rest) };
        linked = true;
    }
    false
}

fn is_bare(directory: &Path) -> bool {
    let kind = rustix::fs::statfs(directory).map(|found| found.f_type);
    let memory = kind.is_ok_and(|kind| u64::try_from(kind).is_ok_and(|kind| kind == TMPFS_MAGIC));
    memory && read_only(directory)
}

/// Returns the real place of the cover that lies over a path: covers are the root's own files,
/// without any mode.
fn cover(path: &Path) -> Option<PathBuf> {
    let (part, metadata) = path.ancestors().find_map(|part| {
        let part = if part.as_os_str().is_empty() { Path::new(".") } else { part };
        fs::metadata(part).ok().map(|metadata| (part, metadata))
    })?;
    let is_cover = metadata.mode() & 0o777 == 0 && root_device() == Some(metadata.dev());
    is_cover.then(|| fs::canonicalize(part).unwrap_or_else(|_| part.to_owned()))
}

/// Says whether the mount that holds a path, or would hold it, is read only.
fn read_only(path: &Path) -> bool {
    let standing = standing(path).map(|(part, _)| part);
    standing
        .and_then(|part| rustix::fs::statvfs(&part).ok())
        .is_some_and(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn root_device() -> Option<u64> {
    fs::metadata("/").ok().map(|metadata| metadata.dev())
}
