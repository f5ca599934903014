//! What a person sees while a session runs.

use std::collections::BTreeMap;

use chock_agent::Sight;
use chock_log::{
    Delta, Denial, Ended, Event, LearnedBody, Mask, Masking, ModelMessage, Outcome, PromiseBody,
    Record, Redactor, ReviewVerdict, SwitchedBody, ToolCall, WidenedBody,
};
use serde_json::Value;

use crate::terminal::{Terminal, Weight};
use crate::visible::{shortened, visible, visible_line};

/// How many last lines of a failed command are shown.
const TAIL_LINES: usize = 8;

/// How wide a line about a call may be.
const LINE_CHARACTERS: usize = 110;

/// How much of a task's command line is shown when it ends.
const TASK_CHARACTERS: usize = 60;

/// How the session is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// Words as they come, and a line for each act.
    Person,
    /// The records, one a line.
    Records,
}

/// Draws records and pieces of replies on the two streams.
pub(crate) struct Show {
    pub(crate) terminal: Terminal,
    view: View,
    /// Whether the cursor of standard output stands behind an unfinished line.
    open_line: bool,
    /// Whether the last line on the screen is drawn over, as that of a countdown is.
    drawn: bool,
    /// Whether what is under way was said, since none could be drawn.
    told: bool,
    /// Whether the reply's words were shown piece by piece.
    streamed: bool,
    /// Replaces secrets in a reply that comes in pieces, once a session is open.
    masking: Option<Masking>,
    /// Replaces them in whole words.
    redactor: Option<Redactor>,
    /// The command lines of background tasks.
    tasks: BTreeMap<String, String>,
    /// Calls of the reply that have not begun.
    waiting: BTreeMap<String, ToolCall>,
}

