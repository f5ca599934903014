//! Removes bases that nobody used for long, or that take too much of the disk.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::base::BaseFacts;
use crate::{WorkspaceFault, files, remove, size};

/// A base that no session used for longer is removed when another is made: 30 days, in seconds.
pub const BASES_UNUSED_SECONDS_MAX: i64 = 30 * 24 * 60 * 60;

/// The bases of all projects take about this much of the disk: 20 GiB. Those that were used last
/// stay, and any that is in use.
pub const BASES_BYTES_MAX: u64 = 20 << 30;

/// How much there is of something, and how much of it was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pruned {
    /// Bases that were removed.
    pub count: u64,
    /// What they took of the disk, in bytes.
    pub bytes: u64,
}

/// One base that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) key: String,
    /// When somebody last began to use it, in seconds since 1970.
    pub(crate) used: i64,
}

/// Which bases may stay.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Only those used at or after this time, in seconds since 1970.
    since: i64,
    /// How much all take, in bytes.
    bytes: u64,
}

/// Removes every base in `cache` that no session uses at the moment. Each is made again when
/// it is needed.
///
/// # Errors
///
/// [`WorkspaceFault::Files`] when one could not be removed.
pub fn prune_bases(cache: &Path) -> Result<Pruned, WorkspaceFault> {
    let bases = cache.join("bases");
    if !bases.exists() {
        return Ok(Pruned::default());
    }
    prune(&bases, Limits { since: i64::MIN, bytes: 0 })
}

/// Removes what is too old or too much at the time that `used` has.
pub(crate) fn with_time_of(used: &File, bases: &Path) -> Result<Pruned, WorkspaceFault> {
    let now = used.metadata().map_err(files::fault("read", bases))?.mtime();
    prune(bases, Limits { since: now - BASES_UNUSED_SECONDS_MAX, bytes: BASES_BYTES_MAX })
}

fn prune(bases: &Path, limits: Limits) -> Result<Pruned, WorkspaceFault> {
    let mut stock = stock(bases)?;
    stock.sort_by_key(|kept| std::cmp::Reverse(kept.used));
    let (mut pruned, mut total) = (Pruned::default(), 0);
    for kept in &stock {
        let bytes = bytes(&bases.join(&kept.key));
        total += bytes;
        let may_stay = kept.used >= limits.since && total <= limits.bytes;
        if !may_stay && take_away(bases, &kept.key)? {
            total -= bytes;
            pruned.count += 1;
            pruned.bytes += bytes;
        }
    }
    Ok(pruned)
}

/// The bases that are there, those of earlier layouts too.
pub(crate) fn stock(bases: &Path) -> Result<Vec<Kept>, WorkspaceFault> {
    let mut stock = Vec::new();
    for entry in bases.read_dir().map_err(files::fault("read", bases))? {
        let entry = entry.map_err(files::fault("read", bases))?;
        let Some(key) = entry.file_name().to_str().map(str::to_owned) else { continue };
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_directory || key.contains('.') {
            continue;
        }
        let used = bases.join(format!("{key}.used")).metadata().or_else(|_| entry.metadata());
        let used = used.map_err(files::fault("read", &entry.path()))?.mtime();
        stock.push(Kept { key, used });
    }
    Ok(stock)
}

/// What a base takes of the disk.
fn bytes(base: &Path) -> u64 {
    let facts = files::read_bounded(&base.join("facts"), 4096).ok();
    let facts = facts.and_then(|facts| serde_json::from_slice::<BaseFacts>(&facts).ok());
    let counted = facts.and_then(|facts| facts.bytes);
    counted.unwrap_or_else(|| size::size_on_disk(base).unwrap_or(0))
}

/// Removes a base, unless somebody uses or makes it.
fn take_away(bases: &Path, key: &str) -> Result<bool, WorkspaceFault> {
    let [used, lock, making] =
        ["used", "lock", "making"].map(|end| bases.join(format!("{key}.{end}")));
    let Some(_used) = files::try_lock(&used)? else { return Ok(false) };
    let Some(_lock) = files::try_lock(&lock)? else { return Ok(false) };
    // Half of a base is none: it goes away at once, and what a kill leaves is swept.
    remove::tree(&making)?;
    std::fs::rename(bases.join(key), &making).map_err(files::fault("rename", &making))?;
    remove::tree(&making)?;
    for file in [&used, &lock] {
        std::fs::remove_file(file).map_err(files::fault("remove", file))?;
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, UNIX_EPOCH};

    use super::{Limits, prune};

    #[test]
    fn what_was_used_last_stays_within_the_bytes() {
        let bases = tempfile::tempdir().expect("a directory");
        for (number, key) in ["old", "middle", "new"].iter().enumerate() {
            let base = bases.path().join(key);
            fs::create_dir(&base).expect("a base");
            let facts = r#"{"lfs_pointers":0,"submodules":0,"bytes":100}"#;
            fs::write(base.join("facts"), facts).expect("facts");
            let used = fs::File::create(bases.path().join(format!("{key}.used"))).expect("a file");
            let seconds = 1_000_000 + u64::try_from(number).expect("small");
            used.set_modified(UNIX_EPOCH + Duration::from_secs(seconds)).expect("a time");
        }
        let left = || {
            let names = ["old", "middle", "new"].into_iter();
            names.filter(|name| bases.path().join(name).exists()).collect::<Vec<_>>()
        };
        let pruned = |bytes| prune(bases.path(), Limits { since: 0, bytes }).expect("pruned").bytes;
        assert_eq!((pruned(300), left()), (0, vec!["old", "middle", "new"]));
        assert_eq!((pruned(299), left()), (100, vec!["middle", "new"]));
        assert_eq!((pruned(150), left()), (100, vec!["new"]));
    }
}
