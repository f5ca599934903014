//! A full screen to walk through changes: files on the left, the changes of one on the right.

mod desk;
mod draw;
mod screen;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use self::desk::{Desk, Mark};
use self::screen::Screen;
use crate::exit::Failure;
use crate::handback::Sight;
use crate::selection::Selection;
use crate::terminal::{Terminal, Weight};

/// How often it is looked whether a signal asks for the end.
const LOOK: Duration = Duration::from_millis(200);

/// The longest reason that is taken, in characters.
const REASON_MAX: usize = 1000;

/// What the keys mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    Walk,
    /// A reason is being typed.
    Reason(String),
    /// All is said; one key does it.
    Finish,
    /// Something was marked, and the person wants to go.
    Leave,
    Help,
}

/// What a key leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Stay,
    Do,
    Nothing,
}

/// Lets a person choose. `None` when nothing is to be done.
pub(crate) fn through(
    terminal: &mut Terminal,
    sight: &Sight,
) -> Result<Option<Selection>, Failure> {
    let (ended, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // Behind the screen a signal ends the program again, whatever it does then.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&over))?;
        signal_hook::flag::register(signal, Arc::clone(&ended))?;
    }
    let mut desk = Desk::new(sight.changes.files.clone());
    let next = {
        let mut screen = Screen::enter(terminal.wants_colour())?;
        walk(&mut screen, &mut desk, &ended)
    };
    over.store(true, Ordering::Relaxed);
    let next = next?;
    let selection = desk.selection();
    if next == Next::Nothing || selection.is_empty() {
        let words = if selection.is_empty() { "nothing was chosen" } else { "nothing was done" };
        terminal.say(Weight::Quiet, words);
        return Ok(None);
    }
    Ok(Some(selection))
}

fn walk(screen: &mut Screen, desk: &mut Desk, ended: &AtomicBool) -> Result<Next, Failure> {
    let mut mode = Mode::default();
    loop {
        screen.show(desk, &mode)?;
        while !event::poll(LOOK)? {
            if ended.load(Ordering::Relaxed) {
                return Ok(Next::Nothing);
            }
        }
        let next = match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => press(desk, &mut mode, key),
            Event::Paste(text) => {
                type_in(&mut mode, &text);
                Next::Stay
            }
            // A new size is drawn at the top of the loop.
            Event::Key(_)
            | Event::Mouse(_)
            | Event::Resize(..)
            | Event::FocusGained
            | Event::FocusLost => Next::Stay,
        };
        if next != Next::Stay {
            return Ok(next);
        }
    }
}

fn press(desk: &mut Desk, mode: &mut Mode, key: KeyEvent) -> Next {
    if key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c') {
        return Next::Nothing;
    }
    match mode {
        Mode::Walk => return press_in_walk(desk, mode, key),
        Mode::Reason(text) => match key.code {
            KeyCode::Enter => {
                desk.mark(Mark::Declined(text.trim().to_owned()));
                desk.forward();
                *mode = Mode::Walk;
            }
            KeyCode::Esc => *mode = Mode::Walk,
            KeyCode::Backspace => drop(text.pop()),
            KeyCode::Char(letter) => type_in(mode, letter.encode_utf8(&mut [0; 4])),
            _ => {}
        },
        Mode::Finish => match key.code {
            KeyCode::Enter | KeyCode::Char('y') => return Next::Do,
            KeyCode::Esc | KeyCode::Char('n' | 'q') => *mode = Mode::Walk,
            _ => {}
        },
        Mode::Leave => match key.code {
            KeyCode::Enter | KeyCode::Char('y' | 'q') => return Next::Nothing,
            _ => *mode = Mode::Walk,
        },
        Mode::Help => *mode = Mode::Walk,
    }
    Next::Stay
}

fn press_in_walk(desk: &mut Desk, mode: &mut Mode, key: KeyEvent) -> Next {
    match key.code {
        KeyCode::Down | KeyCode::Char('j') => desk.forward(),
        KeyCode::Up | KeyCode::Char('k') => desk.back(),
        KeyCode::Tab | KeyCode::Char(']') => desk.next_file(),
        KeyCode::BackTab | KeyCode::Char('[') => desk.previous_file(),
        KeyCode::PageDown | KeyCode::Char(' ') => desk.scroll_down(),
        KeyCode::PageUp | KeyCode::Char('b') => desk.scroll_up(),
        KeyCode::Right => desk.shift_right(),
        KeyCode::Left => desk.shift_left(),
        KeyCode::Char('y') => desk.answer(Mark::Taken),
        KeyCode::Char('n') => desk.answer(Mark::Declined(String::new())),
        KeyCode::Char('l') => desk.answer(Mark::Left),
        KeyCode::Char('a') => desk.answer_rest(&Mark::Taken),
        KeyCode::Char('d') => desk.answer_rest(&Mark::Declined(String::new())),
        KeyCode::Char('s') => desk.split(),
        KeyCode::Char('u') => desk.unmark(),
        KeyCode::Char('c') if desk.can_mark() => *mode = Mode::Reason(String::new()),
        KeyCode::Enter | KeyCode::Char('w') if !desk.selection().is_empty() => {
            *mode = Mode::Finish;
        }
        KeyCode::Char('q') | KeyCode::Esc if desk.selection().is_empty() => return Next::Nothing,
        KeyCode::Char('q') | KeyCode::Esc => *mode = Mode::Leave,
        KeyCode::Char('?') => *mode = Mode::Help,
        _ => {}
    }
    Next::Stay
}

/// Adds what was typed or pasted to a reason, on its one line.
fn type_in(mode: &mut Mode, text: &str) {
    if let Mode::Reason(reason) = mode {
        let room = REASON_MAX.saturating_sub(reason.chars().count());
        let letters = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
        reason.extend(letters.take(room));
    }
}
