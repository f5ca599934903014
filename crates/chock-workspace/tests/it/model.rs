//! Random work of an agent and a person, taken in part, undone, redone and cut short, against
//! a plain model of what the project must hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use chock_workspace::{Carried, Direction, HandBack, Planned, Shelf};
use proptest::prelude::*;

use crate::carrying_back::Field;
use crate::picking::choose;
use crate::yard::{Yard, put};

const NAMES: [&str; 6] = ["f1", "f2", "d/f3", "d/e/f4", "new", "d/new"];

#[derive(Debug, Clone)]
enum Act {
    AgentEdits(usize, usize),
    AgentRemoves(usize),
    PersonEdits(usize, usize),
    PersonRemoves(usize),
    /// Takes what the bits say; cut short at the instant, if there is one.
    Takes(Vec<bool>, Option<usize>),
    Undoes(Option<usize>),
    Redoes(Option<usize>),
}

fn act() -> impl Strategy<Value = Act> {
    let instant = || prop::option::weighted(0.3, 0_usize..30);
    let file = 0..NAMES.len();
    prop_oneof![
        5 => (file.clone(), 0_usize..12).prop_map(|(file, line)| Act::AgentEdits(file, line)),
        1 => file.clone().prop_map(Act::AgentRemoves),
        3 => (file.clone(), 0_usize..12).prop_map(|(file, line)| Act::PersonEdits(file, line)),
        1 => file.prop_map(Act::PersonRemoves),
        4 => (prop::collection::vec(any::<bool>(), 1..8), instant())
            .prop_map(|(bits, instant)| Act::Takes(bits, instant)),
        3 => instant().prop_map(Act::Undoes),
        2 => instant().prop_map(Act::Redoes),
    ]
}

/// The content of every file, by name.
type Tree = BTreeMap<String, String>;

fn tree(top: &Path) -> Tree {
    let read = |name: &&str| Some((name.to_string(), fs::read_to_string(top.join(name)).ok()?));
    NAMES.iter().filter_map(read).collect()
}

/// Writes a line of a file, or a new file.
fn edit(top: &Path, name: &str, line: usize, word: &str) {
    let text = fs::read_to_string(top.join(name)).unwrap_or_default();
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    match lines.get_mut(line) {
        Some(line) => *line = word.to_owned(),
        None => lines.push(word.to_owned()),
    }
    put(top, name, lines.join("\n") + "\n");
}

/// What one hand-back did, by the model.
#[derive(Debug, Clone)]
struct Done {
    before: BTreeMap<String, Option<String>>,
    after: BTreeMap<String, Option<String>>,
}

struct Model {
    field: Field,
    done: Vec<Done>,
    undone: Vec<Done>,
    words: usize,
}

/// Thrown in the middle of an act, as a crash that this process survives.
struct Crash;

impl Model {
    fn new() -> Self {
        let yard = Yard::empty();
        let lines: Vec<_> = (0..12).map(|number| format!("line {number}\n")).collect();
        for name in &NAMES[..4] {
            yard.write(name, lines.concat());
        }
        yard.commit("first");
        Self { field: Field::of(yard), done: Vec::new(), undone: Vec::new(), words: 0 }
    }

    fn project(&self) -> Tree {
        tree(&self.field.yard.project)
    }

    fn word(&mut self, who: &str) -> String {
        self.words += 1;
        format!("{who} {}", self.words)
    }

    fn step(&mut self, act: &Act) {
        match act {
            Act::AgentEdits(file, line) => {
                let word = self.word("agent");
                edit(&self.field.top(), NAMES[*file], *line, &word);
            }
            Act::AgentRemoves(file) => {
                let _missing = fs::remove_file(self.field.top().join(NAMES[*file]));
            }
            Act::PersonEdits(file, line) => {
                let word = self.word("person");
                edit(&self.field.yard.project, NAMES[*file], *line, &word);
            }
            Act::PersonRemoves(file) => {
                let _missing = fs::remove_file(self.field.yard.project.join(NAMES[*file]));
            }
            Act::Takes(bits, instant) => self.takes(bits, *instant),
            Act::Undoes(instant) => self.turns(Direction::Undo, *instant),
            Act::Redoes(instant) => self.turns(Direction::Redo, *instant),
        }
    }

