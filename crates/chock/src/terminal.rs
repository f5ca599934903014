//! The two streams of the program and what they are.

use std::io::{self, IsTerminal, Write};

use crate::visible::visible;

/// Says how much a line matters, by colour, on a terminal only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    Plain,
    Quiet,
    Strong,
    Good,
    Bad,
    Warn,
}

/// Whether colour is wanted, as `--color` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal that can show it
    #[default]
    Auto,
    /// Everywhere
    Always,
    /// Nowhere
    Never,
}

/// Standard output for answers, standard error for everything else.
pub(crate) struct Terminal {
    out: Box<dyn Write + Send>,
    err: Box<dyn Write + Send>,
    colour_out: bool,
    colour_err: bool,
    /// Whether answers go to a terminal.
    pub(crate) out_is_terminal: bool,
    /// Whether a person can be asked: input and errors are a terminal.
    pub(crate) can_ask: bool,
    /// Whether more is told, as `--verbose` says.
    pub(crate) verbose: bool,
}

impl Terminal {
    /// Takes the process's own streams. `colourless` is what the environment asks for.
    pub(crate) fn new(colour: Colour, colourless: bool, verbose: bool) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let wanted = |is_terminal: bool| match colour {
            Colour::Auto => is_terminal && !colourless,
            Colour::Always => true,
            Colour::Never => false,
        };
        let (out_is_terminal, err_is_terminal) = (out.is_terminal(), err.is_terminal());
        Self {
            out: Box::new(out),
            err: Box::new(err),
            colour_out: wanted(out_is_terminal),
            colour_err: wanted(err_is_terminal),
            out_is_terminal,
            can_ask: err_is_terminal && io::stdin().is_terminal(),
            verbose,
        }
    }

    /// Says whether what is not an answer may be coloured.
    pub(crate) fn wants_colour(&self) -> bool {
        self.colour_err
    }

    /// Returns the stream of answers.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Writes one line of an answer.
    pub(crate) fn answer(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }

    /// Writes one line to the stream of everything else. A closed stream is nobody's loss.
    pub(crate) fn say(&mut self, weight: Weight, line: &str) {
        let line = painted(line, weight, self.colour_err);
        let _ = writeln!(self.err, "{line}");
    }

    /// Writes a piece of a line to the stream of everything else.
    pub(crate) fn say_piece(&mut self, piece: &str) {
        let _ = write!(self.err, "{piece}");
        let _ = self.err.flush();
    }

    /// Says whether a line on the screen may be drawn over.
    pub(crate) fn draws(&self) -> bool {
        self.can_ask && self.colour_err
    }

    /// Takes the last piece of a line off the screen again; where nothing may be drawn, ends it.
    pub(crate) fn take_back_piece(&mut self) {
        let piece = if self.draws() { "\r\x1b[2K" } else { "\n" };
        self.say_piece(piece);
    }

    /// Paints a piece of an answer.
    pub(crate) fn paint(&self, text: &str, weight: Weight) -> String {
        painted(text, weight, self.colour_out)
    }

    /// Writes an error as every command does. Paths in it are a stranger's, so nothing of it draws.
    pub(crate) fn fail(&mut self, message: &str) {
        let word = painted("error:", Weight::Bad, self.colour_err);
        let _ = writeln!(self.err, "{word} {}", visible(message));
    }
}

fn painted(text: &str, weight: Weight, colour: bool) -> String {
    use anstyle::{AnsiColor, Style};
    if !colour || weight == Weight::Plain {
        return text.to_owned();
    }
    let style = match weight {
        Weight::Plain => Style::new(),
        Weight::Quiet => Style::new().dimmed(),
        Weight::Strong => Style::new().bold(),
        Weight::Good => AnsiColor::Green.on_default(),
        Weight::Bad => AnsiColor::Red.on_default().bold(),
        Weight::Warn => AnsiColor::Yellow.on_default(),
    };
    format!("{style}{text}{style:#}")
}
