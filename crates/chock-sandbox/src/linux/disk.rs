//! What a session keeps on the host's disk, watched while its calls run.
//!
//! Looking costs a `statfs`: what is free there falls by all that is written, files that nobody
//! can name any more included. Only when so much is gone that the session may be over a limit
//! is it counted what of that is the session's.

mod loose;
mod room;
mod size;

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, TryLockError};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use self::loose::Loose;
use self::room::Room;
use self::size::{Size, Tally};
use crate::{Access, Cage, Home, LimitKind, Mount, SandboxFault};

/// A call that used less than this much more of the disk is not what fills it, so that one that
/// cleans up is not ended by the limit it cures.
const SLACK: Size = Size { bytes: 1 << 20, files: 64 };

/// How fast a program may be taken to write: twice what page caches were seen to take.
const FASTEST: Size = Size { bytes: 4 << 30, files: 400_000 };

/// How often it is looked at most and at least.
const PACE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(150));

/// How long the end of a call may take, in which it goes on writing.
const ENDING: Duration = Duration::from_millis(100);

/// The most that is held free beyond the floor for what is written while a call ends.
const MARGIN_MAX: u64 = 256 << 20;

/// How often is looked for what cannot be seen.
const TRIES: u32 = 3;

/// The most files that are counted at the start of a session: a few milliseconds' worth.
const FIRST_FILES_MAX: u64 = 5000;

/// How often files are counted where the file system has no number of them.
const BLIND: Duration = Duration::from_secs(1);

/// The disks of a session.
#[derive(Debug)]
pub(super) struct Disk {
    /// What the session may keep.
    most: Size,
    /// What stays free.
    floor: u64,
    /// The directories whose sizes count.
    stored: Vec<OwnedFd>,
    /// One directory on each file system that calls write to; those with `stored` come first.
    systems: Vec<OwnedFd>,
    /// Their numbers.
    devices: Vec<u64>,
    /// How many of `systems` have `stored` on them.
    counted_systems: usize,
    /// The first process of the session.
    stub: u32,
    counted: Mutex<Option<Counted>>,
    calls: Mutex<Calls>,
    /// Calls that a limit is ending right now.
    ending: AtomicUsize,
}

/// The last count of what the session keeps.
#[derive(Debug, Clone)]
struct Counted {
    size: Size,
    /// What was free when it began.
    rooms: Vec<Room>,
    /// No new count before this.
    rest: Instant,
    /// When to count again where files have no number.
    blind: Instant,
}

/// The calls that run.
#[derive(Debug, Default)]
struct Calls {
    next: u64,
    running: Vec<u64>,
    /// How many were ended by a limit.
    ended: u64,
}

