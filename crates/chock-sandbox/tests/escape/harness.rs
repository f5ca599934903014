//! Runs attempts with their controls.

use std::fmt::Write;
use std::process::Output;

use serde_json::{Value, json};

use crate::yard::{Seen, Who, Yard, calls, is_root};

/// Who gets through without a cage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    /// Everyone.
    Anyone,
    /// Root of the machine only.
    Root,
    /// Root, if the machine has what is attacked; the reason why it may not.
    RootIf(&'static str),
    /// Everyone, if the machine has what is attacked; the reason why it may not.
    AnyoneIf(&'static str),
}

/// An attempt: its words for the probe, other words for the control if the place differs
/// outside, and who gets through with those.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) words: &'static [&'static str],
    pub(crate) uncaged: &'static [&'static str],
    pub(crate) control: Control,
}

/// An attempt with the same words inside and outside.
pub(crate) const fn attempt(control: Control, words: &'static [&'static str]) -> Attempt {
    Attempt { words, uncaged: words, control }
}

/// An attempt whose control has words of its own.
pub(crate) const fn with_control(
    control: Control,
    words: &'static [&'static str],
    uncaged: &'static [&'static str],
) -> Attempt {
    Attempt { words, uncaged, control }
}

/// Checks that each control gets through and each attempt is refused, in every way there is.
pub(crate) fn check(attempts: &[Attempt]) {
    check_prepared(attempts, |_| ());
}

/// As [`check`], in sessions with `sandbox.debug` allowed.
pub(crate) fn check_with_debug(attempts: &[Attempt]) {
    check_in(&json!({ "debug": true }), attempts, |_| ());
}

/// As [`check`], in sessions with `sandbox.jit` denied.
pub(crate) fn check_without_jit(attempts: &[Attempt]) {
    check_in(&json!({ "jit": false }), attempts, |_| ());
}

/// As [`check`], with something set up outside for each yard. What is returned lives as long.
pub(crate) fn check_prepared<T>(attempts: &[Attempt], prepare: impl Fn(&Yard) -> T) {
    check_in(&json!({}), attempts, prepare);
}

/// As [`check_prepared`], in sessions to which `{yard}/outside` is shown read only at `/view`.
pub(crate) fn check_with_view<T>(attempts: &[Attempt], prepare: impl Fn(&Yard) -> T) {
    let binds = json!([["{yard}/outside", "/view", "view-root"]]);
    check_in(&json!({ "binds": binds }), attempts, prepare);
}

fn check_in<T>(session: &Value, attempts: &[Attempt], prepare: impl Fn(&Yard) -> T) {
    let mut faults = String::new();
    for attempt in attempts {
        control(attempt, &prepare, &mut faults);
    }
    for who in Who::all() {
        for warm in [0, 1] {
            let mut session = session.clone();
            session["warm"] = json!(warm);
            caged(attempts, *who, &session, &prepare, &mut faults);
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

fn control<T>(attempt: &Attempt, prepare: &impl Fn(&Yard) -> T, faults: &mut String) {
    let (who, may_be_missing) = match attempt.control {
        Control::Anyone => (Who::User, None),
        Control::AnyoneIf(reason) => (Who::User, Some(reason)),
        Control::Root => (Who::Root, None),
        Control::RootIf(reason) => (Who::Root, Some(reason)),
    };
    if who == Who::Root && !is_root() {
        println!("no control for {:?}: it needs root", attempt.words);
        return;
    }
    let yard = Yard::new(who);
    let _prepared = prepare(&yard);
    let output = uncaged(&yard, attempt.uncaged);
    match (output.status.code(), may_be_missing) {
        (Some(0), _) => {}
        (_, Some(reason)) => println!("no control for {:?}: {reason}", attempt.words),
        (code, None) => {
            let words = String::from_utf8_lossy(&output.stdout);
            let _ = writeln!(faults, "control {:?} {code:?}: {words}", attempt.uncaged);
        }
    }
}

fn caged<T>(
    attempts: &[Attempt],
    who: Who,
    session: &Value,
    prepare: &impl Fn(&Yard) -> T,
    faults: &mut String,
) {
    let yard = Yard::new(who);
    let _prepared = prepare(&yard);
    let mut orders = Vec::new();
    for attempt in attempts {
        let words = words(&yard, attempt.words);
        let program = ["/opt/probe/cage-probe".to_owned(), "try".to_owned()];
        let argv = [&program[..], &words].concat();
        orders.push(json!({ "argv": argv }));
        orders.push(json!({ "hand": "try", "request": words }));
    }
    let mut spec = session.clone();
    spec["calls"] = json!(orders);
    let seen = calls(&yard.caged(spec));
    if seen.len() != orders.len() {
        let _ = writeln!(faults, "{who:?}, {session}: {seen:?}");
        return;
    }
    for (index, seen) in seen.iter().enumerate() {
        let kind = if index % 2 == 0 { "program" } else { "hand" };
        let words = attempts[index / 2].words;
        if !is_refused(seen) {
            let Seen { output, ended, fault, .. } = seen;
            let _ = writeln!(
                faults,
                "{words:?} as {kind} of {who:?}, {session}: {ended} {output} {fault}"
            );
        }
    }
}

/// Refused means that the attacker said so, or was killed for a foreign architecture's call.
fn is_refused(seen: &Seen) -> bool {
    match seen.ended.as_str() {
        "Exited(3)" => seen.output.contains("refused"),
        "Signalled(31)" => true,
        _ => false,
    }
}

/// Replaces `{yard}` in words.
pub(crate) fn words(yard: &Yard, words: &[&str]) -> Vec<String> {
    let root = yard.root().to_str().expect("a plain path");
    words.iter().map(|word| word.replace("{yard}", root)).collect()
}

/// Attacks without a cage.
fn uncaged(yard: &Yard, attempt: &[&str]) -> Output {
    let attempt = [&["try"], attempt].concat();
    yard.command(words(yard, &attempt)).output().expect("the probe")
}
