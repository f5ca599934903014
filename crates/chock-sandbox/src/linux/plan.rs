//! What Chock tells the stub: whom to become, which control groups to join, and the cage.

use std::ffi::OsString;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::Errno;

use super::wire::{Reader, Torn, Writer};
use crate::{
    Access, Cage, CoverKind, Filter, Grant, Home, Limits, MOUNTS_MAX, Mount, Owners, SessionUser,
};

/// The most bytes of a plan: every mount with two paths of the kernel's longest length.
pub(super) const PLAN_MAX: u64 = 64 << 20;

/// The longest path or text of a plan, in bytes.
const BYTES_MAX: usize = 64 * 1024;

/// One control group, or one for memory and one for processes.
const GROUPS_MAX: usize = 2;

/// What one session is to be. What it stores is watched from outside, and not in here.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// Whom to become, when started as root of the machine.
    pub(super) user: Option<SessionUser>,
    /// The control groups to join.
    pub(super) groups: Vec<PathBuf>,
    pub(super) cage: Cage,
}

impl Plan {
    /// Puts the plan into memory that nobody can change any more.
    pub(super) fn seal(&self) -> Result<OwnedFd, Errno> {
        sealed(c"chock-plan", &self.encode())
    }

    /// Reads a plan, bounded, from the descriptor that the parent sent.
    pub(super) fn unseal(memory: OwnedFd) -> Result<Self, Errno> {
        let bytes = unsealed(memory, PLAN_MAX)?;
        Self::decode(&bytes).map_err(|_| Errno::PROTO)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let user = self.user.unwrap_or(SessionUser { uid: 0, gid: 0 });
        writer.number(user.uid);
        writer.number(user.gid);
        writer.number(u32::try_from(self.groups.len()).expect("invariant: one or two groups"));
        for group in &self.groups {
            write_path(&mut writer, group);
        }
        write_limits(&mut writer, &self.cage.limits);
        writer.number(u32::from(self.cage.filter.jit == Grant::Allow));
        writer.number(u32::from(self.cage.filter.debug == Grant::Allow));
        match &self.cage.home {
            Home::Scratch { bytes } => {
                writer.number(0);
                writer.large(*bytes);
            }
            Home::Directory(path) => {
                writer.number(1);
                write_path(&mut writer, path);
            }
        }
        writer.number(u32::try_from(self.cage.tree.len()).expect("invariant: at most MOUNTS_MAX"));
        for mount in &self.cage.tree {
            write_mount(&mut writer, mount);
        }
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self, Torn> {
        let mut reader = Reader::new(bytes);
        let (uid, gid) = (reader.number()?, reader.number()?);
        let user = (uid != 0 && gid != 0).then_some(SessionUser { uid, gid });
        let count = reader.number()? as usize;
        if count > GROUPS_MAX {
            return Err(Torn);
        }
        let groups = (0..count).map(|_| read_path(&mut reader)).collect::<Result<_, _>>()?;
        let limits = read_limits(&mut reader)?;
        let filter = Filter { jit: read_grant(&mut reader)?, debug: read_grant(&mut reader)? };
        let home = match reader.number()? {
            0 => Home::Scratch { bytes: reader.large()? },
            _ => Home::Directory(read_path(&mut reader)?),
        };
        let count = reader.number()? as usize;
        if count > MOUNTS_MAX {
            return Err(Torn);
        }
        let tree = (0..count).map(|_| read_mount(&mut reader)).collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self { user, groups, cage: Cage { tree, home, stored: Vec::new(), limits, filter } })
    }
}

fn write_limits(writer: &mut Writer, limits: &Limits) {
    let Limits {
        wall_time,
        processes,
        memory_bytes,
        data_bytes,
        file_bytes,
        open_files,
        scratch_bytes,
        shared_memory_bytes,
        workspace_bytes,
        workspace_files,
        free_bytes,
    } = limits;
    writer.large(u64::try_from(wall_time.as_millis()).unwrap_or(u64::MAX));
    for number in [
        processes,
        memory_bytes,
        data_bytes,
        file_bytes,
        open_files,
        scratch_bytes,
        shared_memory_bytes,
        workspace_bytes,
        workspace_files,
        free_bytes,
    ] {
        writer.large(*number);
    }
}

fn read_limits(reader: &mut Reader<'_>) -> Result<Limits, Torn> {
    Ok(Limits {
        wall_time: Duration::from_millis(reader.large()?),
        processes: reader.large()?,
        memory_bytes: reader.large()?,
        data_bytes: reader.large()?,
        file_bytes: reader.large()?,
        open_files: reader.large()?,
        scratch_bytes: reader.large()?,
        shared_memory_bytes: reader.large()?,
        workspace_bytes: reader.large()?,
        workspace_files: reader.large()?,
        free_bytes: reader.large()?,
    })
}

fn read_grant(reader: &mut Reader<'_>) -> Result<Grant, Torn> {
    Ok(if reader.number()? == 1 { Grant::Allow } else { Grant::Deny })
}

fn write_path(writer: &mut Writer, path: &Path) {
    writer.bytes(path.as_os_str().as_bytes());
}

fn read_path(reader: &mut Reader<'_>) -> Result<PathBuf, Torn> {
    let bytes = reader.bytes(BYTES_MAX)?.to_vec();
    Ok(PathBuf::from(OsString::from_vec(bytes)))
}

