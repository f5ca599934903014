//! What a model is told of its background tasks.

use std::time::Duration;

use chock_log::{Ended, Outcome};

use super::output::{self, Piece};
use super::{End, Stopper, Task};
use crate::clean::clean;
use crate::names::{count, escaped};
use crate::output::{OUTPUT_BYTES_MAX, end_line};
use crate::reading::Background;

/// How much of a command line names a task, in characters.
const LINE_LETTERS: usize = 80;

/// Half for the beginning of what is new, half for its end.
const PART_BYTES: usize = OUTPUT_BYTES_MAX / 2;

/// Says that a task begins, and how to follow it.
pub(super) fn started(background: &Background) -> String {
    let Background { task, command, .. } = background;
    format!(
        "{task} runs in the background, for at most {}. Its output goes to {}: task_output shows \
         it, task_stop ends it. You are told when it ends; with the session it ends too.\n",
        seconds(command.time),
        output::inside(task),
    )
}

/// Says how a task ended: a sentence that stands alone.
pub(super) fn ended(task: &Task, end: &End) -> String {
    let how = match (&end.ended, task.stopper) {
        (Ended::Cancelled, Some(Stopper::Model)) => "was stopped by task_stop",
        (Ended::Cancelled, Some(Stopper::Person)) => "was stopped by the person",
        (Ended::Cancelled, Some(Stopper::Session)) => "was stopped with the session",
        _ => &end.words,
    };
    let (id, line, place) = (&task.id, named(&task.command), place(task));
    format!("{id} (`{line}`) {how}, after {}; {place}", seconds(end.time))
}

/// Shows what a task printed since the model looked last, and says where it stands.
pub(super) fn looked(task: &mut Task) -> Outcome {
    let before = task.looked;
    let pieces = {
        let output = task.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let first = output.piece(before, PART_BYTES);
        let last = first.total.saturating_sub(PART_BYTES as u64).max(first.next());
        [output.piece(last, PART_BYTES), first]
    };
    let [last, first] = pieces;
    task.looked = last.total;
    let left_out = [(before, &first), (first.next(), &last)].map(|(at, piece)| piece.from - at);
    let mut text = String::new();
    for (bytes, piece) in left_out.into_iter().zip([&first, &last]) {
        show(&mut text, bytes, piece);
    }
    end_line(&mut text);
    let new = if text.is_empty() { "no new output; " } else { "" };
    text.push_str(&format!("[chock: {new}{}]\n", standing(task)));
    let shown = (first.bytes.len() + last.bytes.len()) as u64;
    let ended = Ended::Done;
    Outcome { bytes_kept: shown, bytes_dropped: left_out.iter().sum(), ..Outcome::new(ended, text) }
}

/// Adds a piece, and says first what is missing before it.
fn show(text: &mut String, left_out: u64, piece: &Piece) {
    if left_out > 0 {
        end_line(text);
        text.push_str(&format!("[chock: {} left out here]\n", count(left_out, "byte")));
    }
    text.push_str(&clean(&piece.bytes).text);
}

fn standing(task: &Task) -> String {
    match &task.end {
        Some(end) => ended(task, end),
        None => {
            let (id, time) = (&task.id, seconds(task.started.elapsed()));
            format!("{id} has been running for {time}; {}", place(task))
        }
    }
}

/// Says where the output is.
fn place(task: &Task) -> String {
    let output = task.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (bytes, kept) = output.amounts();
    let inside = output::inside(&task.id);
    match (bytes, output.lost()) {
        (0, _) => "it printed nothing".into(),
        (bytes, Some(why)) => {
            format!("it printed {}, of which {kept} are kept ({why})", count(bytes, "byte"))
        }
        (bytes, None) if kept < bytes => {
            format!("the first {kept} of the {bytes} bytes it printed are in {inside}")
        }
        (bytes, None) => format!("the {} it printed are in {inside}", count(bytes, "byte")),
    }
}

/// Names a command line, on one line.
fn named(command: &str) -> String {
    let line = escaped(command);
    if line.chars().count() <= LINE_LETTERS {
        return line;
    }
    let kept: String = line.chars().take(LINE_LETTERS).collect();
    format!("{kept}…")
}

fn seconds(time: Duration) -> String {
    count(time.as_secs(), "second")
}
