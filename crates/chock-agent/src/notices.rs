//! Facts that Chock tells the agent: at the end of the conversation, in one message, so that nothing
//! before it changes.

use std::collections::BTreeSet;

use chock_log::{Entry, Event, NoticeBody, PlanStatus, Seq, Session, Told, ToolCall};
use jiff::{SignedDuration, Timestamp, ZonedDateTime};

use crate::agent::{Agent, Finish};
use crate::bounds::{Bounds, REPEAT, Standstill};
use crate::context::barred;

/// How often the time is told.
const TIME_EVERY: SignedDuration = SignedDuration::from_mins(15);

/// After how many replies the person's words are told again, and how much of them.
const TASK_EVERY: u64 = 8;
const TASK_BYTES: usize = 400;

/// Which parts of a budget are told, in percent.
const BUDGET_STEPS: [u64; 3] = [75, 50, 25];

/// How many steps of the plan are told after room was made.
const STEPS_MAX: usize = 12;

/// What is known outside of the records.
pub struct Surroundings {
    /// Tells the time where the person is.
    pub clock: Box<dyn Fn() -> ZonedDateTime>,
    /// How many files of the project are changed or untracked, and not in the copy: 0 until
    /// they are counted.
    pub uncommitted: Box<dyn Fn() -> u64>,
}

/// One fact, by its word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fact {
    word: String,
    text: String,
}

impl Fact {
    pub(crate) fn new(word: impl Into<String>, text: impl Into<String>) -> Self {
        Self { word: word.into(), text: text.into() }
    }
}

/// How the person's words are told again.
const TASK: &str = "task";

impl Agent<'_> {
    /// Tells the facts that there are, with `more`, in one message. None when there is none.
    pub(crate) fn tell_facts(&self, more: Option<Fact>) -> Result<(), Finish> {
        let Some(surroundings) = &self.house.notices else { return Ok(()) };
        let (now, bounds) = ((surroundings.clock)(), &self.house.bounds);
        let uncommitted = (surroundings.uncommitted)();
        let mut facts = self.house.pen.session(|session| facts(session, bounds, &now, uncommitted));
        facts.extend(more);
        if facts.is_empty() {
            return Ok(());
        }
        let (words, texts): (Vec<_>, Vec<_>) =
            facts.into_iter().map(|fact| (fact.word, fact.text)).unzip();
        let body = NoticeBody { text: texts.join("\n"), facts: words, ..NoticeBody::default() };
        self.record(Event::Notice(body)).map(drop)
    }
}

