//! Times one caged `true` in lanes, for `cargo xtask bench`: a name in, nanoseconds out.

use std::cell::OnceCell;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use chock_log::{Granter, Grounds, Log, Options, Permit, Redactor};
use chock_sandbox::{
    Access, Cage, Call, Cancel, Containment, Ended, Filter, Finished, Home, Keeper, KeeperOptions,
    Limits, Mount, Owners, Program, SessionUser, Stdio,
};

/// Whom a session belongs to when this runs as root.
const SESSION: SessionUser = SessionUser { uid: 65534, gid: 65534 };

/// Where a program's libraries are looked up: in every session's cage, and in the peer's.
const LOADER_CACHE: &str = "/etc/ld.so.cache";

/// The bytes that the lane `large-parent` has more.
const BALLAST: usize = 256 << 20;

/// How many cells wait, as in a session of the program.
const WARM: usize = 2;

/// How many calls stand in a row.
const ROW: usize = 200;

/// How long the next cell is given to get ready: a tool call comes later than that.
const READY: Duration = Duration::from_millis(15);

type Answer<T> = Result<T, Box<dyn Error>>;

fn main() -> Answer<()> {
    chock_sandbox::enter_role_if_asked(std::env::args_os(), &[]);
    let scratch = std::env::args_os().nth(1).map(PathBuf::from).ok_or("a scratch directory")?;
    let mut ground = Ground::new(std::fs::canonicalize(scratch)?)?;
    for lane in io::stdin().lock().lines() {
        let answer = match ground.once(lane?.trim()) {
            Ok(time) => time.as_nanos().to_string(),
            Err(error) => format!("! {error}"),
        };
        writeln!(io::stdout(), "{answer}")?;
    }
    Ok(())
}

struct Ground {
    scratch: PathBuf,
    granter: Granter,
    cold: OnceCell<Keeper>,
    warm: OnceCell<Keeper>,
    few: OnceCell<Keeper>,
    many: OnceCell<Keeper>,
    ballast: Vec<u8>,
}

impl Ground {
    fn new(scratch: PathBuf) -> Answer<Self> {
        let log = scratch.join(format!("log-{}/bench.jsonl", std::process::id()));
        let redactor = Redactor::new([], [0; 32]);
        let options =
            Options { clock: Box::new(Default::default), redactor, observer: None, courier: None };
        let granter = Log::open(&log, options)?.granter;
        let [cold, warm, few, many] = [const { OnceCell::new() }; 4];
        Ok(Self { scratch, granter, cold, warm, few, many, ballast: Vec::new() })
    }

    fn once(&mut self, lane: &str) -> Answer<Duration> {
        let count = if lane == "row" { ROW } else { 1 };
        let permits = (0..count).map(|_| self.permit()).collect::<Answer<Vec<_>>>()?;
        if lane == "large-parent" && self.ballast.is_empty() {
            // Every page is touched, so that a copy of this process would have to copy them all.
            self.ballast = vec![1; BALLAST];
        }
        if lane == "start" {
            return self.start(permits);
        }
        let keeper = match lane {
            "cold" => self.keeper(&self.cold, 0, 0)?,
            "warm" | "row" | "large-parent" => self.keeper(&self.warm, WARM, 0)?,
            "mounts-7" => self.keeper(&self.few, WARM, 0)?,
            "mounts-2000" => self.keeper(&self.many, WARM, 2000)?,
            other => return Err(format!("no lane `{other}`").into()),
        };
        if lane != "cold" {
            thread::sleep(READY);
        }
        let begun = Instant::now();
        for permit in permits {
            // As a caller does, the cell is let go after its answer was taken.
            drop(call(keeper, permit)?);
            if lane != "row" {
                return Ok(begun.elapsed());
            }
        }
        Ok(begun.elapsed())
    }

