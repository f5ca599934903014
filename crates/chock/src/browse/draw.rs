//! Draws the desk. Whatever the agent wrote goes through [`visible`] first.

use chock_workspace::{FileChange, Hunk, LineTag};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::Mode;
use super::desk::{Desk, Entry, Mark, Part, height};
use crate::visible::{visible, visible_line};
use crate::walk::headline;

/// The widest list of files, and the narrowest screen that has one, in columns.
const FILES_WIDTH: u16 = 40;
const FILES_FROM: u16 = 72;

/// How many columns a tab is.
const TAB: &str = "    ";

const KEYS: &str = " y take  n decline  l leave  a/d rest of file  s split  c decline, say why  Enter finish  ? help";

const HELP: [&str; 17] = [
    "y        take this change",
    "n        decline it; the model is told",
    "c        decline it, and say why",
    "l, u     leave it for later; the model is told nothing",
    "a        take this and the rest of the file",
    "d        decline this and the rest of the file",
    "s        split a change where unchanged lines lie between",
    "",
    "j, k, arrows          next and previous change",
    "Tab, Shift-Tab        next and previous file",
    "Space, b, PgDn, PgUp  through a long change",
    "left, right           along long lines",
    "",
    "Enter, w  to the end: nothing is written before you say so there",
    "q, Esc    leave without doing anything",
    "",
    "any key closes this",
];

pub(super) fn all(frame: &mut Frame<'_>, desk: &mut Desk, mode: &Mode, colour: bool) {
    let paint = Paint { colour };
    let rows = [Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)];
    let [head, middle, foot] = Layout::vertical(rows).areas(frame.area());
    let (taken, declined, of) = desk.counts();
    let title = format!(" review: {of} changes, {taken} taken, {declined} declined ");
    frame.render_widget(Paragraph::new(title).style(paint.bar()), head);
    let wide = if middle.width < FILES_FROM { 0 } else { FILES_WIDTH.min(middle.width / 3) };
    let columns = [Constraint::Length(wide), Constraint::Min(1)];
    let [left, right] = Layout::horizontal(columns).areas(middle);
    frame.render_widget(Paragraph::new(files(desk, left, paint)), left);
    changes(frame, desk, right, paint);
    bottom(frame, desk, mode, foot, paint);
    if *mode == Mode::Help {
        let text: Vec<_> = HELP.iter().map(|line| Line::raw(format!(" {line}"))).collect();
        frame.render_widget(Clear, middle);
        frame.render_widget(Paragraph::new(text), middle);
    }
}

/// Styles, with colours only where they are wanted.
#[derive(Debug, Clone, Copy)]
struct Paint {
    colour: bool,
}

impl Paint {
    fn in_colour(self, colour: Color) -> Style {
        if self.colour { Style::new().fg(colour) } else { Style::new() }
    }

    fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

/// The files, with what was said to them, around the one that is looked at.
fn files(desk: &Desk, area: Rect, paint: Paint) -> Vec<Line<'static>> {
    let here = desk.entry().map_or(0, |entry| entry.file);
    let room = usize::from(area.height);
    let first = here.saturating_sub(room / 2).min(desk.files.len().saturating_sub(room));
    let shown = desk.files.iter().enumerate().skip(first).take(room);
    shown
        .map(|(number, file)| {
            let text = format!(" {} {}", sign(desk, number), headline(file));
            let style = if number == here { paint.bar() } else { Style::new() };
            Line::styled(end_of(&text, usize::from(area.width).saturating_sub(1)), style)
        })
        .collect()
}

/// Says in a letter what was said to a file.
fn sign(desk: &Desk, file: usize) -> char {
    let of_file = |entry: &&Entry| entry.file == file;
    let marks: Vec<_> =
        desk.entries.iter().filter(of_file).map(|entry| (entry, desk.mark_of(entry))).collect();
    let all = |wanted: fn(&Mark) -> bool| marks.iter().all(|(_, mark)| wanted(mark));
    if marks.iter().any(|(entry, _)| entry.part == Part::Never) {
        'x'
    } else if all(|mark| *mark == Mark::Taken) {
        '+'
    } else if all(|mark| matches!(mark, Mark::Declined(_))) {
        '-'
    } else if all(|mark| *mark == Mark::Left) {
        ' '
    } else {
        '~'
    }
}

/// Cuts a text that is too wide where a person misses least: names end with what tells them apart.
fn end_of(text: &str, width: usize) -> String {
    let letters = text.chars().count();
    if letters <= width {
        return text.to_owned();
    }
    let head: String = text.chars().take(3).collect();
    let tail: String = text.chars().skip(letters - width.saturating_sub(5)).collect();
    format!("{head}..{tail}")
}