impl Disk {
    /// Opens what a cage lets calls write to on the host.
    pub(super) fn open(cage: &Cage) -> Result<Self, SandboxFault> {
        let open = |path: &Path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(cannot_be_watched(path))
        };
        let stored = cage.stored.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
        let mut devices = Vec::new();
        let mut systems = Vec::new();
        let mut counted_systems = 0;
        for path in cage.stored.iter().map(std::path::PathBuf::as_path).chain(written(cage)) {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let opened = rustix::fs::openat(CWD, path, flags, Mode::empty())
                .map_err(cannot_be_watched(path))?;
            let device = rustix::fs::fstat(&opened).map_err(cannot_be_watched(path))?;
            if !devices.contains(&device.st_dev) {
                devices.push(device.st_dev);
                systems.push(opened);
                counted_systems += usize::from(cage.stored.iter().any(|stored| stored == path));
            }
        }
        let limits = &cage.limits;
        let most = Size { bytes: limits.workspace_bytes, files: limits.workspace_files };
        Ok(Self {
            most,
            floor: limits.free_bytes,
            stored,
            systems,
            devices,
            counted_systems,
            stub: 0,
            counted: Mutex::default(),
            calls: Mutex::default(),
            ending: AtomicUsize::new(0),
        })
    }

    /// Names the session's first process, which is started after the disks were opened, and
    /// counts what is there.
    pub(super) fn of_session(self, stub: u32) -> Self {
        let mut disk = Self { stub, ..self };
        disk.begin();
        disk
    }

    /// Begins to watch one call.
    pub(super) fn watch(&self) -> Watch<'_> {
        let mut calls = self.lock_calls();
        calls.next += 1;
        let number = calls.next;
        let began_alone = calls.running.is_empty();
        calls.running.push(number);
        let (now, rooms) = (Instant::now(), self.rooms());
        Watch {
            disk: self,
            number,
            began_alone,
            ended: calls.ended,
            start: rooms.clone(),
            last: (now, rooms),
            due: now + PACE.0,
            fired: false,
            before: self.known(),
        }
    }

    fn rooms(&self) -> Vec<Room> {
        self.systems.iter().map(Room::of).collect()
    }

    fn lock_calls(&self) -> std::sync::MutexGuard<'_, Calls> {
        self.calls.lock().expect("invariant: nothing panics while it holds the calls")
    }

    /// Says how much more is used where stored things are than at `then`.
    fn growth(&self, then: &[Room], now: &[Room]) -> Size {
        let pairs = then.iter().zip(now).take(self.counted_systems);
        pairs.fold(Size::default(), |sum, (then, now)| sum.plus(now.less_than(then)))
    }

    /// Says how much the session keeps: counted now if it may be too much, else as far as is
    /// known.
    fn kept(&self, now: Instant, rooms: &[Room]) -> Kept {
        let mut counted = match self.counted.try_lock() {
            Ok(counted) => counted,
            // Another call counts: its answer is the next look's.
            Err(TryLockError::WouldBlock) => return Kept::Guessed(self.most),
            Err(TryLockError::Poisoned(_)) => panic!("invariant: nothing panics while it counts"),
        };
        let is_blind = self.is_blind(rooms);
        let suspected = counted.as_ref().map(|it| it.size.plus(self.growth(&it.rooms, rooms)));
        if let (Some(last), Some(suspected)) = (counted.as_ref(), suspected) {
            let wanted = suspected.over(&self.most).is_some() || (is_blind && now >= last.blind);
            if !wanted || now < last.rest {
                return Kept::Guessed(suspected);
            }
        }
        let tally = self.count();
        let size = match suspected {
            Some(suspected) if !tally.certain => tally.size.at_least(suspected),
            Some(_) | None => tally.size,
        };
        *counted = Some(Counted::of(size, now, rooms.to_vec()));
        Kept::Counted(size)
    }

    /// Returns the last count, unless another call counts right now.
    fn known(&self) -> Option<Size> {
        self.counted.try_lock().ok().and_then(|counted| counted.as_ref().map(|it| it.size))
    }

    /// Says whether stored things are on a file system that does not number its files.
    fn is_blind(&self, rooms: &[Room]) -> bool {
        rooms.iter().take(self.counted_systems).any(|room| room.files.is_none())
    }

    /// Counts what the session keeps: by name, and in files without one that a program has open.
    ///
    /// Where a program hides something from this, all that is suspected is the session's.
    fn count(&self) -> Tally {
        let mut tries = 1;
        loop {
            let mut tally = Tally::up_to(u64::MAX);
            tally.add_all(&self.stored);
            Loose { devices: &self.devices, tally: &mut tally }.add(self.stub);
            // A process between two programs, or a directory on its way out, cannot be looked
            // into for a moment.
            if tally.certain || tries == TRIES {
                return tally;
            }
            tries += 1;
            std::thread::sleep(PACE.0);
        }
    }

    /// Notes what there is while nothing of the agent's writes; nothing where that takes long.
    fn begin(&mut self) {
        let (now, rooms) = (Instant::now(), self.rooms());
        let mut tally = Tally::up_to(FIRST_FILES_MAX);
        tally.add_all(&self.stored);
        let counted = tally.certain.then(|| Counted::of(tally.size, now, rooms));
        self.counted = Mutex::new(counted);
    }
}

impl Counted {
    /// A count that began at `now`, with these rooms, and ends here.
    fn of(size: Size, now: Instant, rooms: Vec<Room>) -> Self {
        let took = now.elapsed();
        let end = now + took;
        Self { size, rooms, rest: end + took, blind: end + BLIND.max(took * 10) }
    }
}

/// What the session keeps.
#[derive(Debug, Clone, Copy)]
enum Kept {
    /// The last count, and all that was written since by whomever.
    Guessed(Size),
    Counted(Size),
}

fn cannot_be_watched(path: &Path) -> impl Fn(Errno) -> SandboxFault {
    |errno| SandboxFault::Mount {
        path: path.display().to_string(),
        step: "watch its disk".to_owned(),
        source: errno.into(),
    }
}

