//! The terminal as a full screen, given back however the screen ends.

use std::io::{self, Stderr};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::desk::Desk;
use super::{Mode, draw};

/// The terminal while it is a full screen. Dropping it gives the terminal back.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    colour: bool,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn enter(colour: bool) -> io::Result<Self> {
        enable_raw_mode()?;
        // From here on an error and a panic give back what was taken.
        let terminal = Terminal::new(CrosstermBackend::new(io::stderr()));
        let screen = terminal.map(|terminal| Self { terminal, colour });
        let entered = execute!(io::stderr(), EnterAlternateScreen, EnableBracketedPaste);
        if let (Ok(screen), Ok(())) = (screen, &entered) {
            return Ok(screen);
        }
        give_back();
        entered.and(Err(io::Error::other("the terminal cannot be drawn on")))
    }

    pub(super) fn show(&mut self, desk: &mut Desk, mode: &Mode) -> io::Result<()> {
        let colour = self.colour;
        self.terminal.draw(|frame| draw::all(frame, desk, mode, colour)).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back. An error means that it is gone.
fn give_back() {
    let _ = execute!(io::stderr(), DisableBracketedPaste, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