fn write_mount(writer: &mut Writer, mount: &Mount) {
    match mount {
        Mount::Bind { source, target, access, owners } => {
            writer.number(1);
            write_path(writer, source);
            write_path(writer, target);
            writer.number(u32::from(*access == Access::ReadWrite));
            writer.number(u32::from(*owners == Owners::RootAsSession));
        }
        Mount::View { source, target, owners } => {
            writer.number(8);
            write_path(writer, source);
            write_path(writer, target);
            writer.number(u32::from(*owners == Owners::RootAsSession));
        }
        Mount::Overlay { base, upper, work, target } => {
            writer.number(2);
            for path in [base, upper, work, target] {
                write_path(writer, path);
            }
        }
        Mount::Scratch { target, bytes } => {
            writer.number(3);
            write_path(writer, target);
            writer.large(*bytes);
        }
        Mount::Cover { target, kind } => {
            writer.number(4);
            write_path(writer, target);
            writer.number(u32::from(*kind == CoverKind::Directory));
        }
        Mount::Link { target, to } => {
            writer.number(5);
            write_path(writer, target);
            write_path(writer, to);
        }
        Mount::Directory { target } => {
            writer.number(6);
            write_path(writer, target);
        }
        Mount::Text { target, contents } => {
            writer.number(7);
            write_path(writer, target);
            writer.bytes(contents);
        }
    }
}

fn read_mount(reader: &mut Reader<'_>) -> Result<Mount, Torn> {
    let kind = reader.number()?;
    Ok(match kind {
        1 => Mount::Bind {
            source: read_path(reader)?,
            target: read_path(reader)?,
            access: if reader.number()? == 1 { Access::ReadWrite } else { Access::ReadOnly },
            owners: read_owners(reader)?,
        },
        2 => Mount::Overlay {
            base: read_path(reader)?,
            upper: read_path(reader)?,
            work: read_path(reader)?,
            target: read_path(reader)?,
        },
        3 => Mount::Scratch { target: read_path(reader)?, bytes: reader.large()? },
        4 => Mount::Cover {
            target: read_path(reader)?,
            kind: if reader.number()? == 1 { CoverKind::Directory } else { CoverKind::File },
        },
        5 => Mount::Link { target: read_path(reader)?, to: read_path(reader)? },
        6 => Mount::Directory { target: read_path(reader)? },
        7 => {
            Mount::Text { target: read_path(reader)?, contents: reader.bytes(BYTES_MAX)?.to_vec() }
        }
        8 => Mount::View {
            source: read_path(reader)?,
            target: read_path(reader)?,
            owners: read_owners(reader)?,
        },
        _ => return Err(Torn),
    })
}

fn read_owners(reader: &mut Reader<'_>) -> Result<Owners, Torn> {
    Ok(if reader.number()? == 1 { Owners::RootAsSession } else { Owners::AsOutside })
}

/// Puts bytes into sealed memory.
pub(super) fn sealed(name: &std::ffi::CStr, bytes: &[u8]) -> Result<OwnedFd, Errno> {
    let memory = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// Reads sealed memory of at most `max` bytes; anything else is refused.
pub(super) fn unsealed(memory: OwnedFd, max: u64) -> Result<Vec<u8>, Errno> {
    let seals = rustix::fs::fcntl_get_seals(&memory)?;
    if !seals.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE) {
        return Err(Errno::PROTO);
    }
    let size = u64::try_from(rustix::fs::fstat(&memory)?.st_size).unwrap_or(u64::MAX);
    if size > max {
        return Err(Errno::FBIG);
    }
    let mut file = std::fs::File::from(memory);
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.rewind()
        .and_then(|()| file.read_to_end(&mut bytes))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_survives_its_encoding() {
        let tree = vec![
            Mount::Bind {
                source: "/a".into(),
                target: OsString::from_vec(b"/b\xff\n".to_vec()).into(),
                access: Access::ReadWrite,
                owners: Owners::RootAsSession,
            },
            Mount::Overlay {
                base: "/b".into(),
                upper: "/l/u".into(),
                work: "/l/w".into(),
                target: "/t".into(),
            },
            Mount::View { source: "/v".into(), target: "/w".into(), owners: Owners::RootAsSession },
            Mount::Scratch { target: "/s".into(), bytes: 5 },
            Mount::Cover { target: "/c".into(), kind: CoverKind::Directory },
            Mount::Link { target: "/l".into(), to: "usr".into() },
            Mount::Directory { target: "/d".into() },
            Mount::Text { target: "/x".into(), contents: b"hi".to_vec() },
        ];
        let filter = Filter { jit: Grant::Deny, debug: Grant::Allow };
        let home = Home::Directory("/h".into());
        let (stored, limits) = (Vec::new(), Limits::default());
        let cage = Cage { tree, home, stored, limits, filter };
        let user = Some(SessionUser { uid: 5, gid: 6 });
        let groups = vec!["/g".into(), "/h".into()];
        let plan = Plan { user, groups, cage };
        let read = Plan::unseal(plan.seal().expect("memory")).expect("a plan");
        assert_eq!(format!("{plan:?}"), format!("{read:?}"));
        let bytes = plan.encode();
        for cut in 0..bytes.len() {
            assert!(Plan::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