    /// Starts a keeper of its own, and has its first cell do a call.
    fn start(&self, permits: Vec<Permit<Program>>) -> Answer<Duration> {
        let place = self.scratch.join("start");
        let cage = cage(&place, 0)?;
        let begun = Instant::now();
        let keeper = Keeper::start(&Self::options(WARM)?, &cage)?;
        for permit in permits {
            drop(call(&keeper, permit)?);
        }
        let took = begun.elapsed();
        drop(keeper);
        std::fs::remove_dir_all(&place)?;
        Ok(took)
    }

    fn options(warm: usize) -> Answer<KeeperOptions> {
        Ok(KeeperOptions {
            program: File::open("/proc/self/exe")?,
            session_user: Some(SESSION),
            containment: Containment::BestEffort,
            warm,
        })
    }

    fn permit(&mut self) -> Answer<Permit<Program>> {
        let program = Program::Command {
            argv: vec!["/usr/bin/true".into()],
            environment: Vec::new(),
            directory: "/workspace".into(),
        };
        let grounds = Grounds::Rule { origin: "bench".to_owned(), row: String::new() };
        let actions = vec!["call.run_command".to_owned()];
        Ok(self.granter.grant("bench", program, actions, grounds)?)
    }

    fn keeper<'a>(
        &self,
        cell: &'a OnceCell<Keeper>,
        warm: usize,
        mounts: usize,
    ) -> Answer<&'a Keeper> {
        if cell.get().is_none() {
            let number = format!("{warm}-{mounts}-{:p}", std::ptr::from_ref(cell));
            let cage = cage(&self.scratch.join(number), mounts)?;
            cell.set(Keeper::start(&Self::options(warm)?, &cage)?).ok();
        }
        Ok(cell.get().ok_or("invariant: it was set above")?)
    }
}

fn call(keeper: &Keeper, permit: Permit<Program>) -> Answer<Finished> {
    let cancel = Cancel::new()?;
    let mut sink = |_: &[u8]| {};
    let call = Call { stdio: Stdio::Captured(&mut sink), wall_time: None, cancel: &cancel };
    let (_, finished) = chock_sandbox::run(keeper, permit, call);
    let finished = finished?;
    if finished.ended != Ended::Exited(0) {
        return Err(format!("it ended otherwise: {:?}", finished.ended).into());
    }
    Ok(finished)
}

/// A workspace over an empty base, the system's programs, and as many binds more.
fn cage(place: &Path, mounts: usize) -> Answer<Cage> {
    for part in ["base", "layer/upper", "layer/work"] {
        std::fs::create_dir_all(place.join(part))?;
    }
    if rustix::process::geteuid().is_root() {
        for part in ["", "base", "layer", "layer/upper", "layer/work"] {
            let path = place.join(part);
            chown(&path, Some(SESSION.uid), Some(SESSION.gid))?;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755))?;
        }
    }
    std::fs::write(place.join("base/file"), "x")?;
    let bind = |source: PathBuf, target: PathBuf| Mount::Bind {
        source,
        target,
        access: Access::ReadOnly,
        owners: Owners::AsOutside,
    };
    let mut tree = vec![bind("/usr".into(), "/usr".into())];
    for name in ["bin", "sbin", "lib", "lib64"] {
        let target = Path::new("/").join(name);
        if let Ok(to) = std::fs::read_link(&target) {
            tree.push(Mount::Link { target, to });
        }
    }
    if Path::new(LOADER_CACHE).exists() {
        tree.push(bind(LOADER_CACHE.into(), LOADER_CACHE.into()));
    }
    tree.push(Mount::Overlay {
        base: place.join("base"),
        upper: place.join("layer/upper"),
        work: place.join("layer/work"),
        target: "/workspace".into(),
    });
    for number in 0..mounts {
        tree.push(bind(place.join("base/file"), format!("/many/{number}").into()));
    }
    let (limits, filter) = (Limits::default(), Filter::default());
    let (home, stored) = (Home::Scratch { bytes: 1 << 20 }, Vec::new());
    Ok(Cage { tree, home, stored, limits, filter })
}
