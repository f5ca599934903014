//! Counts the files of the project that a session's copy is without, while the session goes on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};

use chock_workspace::{Project, Uncommitted, Workspace};

use crate::show::Show;
use crate::terminal::Weight;

/// A count under way. It ends with the value.
pub(crate) struct Counting {
    uncommitted: Uncommitted,
    so_far: Arc<AtomicU64>,
    count: Option<Receiver<u64>>,
    threads: Vec<JoinHandle<()>>,
}

impl Counting {
    /// Begins to count.
    pub(crate) fn begin(project: &Project, workspace: &Workspace) -> Self {
        let uncommitted = workspace.uncommitted(project);
        let (sender, count) = channel();
        let (counted, so_far) = (uncommitted.clone(), Arc::new(AtomicU64::new(0)));
        let total = so_far.clone();
        let thread = spawn(move || {
            if let Ok(count) = counted.count() {
                total.store(count, Ordering::Relaxed);
                // Nobody listens when the session has ended.
                let _unheard = sender.send(count);
            }
        });
        Self { uncommitted, so_far, count: Some(count), threads: vec![thread] }
    }

    /// The count, which is 0 until it is done.
    pub(crate) fn so_far(&self) -> Arc<AtomicU64> {
        self.so_far.clone()
    }

    /// What there is to say, when it is counted and not said yet.
    pub(crate) fn words(&mut self) -> Option<String> {
        let count = self.count.as_ref()?.try_recv().ok()?;
        self.count = None;
        words(count)
    }

    /// Says it as soon as it is counted.
    pub(crate) fn tell(&mut self, show: &Arc<Mutex<Show>>) {
        if let Some(words) = self.words() {
            say(show, &words);
        } else if let Some(count) = self.count.take() {
            let show = show.clone();
            self.threads.push(spawn(move || {
                if let Some(words) = count.recv().ok().and_then(words) {
                    say(&show, &words);
                }
            }));
        }
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.uncommitted.stop();
        for thread in self.threads.drain(..) {
            // A count that panicked has nothing to say.
            let _panicked = thread.join();
        }
    }
}

fn say(show: &Arc<Mutex<Show>>, words: &str) {
    show.lock().expect("invariant: nobody panics while showing").say(Weight::Warn, words);
}

/// Says how much of the project is not in the session's copy.
fn words(count: u64) -> Option<String> {
    let files = match count {
        0 => return None,
        1 => "1 file is".to_owned(),
        _ => format!("{count} files are"),
    };
    let words = "changed or untracked and not in the copy; --allow-dirty takes them along";
    Some(format!("note: {files} {words}"))
}