/// Returns what calls may write to, or make in, besides memory.
fn written(cage: &Cage) -> impl Iterator<Item = &Path> {
    let home = match &cage.home {
        Home::Directory(path) => Some(path.as_path()),
        Home::Scratch { .. } => None,
    };
    let mounts = cage.tree.iter().filter_map(|mount| match mount {
        Mount::Bind { source, access: Access::ReadWrite, .. } => Some(source.as_path()),
        Mount::Overlay { upper, .. } => Some(upper.as_path()),
        Mount::Bind { access: Access::ReadOnly, .. }
        | Mount::View { .. }
        | Mount::Scratch { .. }
        | Mount::Cover { .. }
        | Mount::Link { .. }
        | Mount::Directory { .. }
        | Mount::Text { .. } => None,
    });
    mounts.chain(home)
}

/// One call's watch over the disks.
#[derive(Debug)]
pub(super) struct Watch<'a> {
    disk: &'a Disk,
    number: u64,
    began_alone: bool,
    /// How many calls a limit had ended when `start` was taken.
    ended: u64,
    start: Vec<Room>,
    last: (Instant, Vec<Room>),
    due: Instant,
    fired: bool,
    /// What the session kept when this call began, or the first time it was counted since.
    before: Option<Size>,
}

impl Watch<'_> {
    /// Says whether no other call ran since this one began.
    pub(super) fn is_alone(&self) -> bool {
        let calls = self.disk.lock_calls();
        self.began_alone && calls.next == self.number
    }

    /// Returns when to look next; never for a call that is to end.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.fired && !self.disk.systems.is_empty()).then_some(self.due)
    }

    /// Says which limit ends the call, when it is time to look.
    pub(super) fn look(&mut self) -> Option<LimitKind> {
        let now = Instant::now();
        if self.due().is_none_or(|due| now < due) {
            return None;
        }
        let rooms = self.disk.rooms();
        let (limit, wait) = self.judge(now, &rooms);
        self.due = Instant::now() + wait.clamp(PACE.0, PACE.1);
        self.last = (now, rooms);
        if !self.is_next(limit) {
            return None;
        }
        self.fired = limit.is_some();
        self.disk.ending.fetch_add(usize::from(self.fired), Ordering::Relaxed);
        limit
    }

    fn judge(&mut self, now: Instant, rooms: &[Room]) -> (Option<LimitKind>, Duration) {
        let (at, before) = &self.last;
        let mut wait = PACE.1;
        for (place, room) in rooms.iter().enumerate() {
            let speed = room.less_than(&before[place]).bytes.saturating_mul(1000)
                / u64::try_from((now - *at).as_millis()).unwrap_or(u64::MAX).max(1);
            let margin =
                speed.saturating_mul(u64::try_from(ENDING.as_millis()).unwrap_or(0)) / 1000;
            let left = room.above(self.disk.floor.saturating_add(margin.min(MARGIN_MAX)));
            if left == Size::default() && SLACK.is_below(room.less_than(&self.start[place])) {
                return (Some(LimitKind::FreeSpace), PACE.0);
            }
            wait = wait.min(left.fastest_fill());
        }
        let growth = self.disk.growth(&self.start, rooms);
        if !SLACK.is_below(growth) && !self.disk.is_blind(rooms) {
            return (None, wait);
        }
        let size = match self.disk.kept(now, rooms) {
            Kept::Guessed(size) => {
                return (None, wait.min(size.room_to(&self.disk.most).fastest_fill()));
            }
            Kept::Counted(size) => size,
        };
        let before = *self.before.get_or_insert(size);
        let grows = SLACK.is_below(size.more_than(before));
        let limit = size.over(&self.disk.most).filter(|_| grows);
        (limit, wait.min(size.room_to(&self.disk.most).fastest_fill()))
    }

    /// Says whether this call is the one to be ended: the youngest, since those that run longest
    /// wait for something more often than they write, and one at a time.
    fn is_next(&mut self, limit: Option<LimitKind>) -> bool {
        let calls = self.disk.lock_calls();
        if self.ended != calls.ended {
            // What was written until then is answered for.
            self.ended = calls.ended;
            self.start.clone_from(&self.last.1);
            self.before = None;
            return false;
        }
        let youngest = calls.running.iter().max() == Some(&self.number);
        limit.is_none() || (youngest && self.disk.ending.load(Ordering::Relaxed) == 0)
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut calls = self.disk.lock_calls();
        calls.running.retain(|number| *number != self.number);
        if self.fired {
            calls.ended += 1;
            // It is dead. What it wrote while it ended is not the next call's.
            let (now, rooms) = (Instant::now(), self.disk.rooms());
            let size = self.disk.count().size;
            if let Ok(mut counted) = self.disk.counted.lock() {
                *counted = Some(Counted::of(size, now, rooms));
            }
            self.disk.ending.fetch_sub(1, Ordering::Relaxed);
        }
    }
}
