//! What a policy is expected to decide: the file that `chock policy test` reads.

use chock_policy::{Action, Decision};
use chock_zon::{Place, Spanned};
use serde::Deserialize;

use crate::fault::Faults;
use crate::project::list;
use crate::rules::{Unknown, unknown};
use crate::source::{Names, Source};

/// The most cases of one file.
const CASES_MAX: usize = 4096;

/// One decision that is expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// The action in question.
    pub action: Action,
    /// The tool whose call asks; `run_command` where the file names none.
    pub tool: String,
    /// The model that asks; an empty name where the file names none.
    pub model: String,
    /// The kind of agent that asks; `main` where the file names none.
    pub agent_kind: String,
    /// What should be decided.
    pub decision: Decision,
    /// Where the case stands.
    pub place: Place,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseRow {
    action: Action,
    tool: Option<String>,
    model: Option<String>,
    agent_kind: Option<String>,
    decision: Decision,
}

const FIELDS: Names = Names { known: &["cases"], later: &[] };

impl Expectation {
    /// Reads the `text` of a file that people know as `name`, with at least one case.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it.
    pub fn read(name: &str, text: &str) -> Result<Vec<Self>, Faults> {
        let mut source = Source::new(name, text);
        let mut rows: Vec<Spanned<CaseRow>> = Vec::new();
        if let Some(tree) = source.parse() {
            for entry in tree.root().entries() {
                match entry.name() {
                    "cases" => rows = list(entry.value(), CASES_MAX, "cases", &mut source),
                    _ => source.refuse_name(entry, &FIELDS, "field"),
                }
            }
            if rows.is_empty() && !source.has_faults() {
                source.refuse(tree.root().anchor(), "there is no case: write `.cases = .{ ... }`");
            }
        }
        for row in &rows {
            let action = row.value.action.as_str();
            if let Some(Unknown { message, word, known }) = unknown(action) {
                source.refuse_word(row.place, message, word, known.iter().copied());
            }
        }
        let expected = rows.into_iter().map(|Spanned { value: row, place }| Self {
            action: row.action,
            tool: row.tool.unwrap_or_else(|| "run_command".to_owned()),
            model: row.model.unwrap_or_default(),
            agent_kind: row.agent_kind.unwrap_or_else(|| "main".to_owned()),
            decision: row.decision,
            place,
        });
        let expected = expected.collect();
        source.finish(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_with_their_places_and_what_is_wrong_is_named() {
        let text = ".{\n  .cases = .{\n    .{ .action = \"git.push\", .decision = .ask },\n    .{ .action = \"call.read_file\", .tool = \"read_file\", .decision = .allow },\n  },\n}";
        let cases = Expectation::read("expect.zon", text).expect("cases");
        assert_eq!((cases[0].decision, cases[0].place.line), (Decision::Ask, 3));
        assert_eq!((cases[1].tool.as_str(), cases[1].agent_kind.as_str()), ("read_file", "main"));
        for (text, words) in [
            (".{}", "there is no case"),
            (".{ .cases = .{} }", "there is no case"),
            (".{ .case = .{} }", "there is no field `case`"),
            (".{ .cases = .{ .{ .action = \"git.*\", .decision = .ask } } }", "git.*"),
            (".{ .cases = .{ .{ .action = \"git.push\" } } }", "decision"),
            (
                ".{ .cases = .{ .{ .action = \"call.raed_file\", .decision = .ask } } }",
                "did you mean `read_file`?",
            ),
        ] {
            let faults = Expectation::read("expect.zon", text).expect_err(text).to_string();
            assert!(faults.contains(words), "{faults}");
        }
    }
}