impl Show {
    pub(crate) fn new(terminal: Terminal, view: View) -> Self {
        Self {
            terminal,
            view,
            open_line: false,
            drawn: false,
            told: false,
            streamed: false,
            masking: None,
            redactor: None,
            tasks: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Has secrets replaced from now on.
    pub(crate) fn guard(&mut self, redactor: Redactor) {
        self.masking = Some(Masking::new(redactor.clone()));
        self.redactor = Some(redactor);
    }

    /// Shows a record that was just written.
    pub(crate) fn record(&mut self, record: &Record, line: &[u8]) {
        self.stop_drawing();
        if self.view == View::Records {
            // A reader that is gone must not end the session: the log has it all.
            let _ = self.terminal.out().write_all(line);
            let _ = self.terminal.out().flush();
            return;
        }
        match &record.event {
            Event::Model(message) => self.reply(message),
            Event::ToolStarted(body) => {
                self.waiting.remove(&body.call.id);
                self.started(&body.call);
            }
            Event::ToolFinished(body) => {
                // What was refused before it began is named like what was done.
                let unbegun = self.waiting.remove(&body.call);
                if let Some(call) = unbegun.filter(|_| body.outcome.ended == Ended::Denied) {
                    self.started(&call);
                }
                self.finished(&body.tool, &body.outcome);
            }
            Event::TaskStarted(body) => {
                self.say(
                    Weight::Quiet,
                    &format!("  {} runs in the background", visible_line(&body.task)),
                );
                self.tasks.insert(body.task.clone(), body.command.clone());
            }
            Event::TaskFinished(body) => self.task_ended(&body.task, &body.outcome),
            Event::Title(body) => {
                self.say(Weight::Quiet, &format!("· {}", visible_line(&body.title)));
            }
            Event::Plan(body) => {
                let done =
                    body.steps.iter().filter(|step| step.status == chock_log::PlanStatus::Done);
                let line = format!("· plan: {} of {} steps done", done.count(), body.steps.len());
                self.say(Weight::Quiet, &line);
            }
            Event::Noted(body) => {
                let line = format!("· writes the note {} ({})", body.name, body.kind);
                self.say(Weight::Quiet, &visible_line(&line));
            }
            Event::Reviewed(_)
            | Event::Promise(_)
            | Event::Widened(_)
            | Event::Compaction(_)
            | Event::Switched(_) => self.governed(&record.event),
            Event::Learned(body) => self.learned(body),
            Event::Forked(_)
            | Event::Start(_)
            | Event::Config(_)
            | Event::User(_)
            | Event::Usage(_)
            | Event::Asked(_)
            | Event::Answered(_)
            | Event::WorkspaceOpened(_)
            | Event::Snapshot(_)
            | Event::DiffReviewed(_)
            | Event::Applied(_)
            | Event::Undone(_)
            | Event::Retry(_)
            | Event::Notice(_)
            | Event::Ended(_)
            | Event::Unknown { .. } => {}
        }
    }

    /// Says where a price is from that no server told.
    fn learned(&mut self, body: &LearnedBody) {
        if let Some(day) = &body.price_day {
            let words = "its server says no price; the one counted with is of";
            let line = format!("· {}: {words} {day}", body.model);
            self.say(Weight::Quiet, &visible_line(&line));
        }
    }

    /// Ends a reply: what was held back of it, or all of it where no piece came.
    fn reply(&mut self, message: &ModelMessage) {
        let rest = self.masking.as_mut().map(Masking::finish).unwrap_or_default();
        self.put(&String::from_utf8_lossy(&rest));
        if !self.streamed {
            let text = message.text();
            let redactor = self.redactor.as_ref();
            let masked = redactor.and_then(|redactor| redactor.text(&text, Mask::All));
            self.put(masked.as_deref().unwrap_or(&text));
        }
        self.streamed = false;
        self.close_line();
        self.waiting = message.calls().map(|call| (call.id.clone(), call.clone())).collect();
    }

    /// Shows what changes or uses the rules.
    fn governed(&mut self, event: &Event) {
        let (weight, line) = match event {
            Event::Reviewed(body) => {
                let word = review_word(body.review);
                (Weight::Quiet, format!("· reviewed {}: {word}", body.action))
            }
            Event::Promise(PromiseBody { action, ceiling, .. }) => {
                (Weight::Quiet, format!("· promised: {action} is at most {ceiling}"))
            }
            Event::Compaction(body) if body.through == chock_log::Seq(0) => {
                (Weight::Quiet, "· made room: older results are told shortened".to_owned())
            }
            Event::Compaction(_) => (
                Weight::Quiet,
                "· made room: earlier turns are told as a summary; the log has them all".to_owned(),
            ),
            Event::Switched(body) => {
                let _ = self.masking.as_mut().map(Masking::finish);
                self.streamed = false;
                let SwitchedBody { provider, model, reason, .. } = body;
                (Weight::Warn, format!("· {reason}; going on with {provider} · {model}"))
            }
            Event::Widened(WidenedBody { action, ceiling }) => {
                (Weight::Warn, format!("· a promise was lifted: {action} is at most {ceiling}"))
            }
            _ => return,
        };
        self.say(weight, &visible_line(&line));
    }

    /// Shows what is not a record.
    pub(crate) fn sight(&mut self, sight: &Sight<'_>) {
        match sight {
            Sight::Delta(delta) => self.delta(delta),
            // The whole output is in the record; a person sees how it ended.
            Sight::Output(_) => {}
            Sight::Warning(words) => {
                self.say(Weight::Warn, &format!("warning: {}", visible(words)))
            }
        }
    }

    /// Says something beside the answer.
    pub(crate) fn say(&mut self, weight: Weight, line: &str) {
        self.stop_drawing();
        self.close_line();
        self.terminal.say(weight, line);
    }

    /// Counts a wait down in the last line of the screen, where one can be drawn.
    fn count(&mut self, seconds: u64) {
        if self.view == View::Person && self.terminal.draws() {
            let (minutes, rest) = (seconds / 60, seconds % 60);
            let left =
                if minutes > 0 { format!("{minutes} min {rest} s") } else { format!("{rest} s") };
            self.redraw(&format!("{left} left; Ctrl-C ends the wait"));
        }
    }

    /// Draws how far something is in the last line of the screen. Where none can be drawn, what is
    /// under way is said once.
    pub(crate) fn draw(&mut self, what: &str, far: &str) {
        match self.view {
            View::Person if self.terminal.draws() => self.redraw(&format!("{what}: {far}")),
            View::Person if !self.told => {
                self.say(Weight::Quiet, &format!("{what} ..."));
                self.told = true;
            }
            View::Person | View::Records => {}
        }
    }

    fn redraw(&mut self, line: &str) {
        self.close_line();
        self.drawn = true;
        self.terminal.say_piece(&format!("\r\x1b[2K  {line}"));
    }

    /// Takes what was drawn off the screen.
    pub(crate) fn stop_drawing(&mut self) {
        self.told = false;
        if std::mem::take(&mut self.drawn) {
            self.terminal.take_back_piece();
        }
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) if self.view == View::Person => {
                self.streamed = true;
                match &mut self.masking {
                    Some(masking) => {
                        let free = masking.feed_text(text);
                        self.put(&free);
                    }
                    None => self.put(text),
                }
            }
            Delta::Text(_) | Delta::Thinking(_) | Delta::Call(_) => {}
            Delta::Waiting { seconds, attempt, reason } => {
                let reason = visible_line(reason);
                let line = format!("waiting {seconds} s, then try {attempt}: {reason}");
                self.say(Weight::Warn, &line);
            }
            Delta::Left { seconds } => self.count(*seconds),
            Delta::Restart => {
                let _ = self.masking.as_mut().map(Masking::finish);
                self.streamed = false;
                self.say(Weight::Warn, "the reply was cut off; asking again");
            }
        }
    }

