//! What a file system has left.

use std::os::fd::OwnedFd;

use super::size::Size;

/// The most files that a file system must be able to take besides. A few programs need that many.
const FILES_FLOOR_MAX: u64 = 4096;

/// What a file system has left. One that does not answer has nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// Bytes that nobody uses.
    free: u64,
    /// Of these, what others than root may have.
    available: u64,
    /// Files that may still be made and all it can have, where they have a number.
    pub(super) files: Option<(u64, u64)>,
}

impl Room {
    pub(super) fn of(directory: &OwnedFd) -> Self {
        let Ok(found) = rustix::fs::fstatvfs(directory) else { return Self::default() };
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Self {
            free: bytes(found.f_bfree),
            available: bytes(found.f_bavail),
            files: (found.f_files > 0).then_some((found.f_ffree, found.f_files)),
        }
    }

    /// Returns how much less is left than there was `then`.
    pub(super) fn less_than(&self, then: &Self) -> Size {
        let files = |room: &Self| room.files.map_or(0, |(free, _)| free);
        Size {
            bytes: then.free.saturating_sub(self.free),
            files: files(then).saturating_sub(files(self)),
        }
    }

    /// Returns what is left above a floor of `bytes`; nothing where either is used up.
    pub(super) fn above(&self, bytes: u64) -> Size {
        let files = self
            .files
            .map_or(u64::MAX, |(free, all)| free.saturating_sub(FILES_FLOOR_MAX.min(all / 50)));
        match (self.available.saturating_sub(bytes), files) {
            (0, _) | (_, 0) => Size::default(),
            (bytes, files) => Size { bytes, files },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_where_either_is_used_up() {
        let room = |available, files| Room { free: available, available, files };
        let full = Size::default();
        let cases = [
            (room(100, Some((50_000, 1_000_000))), Size { bytes: 40, files: 45_904 }),
            (room(100, Some((4_096, 1_000_000))), full),
            (room(100, Some((1_000, 1_000))), Size { bytes: 40, files: 980 }),
            (room(60, Some((50_000, 1_000_000))), full),
            (room(61, None), Size { bytes: 1, files: u64::MAX }),
            (Room::default(), full),
        ];
        for (room, left) in cases {
            assert_eq!(room.above(60), left, "{room:?}");
        }
    }

    #[test]
    fn what_was_written_is_the_difference_and_never_less_than_nothing() {
        let room = |free, files| Room { free, available: free, files: Some((files, 100)) };
        assert_eq!(room(40, 9).less_than(&room(100, 10)), Size { bytes: 60, files: 1 });
        assert_eq!(room(100, 10).less_than(&room(40, 9)), Size::default());
    }
}