/// Lists what there is to tell now.
fn facts(session: &Session, bounds: &Bounds, now: &ZonedDateTime, uncommitted: u64) -> Vec<Fact> {
    [
        time(session, now),
        uncommitted_files(session, uncommitted),
        task(session),
        repeated(session),
        read_again(session),
        budget(session, bounds),
        plan(session),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn time(session: &Session, now: &ZonedDateTime) -> Option<Fact> {
    let told = session.told.get("time");
    let is_old = |told: &Told| now.timestamp().duration_since(told.time) >= TIME_EVERY;
    if told.is_some_and(|told| !is_old(told)) {
        return None;
    }
    Some(Fact::new("time", time_words(now)))
}

fn time_words(now: &ZonedDateTime) -> String {
    let utc = |time: Timestamp| time.strftime("%Y-%m-%d %H:%M UTC").to_string();
    let words = format!("It is {}", utc(now.timestamp()));
    match now.offset().is_zero() {
        true => format!("{words}."),
        false => format!("{words}; where the person is, {}.", now.strftime("%Y-%m-%d %H:%M (%:z)")),
    }
}

fn uncommitted_files(session: &Session, count: u64) -> Option<Fact> {
    let word = "uncommitted";
    if count == 0 || session.told.contains_key(word) {
        return None;
    }
    let files = match count {
        1 => "1 file of the person's project is".to_owned(),
        _ => format!("{count} files of the person's project are"),
    };
    let text = format!("{files} changed or untracked there, and not in your copy.");
    Some(Fact::new(word, text))
}

/// Tells the person's last words again, when they lie many replies back.
fn task(session: &Session) -> Option<Fact> {
    let last = session.entries.iter().rposition(|(_, entry)| matches!(entry, Entry::User(_)))?;
    let (at, Entry::User(words)) = &session.entries[last] else { return None };
    let since = replies(&session.entries[last..]);
    let told = session.told.get(TASK).filter(|told| told.at > *at);
    let since = told.map_or(since, |told| session.turns.saturating_sub(told.turn));
    if since < TASK_EVERY {
        return None;
    }
    let shown = &words[..words.floor_char_boundary(TASK_BYTES)];
    let more = if shown.len() < words.len() { "...\n" } else { "" };
    let text = format!("What the person asked for, in their words:\n{}{more}", barred(shown));
    Some(Fact::new(TASK, text.trim_end()))
}

fn replies(entries: &[(Seq, Entry)]) -> u64 {
    entries.iter().filter(|(_, entry)| matches!(entry, Entry::Model(_))).count() as u64
}

/// Tells that the last call is one that came before, once for each reply.
fn repeated(session: &Session) -> Option<Fact> {
    let is_told = session.told.get(REPEAT).is_some_and(|told| told.at > last_reply(session));
    let text = Standstill::of(session).filter(|_| !is_told)?.told()?;
    Some(Fact::new(REPEAT, text))
}

/// Returns the record of the last reply.
fn last_reply(session: &Session) -> Seq {
    let replies = session.entries.iter().rev();
    let mut replies = replies.filter(|(_, entry)| matches!(entry, Entry::Model(_)));
    replies.next().map_or(Seq(0), |(seq, _)| *seq)
}

/// Tells which files the last reply read once more, though they are in the conversation as they are.
fn read_again(session: &Session) -> Option<Fact> {
    let word = "read-again";
    let last = last_reply(session);
    if session.told.get(word).is_some_and(|told| told.at > last) {
        return None;
    }
    // What was left out since may well be read again.
    let left_out = session.compaction.as_ref();
    let from = left_out.map_or(Seq(0), |body| body.through.max(body.shortened));
    let mut seen = BTreeSet::new();
    let mut again = BTreeSet::new();
    let mut calls: Vec<&ToolCall> = Vec::new();
    for (seq, entry) in session.entries.iter().filter(|(seq, _)| *seq > from) {
        match entry {
            Entry::Model(message) => calls = message.calls().collect(),
            Entry::Result { call, tool, outcome } if tool == "read_file" => {
                let (Some(file), Some(asked)) =
                    (&outcome.file, calls.iter().find(|asked| asked.id == *call))
                else {
                    continue;
                };
                let is_new = seen.insert((&file.path, &file.hash, &asked.arguments));
                if !is_new && *seq > last {
                    again.insert(file.path.as_str());
                }
            }
            Entry::User(_) | Entry::Notice(_) | Entry::Result { .. } => {}
        }
    }
    if again.is_empty() || is_one_call(session, last) {
        return None;
    }
    let paths: Vec<_> = again.into_iter().take(STEPS_MAX).collect();
    let text = format!("Read before, and unchanged since: {}.", paths.join("; "));
    Some(Fact::new(word, text))
}

/// Says whether the last reply's call is told to be a repeated one anyway.
fn is_one_call(session: &Session, last: Seq) -> bool {
    let standstill = Standstill::of(session).and_then(|standstill| standstill.told());
    let results = session.entries.iter().filter(|(seq, _)| *seq > last);
    let results = results.filter(|(_, entry)| matches!(entry, Entry::Result { .. }));
    standstill.is_some() && results.count() == 1
}

/// Tells each step of the budget once, the highest when several are reached at a time.
fn budget(session: &Session, bounds: &Bounds) -> Option<Fact> {
    let (percent, words) = bounds.budget.used(session)?;
    let step = BUDGET_STEPS.into_iter().find(|step| percent >= *step)?;
    let is_told = |step: u64| session.told.contains_key(&format!("budget-{step}"));
    if BUDGET_STEPS.into_iter().any(|other| other >= step && is_told(other)) {
        return None;
    }
    let text = format!("{percent} % of this session's budget is used: {words}.");
    Some(Fact::new(format!("budget-{step}"), text))
}

/// Tells the open steps of the plan after earlier turns were left out or shortened.
fn plan(session: &Session) -> Option<Fact> {
    let word = "plan";
    let compacted = session.compacted?;
    if session.told.get(word).is_some_and(|told| told.at > compacted) {
        return None;
    }
    let open = session.plan.steps.iter().filter(|step| match step.status {
        PlanStatus::Pending | PlanStatus::InProgress => true,
        PlanStatus::Done | PlanStatus::Abandoned => false,
    });
    let open: Vec<_> = open.collect();
    if open.is_empty() {
        return None;
    }
    let mut text = "Open steps of your plan:\n".to_owned();
    text.extend(open.iter().take(STEPS_MAX).map(|step| barred(&step.step)));
    match open.len().saturating_sub(STEPS_MAX) {
        0 => {}
        more => text.push_str(&format!("and {more} more")),
    }
    Some(Fact::new(word, text.trim_end()))
}

#[cfg(test)]
mod tests {
    use chock_log::{
        CompactionBody, Ended, FileFact, FinishedBody, ModelMessage, Outcome, Part, PlanBody,
        PlanStep, Record, Stop, UserBody,
    };
    use jiff::tz::TimeZone;

    use super::*;
    use crate::budget::Budget;

    /// A session that is told in records, a minute apart.
    #[derive(Default)]
    struct Story {
        session: Session,
        minutes: i64,
    }

    impl Story {
        fn now(&self) -> ZonedDateTime {
            let time = Timestamp::from_second(self.minutes * 60).expect("a time");
            ZonedDateTime::new(time, TimeZone::UTC)
        }

        fn add(&mut self, event: Event) {
            self.minutes += 1;
            let (seq, time) = (Seq(self.session.records + 1), self.now().timestamp());
            self.session.absorb(&Record { seq, time, event });
        }

        fn says(&mut self, words: &str) {
            self.add(Event::User(UserBody { text: words.into(), ..UserBody::default() }));
        }

        /// A reply with one call, and its result.
        fn calls(&mut self, tool: &str, arguments: &str, file: Option<&str>) {
            let id = format!("c{}", self.session.records);
            let (name, arguments) = (tool.to_owned(), arguments.to_owned());
            let call = ToolCall { id: id.clone(), name: name.clone(), arguments };
            let (provider, model) = ("p".to_owned(), "m".to_owned());
            let parts = vec![Part::Call(call)];
            self.add(Event::Model(ModelMessage { provider, model, parts, stop: Stop::Calls }));
            let file = file.map(|hash| FileFact { path: "/p/a".into(), hash: hash.into() });
            let text = format!("{tool} {}", self.session.records);
            let outcome = Outcome { file, ..Outcome::new(Ended::Done, text) };
            self.add(Event::ToolFinished(FinishedBody { call: id, tool: name, outcome }));
        }

        /// Tells what there is to tell, and returns the words of it.
        fn told(&mut self, bounds: &Bounds, uncommitted: u64) -> Vec<String> {
            let found = facts(&self.session, bounds, &self.now(), uncommitted);
            let words: Vec<_> = found.into_iter().map(|fact| fact.word).collect();
            if !words.is_empty() {
                let facts = words.clone();
                self.add(Event::Notice(NoticeBody { facts, ..NoticeBody::default() }));
            }
            words
        }

        fn usual(&mut self) -> Vec<String> {
            self.told(&Bounds::default(), 0)
        }
    }

    #[test]
    fn the_time_is_told_first_and_every_quarter_of_an_hour() {
        let mut story = Story::default();
        story.says("go");
        assert_eq!(story.told(&Bounds::default(), 3), ["time", "uncommitted"]);
        assert_eq!(story.told(&Bounds::default(), 3), [""; 0]);
        story.minutes += 14;
        assert_eq!(story.usual(), [""; 0]);
        story.minutes += 1;
        assert_eq!(story.usual(), ["time"]);
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        let time = Timestamp::from_second(0).expect("a time");
        let words = time_words(&ZonedDateTime::new(time, berlin));
        let expected =
            "It is 1970-01-01 00:00 UTC; where the person is, 1970-01-01 01:00 (+01:00).";
        assert_eq!(words, expected);
    }

    #[test]
    fn the_task_is_told_again_after_eight_replies_and_in_its_own_words() {
        let mut story = Story::default();
        story.says(&format!("do {}", "é".repeat(300)));
        let mut told = Vec::new();
        for reply in 1..=20 {
            story.calls("t", &reply.to_string(), None);
            if let Some(fact) = task(&story.session) {
                assert!(fact.text.contains("| do éé") && fact.text.len() < 480, "{}", fact.text);
                told.push(reply);
            }
            story.usual();
        }
        assert_eq!(told, [8, 16]);
        story.says("and now this");
        story.calls("t", "x", None);
        assert_eq!(task(&story.session), None);
    }

    #[test]
    fn a_file_that_is_read_again_unchanged_is_named_once() {
        let mut story = Story::default();
        story.says("go");
        story.usual();
        story.calls("read_file", "{1}", Some("one"));
        story.calls("grep", "{}", None);
        assert_eq!(story.usual(), [""; 0]);
        story.calls("read_file", "{1}", Some("one"));
        assert_eq!(story.usual(), ["read-again"]);
        assert_eq!(story.usual(), [""; 0], "it is told once");
        // Another part of it, or another state of it, is something new.
        story.calls("read_file", "{2}", Some("one"));
        assert_eq!(story.usual(), [""; 0]);
        story.calls("read_file", "{1}", Some("two"));
        assert_eq!(story.usual(), [""; 0]);
        // What was left out of the conversation may be read again.
        let through = Seq(story.session.records);
        let (summary, written_by) = (String::new(), String::new());
        story.add(Event::Compaction(CompactionBody {
            summary,
            through,
            shortened: Seq(0),
            written_by,
        }));
        story.calls("read_file", "{1}", Some("two"));
        assert_eq!(story.usual(), [""; 0]);
    }

    #[test]
    fn each_step_of_a_budget_is_told_once_and_only_the_highest() {
        let bounds = Bounds { budget: Budget { money: None, tokens: Some(100) }, turns: None };
        let mut story = Story::default();
        story.says("go");
        story.told(&bounds, 0);
        for (tokens, expected) in
            [(24, None), (25, Some("budget-25")), (49, None), (80, Some("budget-75")), (99, None)]
        {
            story.session.tokens.input = tokens;
            assert_eq!(story.told(&bounds, 0), Vec::from_iter(expected), "{tokens}");
        }
    }

    #[test]
    fn open_steps_are_told_after_room_was_made() {
        let step = |number: usize| PlanStep {
            step: format!("step {number}"),
            status: if number == 0 { PlanStatus::Done } else { PlanStatus::Pending },
        };
        let mut story = Story::default();
        story.says("go");
        story.add(Event::Plan(PlanBody { steps: (0..15).map(step).collect() }));
        assert_eq!(story.usual(), ["time"]);
        let (summary, written_by) = (String::new(), String::new());
        let (through, shortened) = (Seq(0), Seq(1));
        story.add(Event::Compaction(CompactionBody { summary, through, shortened, written_by }));
        let text = plan(&story.session).expect("a fact").text;
        assert!(text.contains("| step 1\n") && !text.contains("step 0\n"), "{text}");
        assert!(text.contains("| step 12\n") && text.ends_with("and 2 more"), "{text}");
        assert_eq!(story.usual(), ["plan"]);
        assert_eq!(story.usual(), [""; 0]);
    }

    #[test]
    fn a_repeated_call_is_told_once_for_each_reply() {
        let mut story = Story::default();
        story.says("go");
        story.usual();
        let same = |story: &mut Story| {
            story.calls("grep", "{}", None);
            let (_, entry) = story.session.entries.last_mut().expect("a result");
            let Entry::Result { outcome, .. } = entry else { panic!("a result") };
            outcome.text = "nothing".into();
        };
        same(&mut story);
        assert_eq!(story.usual(), [""; 0]);
        same(&mut story);
        assert_eq!(story.usual(), [REPEAT]);
        assert_eq!(story.usual(), [""; 0]);
    }
}