fn changes(frame: &mut Frame<'_>, desk: &mut Desk, area: Rect, paint: Paint) {
    let Some(file) = desk.file() else { return };
    let mut head = vec![Line::styled(headline(file), paint.strong())];
    let warn = paint.in_colour(Color::Yellow);
    head.extend(notes(file).into_iter().map(|note| Line::styled(note, warn)));
    head.extend(entry_line(desk, paint));
    let height = u16::try_from(head.len()).unwrap_or(u16::MAX).min(area.height);
    let rows = [Constraint::Length(height), Constraint::Min(0)];
    let [top, body] = Layout::vertical(rows).areas(area);
    frame.render_widget(Paragraph::new(head), top);
    desk.page = usize::from(body.height);
    let lines = window(desk, paint);
    frame.render_widget(Paragraph::new(lines), body);
}

/// What is to be known of a file beside its lines.
fn notes(file: &FileChange) -> Vec<String> {
    let mut notes: Vec<_> =
        file.flags.iter().map(|flag| format!("look twice: {}", flag.words())).collect();
    if file.old_mode != file.new_mode && file.old_mode != 0 && file.new_mode != 0 {
        notes.push(format!("mode {:06o} -> {:06o}", file.old_mode, file.new_mode));
    }
    if file.binary {
        notes.push("not text".to_owned());
    }
    notes
}

/// Names what is asked about, and what was said to it.
fn entry_line(desk: &Desk, paint: Paint) -> Option<Line<'static>> {
    let entry = desk.entry()?;
    let of_file: Vec<_> = desk.entries.iter().filter(|other| other.file == entry.file).collect();
    let number = of_file.iter().position(|other| *other == entry)? + 1;
    let what = match entry.part {
        Part::Whole => "this file".to_owned(),
        Part::Mode => "its new mode".to_owned(),
        Part::Hunk(_) => format!("change {number} of {}", of_file.len()),
        Part::Never => "it is never carried; it stays in the session".to_owned(),
    };
    let (said, style) = match desk.mark_of(entry) {
        Mark::Left => (String::new(), Style::new()),
        Mark::Taken => (": taken".to_owned(), paint.in_colour(Color::Green)),
        Mark::Declined(because) if because.is_empty() => {
            (": declined".to_owned(), paint.in_colour(Color::Red))
        }
        Mark::Declined(because) => {
            let because = visible_line(because);
            (format!(": declined, because {because}"), paint.in_colour(Color::Red))
        }
    };
    Some(Line::from(vec![Span::raw(what), Span::styled(said, style)]))
}

/// Returns the lines of the file that can be seen, and no others: a file may have a million.
fn window(desk: &Desk, paint: Paint) -> Vec<Line<'static>> {
    let Some(file) = desk.file() else { return Vec::new() };
    let mut lines = Vec::with_capacity(desk.page);
    let mut before = 0;
    for hunk in &file.hunks {
        let end = before + height(hunk);
        let from = desk.top.max(before);
        let to = (desk.top + desk.page).min(end);
        if from < to {
            let current =
                matches!(desk.entry(), Some(Entry { part: Part::Hunk(id), .. }) if *id == hunk.id);
            lines.extend((from..to).map(|at| line(hunk, at - before, (current, desk.left), paint)));
        }
        before = end;
        if before >= desk.top + desk.page {
            break;
        }
    }
    lines
}

/// Draws one line of a hunk: its head is number 0.
fn line(hunk: &Hunk, number: usize, (current, left): (bool, usize), paint: Paint) -> Line<'static> {
    let edge = if current { "▌" } else { " " };
    let Some(line) = number.checked_sub(1).and_then(|index| hunk.lines.get(index)) else {
        let text = format!("{edge}@@ line {} @@", hunk.new_start);
        return Line::styled(text, paint.in_colour(Color::Cyan));
    };
    let text = String::from_utf8_lossy(&line.bytes);
    let text = visible(text.trim_end_matches('\n')).replace('\t', TAB);
    let style = match line.tag {
        LineTag::Context => Style::new(),
        LineTag::Removed => paint.in_colour(Color::Red),
        LineTag::Added => paint.in_colour(Color::Green),
    };
    let text: String = text.chars().skip(left).collect();
    Line::styled(format!("{edge}{}{text}", char::from(line.tag.sign())), style)
}

fn bottom(frame: &mut Frame<'_>, desk: &Desk, mode: &Mode, area: Rect, paint: Paint) {
    let (taken, declined, of) = desk.counts();
    let left = of - taken - declined;
    let text = match mode {
        Mode::Walk | Mode::Help => KEYS.to_owned(),
        Mode::Reason(text) => {
            format!(" Why? {}_  (Enter declines it, Esc goes back)", visible_line(text))
        }
        Mode::Finish => format!(
            " Take {taken}, decline {declined} and leave {left} changes now? Enter does it, Esc goes back"
        ),
        Mode::Leave => format!(
            " Forget what you said to {} changes? Enter does, any other key goes back",
            taken + declined
        ),
    };
    let line = Paragraph::new(text).style(paint.bar()).wrap(Wrap { trim: false });
    frame.render_widget(line, area);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_wide_keeps_its_end() {
        assert_eq!(end_of("short", 10), "short");
        assert_eq!(end_of(" + changed crates/deep/name.rs", 20), " + ..es/deep/name.rs");
        assert_eq!(end_of("äöüäöüäöü", 6), "äöü..ü");
        assert_eq!(end_of("anything", 0), "any..");
    }
}