    fn takes(&mut self, bits: &[bool], instant: Option<usize>) {
        let before = self.project();
        let mut shelf = self.field.shelf();
        let changes = self.field.changes(&shelf);
        let choice = choose(&changes, bits);
        let planned = self.field.plan(&mut shelf, &changes, &choice);
        let Planned::Ready(act) = planned else {
            return assert_eq!(self.project(), before, "a refusal writes nothing");
        };
        let written = written(&act);
        if act.is_empty() {
            return;
        }
        let carried = self.carry(shelf, *act, instant);
        let after = self.project();
        if !carried {
            return assert_eq!(after, before, "what was cut short is as before");
        }
        let of = |tree: &Tree| -> BTreeMap<_, _> {
            written.iter().map(|name| (name.clone(), tree.get(name).cloned())).collect()
        };
        for name in NAMES.iter().filter(|name| !written.contains(**name)) {
            assert_eq!(after.get(*name), before.get(*name), "{name} was not to be written");
        }
        for (name, text) in &before {
            let left = after.get(name).map_or("", String::as_str);
            for line in text.lines().filter(|line| line.starts_with("person")) {
                assert!(left.lines().any(|other| other == line), "{name} lost `{line}`");
            }
        }
        self.done.push(Done { before: of(&before), after: of(&after) });
        self.undone.clear();
    }

    fn turns(&mut self, direction: Direction, instant: Option<usize>) {
        let before = self.project();
        let mut shelf = self.field.shelf();
        let project = &self.field.yard.find().unwrap();
        let undoes = direction == Direction::Undo;
        let planned =
            if undoes { shelf.plan_undo(project) } else { shelf.plan_redo(project) }.unwrap();
        let stack = if undoes { &self.done } else { &self.undone };
        let Some(last) = stack.last().cloned() else {
            return assert!(planned.is_none(), "there is nothing to {direction:?}");
        };
        let (from, to) =
            if undoes { (&last.after, &last.before) } else { (&last.before, &last.after) };
        let fits = from.iter().all(|(name, text)| {
            let now = before.get(name).cloned();
            now == *text || now == to[name]
        });
        let act = match planned.unwrap() {
            Planned::Ready(act) => act,
            Planned::Refused(refused) => {
                assert!(!fits, "refused without a reason: {refused:?}");
                return assert_eq!(self.project(), before, "a refusal writes nothing");
            }
        };
        assert!(fits, "{direction:?} goes over what changed since");
        if !self.carry(shelf, *act, instant) {
            return assert_eq!(self.project(), before, "what was cut short is as before");
        }
        let mut expected = before;
        for (name, text) in to {
            match text {
                Some(text) => drop(expected.insert(name.clone(), text.clone())),
                None => drop(expected.remove(name)),
            }
        }
        assert_eq!(self.project(), expected, "{direction:?} puts back exactly what was");
        let (one, other) = if undoes {
            (&mut self.done, &mut self.undone)
        } else {
            (&mut self.undone, &mut self.done)
        };
        other.extend(one.pop());
    }

    /// Does an act, perhaps cut short and settled by the next opener. Whether it was done.
    fn carry(&mut self, mut shelf: Shelf, act: HandBack, instant: Option<usize>) -> bool {
        if let Some(instant) = instant {
            let mut left = instant;
            shelf.at_each_instant(move || {
                if left == 0 {
                    resume_unwind(Box::new(Crash));
                }
                left -= 1;
            });
        }
        let field = &self.field;
        let carried = catch_unwind(AssertUnwindSafe(|| field.carry(&mut shelf, act)));
        drop(shelf);
        match carried {
            Ok(Carried::Whole { kept, .. }) => {
                assert!(kept.is_empty());
                true
            }
            Ok(nothing @ Carried::Nothing { .. }) => panic!("nobody wrote meanwhile: {nothing:?}"),
            Err(thrown) if thrown.is::<Crash>() => {
                let (_shelf, recovered) = self.field.open();
                recovered.is_some_and(|recovered| {
                    assert!(recovered.kept.is_empty());
                    recovered.finished
                })
            }
            Err(thrown) => resume_unwind(thrown),
        }
    }
}

fn written(act: &HandBack) -> BTreeSet<String> {
    act.paths().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
}

fn cases() -> u32 {
    if std::env::var_os("CHOCK_TEST_LONG").is_some() { 250 } else { 4 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_line_of_the_person_s_is_lost_and_undo_is_exact(
        acts in prop::collection::vec(act(), 30..50)
    ) {
        let mut model = Model::new();
        for act in &acts {
            model.step(act);
        }
        let yard = &model.field.yard;
        yard.git(&["fsck", "--strict"]);
        let left: Vec<_> = yard.project.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
        prop_assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".chock")), "{:?}", left);
    }
}