    /// Puts words that hold no secret behind those of the reply.
    fn put(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.stop_drawing();
        self.open_line = !text.ends_with('\n');
        let out = self.terminal.out();
        let _ = out.write_all(visible(text).as_bytes());
        let _ = out.flush();
    }

    pub(crate) fn close_line(&mut self) {
        if self.open_line {
            self.open_line = false;
            let _ = writeln!(self.terminal.out());
        }
    }

    fn started(&mut self, call: &ToolCall) {
        let line = format!("● {}", summary(call));
        self.say(Weight::Strong, &shortened(&line, LINE_CHARACTERS));
    }

    fn task_ended(&mut self, task: &str, outcome: &Outcome) {
        let (weight, words) = task_ending(&outcome.ended);
        let seconds = outcome.duration_ms as f64 / 1000.0;
        let command = self.tasks.remove(task).unwrap_or_default();
        let command = shortened(&visible_line(&command), TASK_CHARACTERS);
        let line = format!("· {} {words} · {seconds:.1} s · {command}", visible_line(task));
        self.say(weight, line.trim_end_matches(" · "));
    }

    fn finished(&mut self, tool: &str, outcome: &Outcome) {
        let (weight, words) = ending(outcome);
        let seconds = outcome.duration_ms as f64 / 1000.0;
        let time =
            if outcome.duration_ms >= 100 { format!(" · {seconds:.1} s") } else { String::new() };
        let words = match &outcome.denial {
            Some(denial) if denial.inferred => format!("{words} · {}", refusal(Some(denial))),
            Some(_) | None => words,
        };
        let name = if outcome.ended == Ended::Fault { format!("{tool}: ") } else { String::new() };
        self.say(weight, &format!("  {name}{words}{time}"));
        if let Some(row) = ceiling(outcome) {
            self.say(Weight::Quiet, &format!("    {}", visible_line(row)));
        }
        if let Some(row) = outcome.denial.as_ref().and_then(|denial| denial.allowed_by.as_ref()) {
            self.say(Weight::Quiet, &format!("    to allow it: {}", visible_line(row)));
        }
        if outcome.is_error() && outcome.ended != Ended::Denied {
            let lines: Vec<_> = outcome.text.trim_end().lines().collect();
            for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
                let line = shortened(&visible_line(line), LINE_CHARACTERS);
                self.say(Weight::Quiet, &format!("    {line}"));
            }
        }
    }
}

/// Says in a few words how a background task ended.
pub(crate) fn task_ending(ended: &Ended) -> (Weight, String) {
    match ended {
        Ended::Done | Ended::Exited(0) => (Weight::Quiet, "exit 0".to_owned()),
        Ended::Exited(code) => (Weight::Bad, format!("exit {code}")),
        Ended::Signalled(signal) => (Weight::Bad, format!("ended by signal {signal}")),
        Ended::TimedOut(seconds) => (Weight::Bad, format!("ended after its limit of {seconds} s")),
        Ended::Limit(name) => (Weight::Bad, format!("ended by the limit on {name}")),
        Ended::Fault | Ended::Denied => (Weight::Bad, "not started".to_owned()),
        Ended::Cancelled => (Weight::Warn, "stopped".to_owned()),
        Ended::Unknown => (Weight::Warn, "ended, nobody knows how".to_owned()),
    }
}

/// Says in a few words how a call ended.
fn ending(outcome: &Outcome) -> (Weight, String) {
    match &outcome.ended {
        Ended::Done => (Weight::Quiet, "done".to_owned()),
        Ended::Exited(0) => (Weight::Good, "exit 0".to_owned()),
        Ended::Exited(code) => (Weight::Bad, format!("exit {code}")),
        Ended::Signalled(signal) => (Weight::Bad, format!("ended by signal {signal}")),
        Ended::TimedOut(seconds) => (Weight::Bad, format!("ended after its limit of {seconds} s")),
        Ended::Limit(name) => (Weight::Bad, format!("ended by the limit on {name}")),
        Ended::Denied => (Weight::Warn, refusal(outcome.denial.as_ref())),
        Ended::Fault => (Weight::Bad, "not understood".to_owned()),
        Ended::Cancelled => (Weight::Warn, "not run".to_owned()),
        Ended::Unknown => (Weight::Warn, "outcome unknown".to_owned()),
    }
}

/// Says what came of a review.
fn review_word(review: ReviewVerdict) -> &'static str {
    match review {
        ReviewVerdict::Approved => "approved",
        ReviewVerdict::Refused => "refused",
        ReviewVerdict::Unavailable => "there was no review",
    }
}

/// Says in a few words who refused what.
fn refusal(denial: Option<&Denial>) -> String {
    let what = denial.and_then(|denial| denial.target.as_ref().or(denial.action.as_ref()));
    let layer = denial.map_or("wall", |denial| denial.layer.as_str());
    let known = if denial.is_some_and(|denial| denial.inferred) { " (inferred)" } else { "" };
    let what = what.map(|what| format!(": {}", visible_line(what))).unwrap_or_default();
    match layer {
        "nobody" => format!("refused, nobody said yes{what}"),
        layer => format!("refused by {layer}{known}{what}"),
    }
}

/// Returns the sentence that names the row of an organisation or a promise, above which no row is.
fn ceiling(outcome: &Outcome) -> Option<&str> {
    let denial = outcome.denial.as_ref()?;
    let is_one = ["organisation", "promise"].contains(&denial.layer.as_str());
    let sentence = outcome.text.lines().next().filter(|_| is_one)?;
    Some(sentence.trim_start_matches("[chock] Refused. "))
}

/// Says in a line what a call is about: its tool, and the argument a person looks for.
fn summary(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or(Value::Null);
    let telling = ["command", "path", "pattern", "title", "name"];
    let first = telling.iter().find_map(|name| arguments.get(name).and_then(Value::as_str));
    let name = if call.name == "run_command" { "$" } else { &call.name };
    visible_line(format!("{name} {}", first.unwrap_or_default()).trim_end())
}

/// Writes what a session used, as the last line of a run and in listings.
pub(crate) fn usage_words(session: &chock_log::Session) -> String {
    let tokens = &session.tokens;
    let input = tokens.input + tokens.cache_read + tokens.cache_write;
    let turns =
        if session.turns == 1 { "1 turn".to_owned() } else { format!("{} turns", session.turns) };
    let mut words = vec![turns];
    if input + tokens.output > 0 {
        words.push(format!("{} tokens in, {} out", thousands(input), thousands(tokens.output)));
    }
    words.extend(cost_words(session));
    words.join(" · ")
}

/// Writes the cost: priced, free and unknown are three answers.
pub(crate) fn cost_words(session: &chock_log::Session) -> Vec<String> {
    let money = |(currency, micros): (&String, &u64)| {
        format!("{:.4} {}", *micros as f64 / 1e6, visible_line(currency))
    };
    let mut words: Vec<_> = session.spent.iter().map(money).collect();
    if session.unpriced > 0 {
        words.push("cost unknown".to_owned());
    } else if words.is_empty() {
        words.push("free".to_owned());
    }
    words
}

pub(crate) fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        _ => format!("{:.1}M", count as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into() }
    }

    #[test]
    fn a_call_is_one_harmless_line() {
        let cases = [
            (call("run_command", r#"{"command":"make\ntest"}"#), "$ make\\ntest"),
            (call("read_file", r#"{"path":"a\u001b[2Jb"}"#), "read_file a\\x1b[2Jb"),
            (call("update_plan", "{}"), "update_plan"),
            (call("x", "not json"), "x"),
        ];
        for (call, expected) in cases {
            assert_eq!(summary(&call), expected);
        }
    }

    #[test]
    fn large_counts_are_short() {
        assert_eq!([999, 1_234, 2_500_000].map(thousands), ["999", "1.2k", "2.5M"]);
    }
}
