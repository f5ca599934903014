//! Every tool with its schema, and what calls of them come to.

use chock_log::{Action, Ended, Outcome, Proposal, Session, ToolCall, ToolSchema};
use chock_sandbox::Program;
use serde_json::Value;

use crate::desk::Desk;
use crate::proposed::Proposed;
use crate::reading::{How, Reading, When};
use crate::tool::{Entry, Prepared, ReadImage, ReadSkill, TABLE, Tool as _};
use crate::{arguments, hint, names};

/// Every tool, and where their calls start from.
#[derive(Debug)]
pub(crate) struct Shelf {
    known: Vec<Known>,
    desk: Desk,
}

/// One tool with its schema made.
#[derive(Debug)]
struct Known {
    entry: &'static Entry,
    parameters: Value,
}

impl Shelf {
    /// Takes every tool from the table; that for pictures only where the model takes `images`,
    /// and that for skills only where there are some.
    pub(crate) fn new(desk: Desk, images: bool) -> Self {
        let skills = !desk.skills.is_empty();
        let offered = TABLE.iter().filter(|entry| match entry.name {
            ReadImage::NAME => images,
            ReadSkill::NAME => skills,
            _ => true,
        });
        let known = offered.map(|entry| Known { entry, parameters: (entry.parameters)() });
        Self { known: known.collect(), desk }
    }

    /// Offers nothing more that shows a picture.
    pub(crate) fn take_pictures_away(&mut self) {
        self.known.retain(|known| known.entry.name != ReadImage::NAME);
    }

    pub(crate) fn schemas(&self) -> Vec<ToolSchema> {
        let schemas = self.known.iter().map(|known| ToolSchema {
            name: known.entry.name.to_owned(),
            description: known.entry.description.to_owned(),
            parameters: known.parameters.clone(),
        });
        schemas.collect()
    }

    pub(crate) fn propose(&self, call: &ToolCall, session: &Session) -> Proposed {
        match self.prepare(call, session) {
            Ok((tool, prepared)) => proposed(call, tool, prepared, &self.desk),
            Err(words) => Proposed::Fault(Outcome::new(Ended::Fault, words)),
        }
    }

    fn prepare(
        &self,
        call: &ToolCall,
        session: &Session,
    ) -> Result<(&'static str, Prepared), String> {
        let known = self.known.iter().find(|known| known.entry.name == call.name);
        let Some(Known { entry, parameters }) = known else {
            return Err(self.unknown(&call.name));
        };
        let checked = arguments::check(parameters, &call.arguments)
            .and_then(|value| (entry.prepare)(value, &self.desk, session));
        match checked {
            Ok(prepared) => Ok((entry.name, prepared)),
            Err(fault) => Err(format!("{}: {fault}", entry.name)),
        }
    }

    fn unknown(&self, name: &str) -> String {
        if name == ReadImage::NAME {
            return format!("{name}: the model of this session takes no pictures");
        }
        if name == ReadSkill::NAME {
            return format!("{name}: this session has no skills");
        }
        let known: Vec<_> = self.known.iter().map(|known| known.entry.name).collect();
        let shown: String = names::escaped(name).chars().take(64).collect();
        let meant = hint::nearest(name, known.iter().copied());
        let meant = meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default();
        format!("there is no tool `{shown}`: {meant}the tools are {}", known.join(", "))
    }
}

fn proposed(call: &ToolCall, tool: &'static str, prepared: Prepared, desk: &Desk) -> Proposed {
    let mut actions = vec![Action::below("call", &[tool])];
    let call = call.id.clone();
    let (act, effect, when) = match prepared {
        Prepared::Note { event, text } => {
            return Proposed::Note { event, outcome: Outcome::new(Ended::Done, text) };
        }
        Prepared::Promise(body) => return Proposed::Promise(body),
        Prepared::Apply { reason } => return Proposed::Apply { reason },
        Prepared::Hand { request, effect } => {
            let directory = desk.directory.clone();
            let act = Program::Hand { name: tool.to_owned(), request, directory };
            (act, effect, When::Now(How::Hand))
        }
        Prepared::Refused(outcome) => return Proposed::Refused(outcome),
        Prepared::Command { act, actions: named, effect, when } => {
            actions.extend(named);
            (act, effect, when)
        }
        Prepared::Task { act, effect } => {
            return Proposed::Task(Proposal { call, tool: tool.to_owned(), act, actions, effect });
        }
        Prepared::Skill(act) => {
            actions.push(act.action());
            let (tool, effect) = (tool.to_owned(), act.effect());
            return Proposed::Skill(Proposal { call, tool, act, actions, effect });
        }
        Prepared::Memory { act, effect } => {
            return Proposed::Memory(Proposal {
                call,
                tool: tool.to_owned(),
                act,
                actions,
                effect,
            });
        }
    };
    let tool = tool.to_owned();
    let proposal = Proposal { call, tool, act, actions, effect };
    Proposed::Act { proposal, reading: Reading(when) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::desk::tests::desk;

    fn propose_in(session: &Session, tool: &str, arguments: &str) -> Proposed {
        let call = ToolCall { id: "c1".into(), name: tool.into(), arguments: arguments.to_owned() };
        Shelf::new(desk("/p"), true).propose(&call, session)
    }

    fn propose(tool: &str, arguments: &str) -> Proposed {
        propose_in(&Session::default(), tool, arguments)
    }

    #[track_caller]
    fn proposal(tool: &str, arguments: &Value) -> Proposal<Program> {
        match propose(tool, &arguments.to_string()) {
            Proposed::Act { proposal, .. } => proposal,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn fault(tool: &str, arguments: &str, words: &str) {
        match propose(tool, arguments) {
            Proposed::Fault(outcome) => {
                assert_eq!((outcome.ended, outcome.denial), (Ended::Fault, None));
                assert!(outcome.text.contains(words), "{tool} {words}: {}", outcome.text);
            }
            other => panic!("{tool} {words}: {other:?}"),
        }
    }

    #[test]
    fn a_promise_is_read_and_bounded() {
        let arguments = |action: &str, ceiling: &str, reason: &str| {
            json!({ "action": action, "ceiling": ceiling, "reason": reason }).to_string()
        };
        let promise = propose("restrict_self", &arguments("net.*", "deny", "not needed"));
        let Proposed::Promise(promise) = promise else { panic!("{promise:?}") };
        assert_eq!((promise.action.as_str(), promise.ceiling.as_str()), ("net.*", "deny"));
        let long = "x".repeat(501);
        for (arguments, words) in [
            (arguments("net.*", "never", "x"), "ceiling"),
            (arguments(&long, "deny", "x"), "`action` has 501 bytes"),
            (arguments("net.*", "deny", &long), "`reason` has 501 bytes"),
            (arguments("net.*", "deny", " "), "`reason` is empty"),
        ] {
            fault("restrict_self", &arguments, words);
        }
    }

    #[test]
    fn only_an_apply_can_be_requested_and_other_acts_are_told_what_is_missing() {
        let arguments =
            |action: &str, reason: &str| json!({ "action": action, "reason": reason }).to_string();
        let asked = propose("request_action", &arguments("workspace.apply", "it is whole"));
        assert!(
            matches!(&asked, Proposed::Apply { reason } if reason == "it is whole"),
            "{asked:?}"
        );
        let long = "x".repeat(501);
        for (arguments, words) in [
            (arguments("git.push", "x"), "nothing here can do `git.push`, so nobody was asked"),
            (arguments("a\u{1b}b", "x"), "a\\u{1b}b"),
            (arguments("", "x"), "`action` is empty"),
            (arguments("workspace.apply", " "), "`reason` is empty"),
            (arguments("workspace.apply", &long), "`reason` has 501 bytes"),
        ] {
            fault("request_action", &arguments, words);
        }
    }

    #[test]
    fn every_tool_is_described_and_closed_and_their_order_is_fixed() {
        let schemas = Shelf::new(desk("/p"), true).schemas();
        let shapes: Vec<_> = schemas
            .iter()
            .map(|schema| {
                let parameters = &schema.parameters;
                assert_eq!(parameters["additionalProperties"], json!(false), "{}", schema.name);
                assert!(schema.description.ends_with('.'), "{}", schema.name);
                let fields = parameters["properties"].as_object().expect("fields");
                for (name, field) in fields {
                    let text = field["description"].as_str().unwrap_or_default();
                    assert!(text.ends_with('.'), "{}.{name}: {text}", schema.name);
                }
                let fields = fields.iter().map(|(name, field)| {
                    format!("{name}:{}", field["type"].as_str().unwrap_or("?"))
                });
                let fields = fields.collect::<Vec<_>>().join(" ");
                let required = parameters["required"].as_array().map_or(0, Vec::len);
                format!("{} {fields} ({required})", schema.name)
            })
            .collect();
        let expected = [
            "read_file limit:integer offset:integer path:string (1)",
            "read_image path:string (1)",
            "list_directory path:string (0)",
            "glob path:string pattern:string (1)",
            "grep case_insensitive:boolean context:integer glob:string mode:string path:string \
             pattern:string (1)",
            "write_file content:string path:string (2)",
            "edit_file file_hash:string new_string:string old_string:string path:string \
             replace_all:boolean (3)",
            "run_command background:boolean command:string cwd:string timeout_s:integer (1)",
            "task_output task:string wait_s:integer (1)",
            "task_stop task:string (1)",
            "update_plan steps:array (1)",
            "set_title title:string (1)",
            "read_memory name:string (0)",
            "write_memory body:string description:string kind:string name:string (4)",
            "read_skill name:string (1)",
            "restrict_self action:string ceiling:string reason:string (3)",
            "request_action action:string reason:string (2)",
        ];
        assert_eq!(shapes, expected);
        let text = serde_json::to_string(&schemas).expect("JSON");
        for word in ["\"sandbox\"", "$ref", "null", "\"format\""] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn a_model_that_takes_no_pictures_is_offered_none() {
        let shelf = Shelf::new(desk("/p"), false);
        assert!(shelf.schemas().iter().all(|schema| schema.name != "read_image"));
        let arguments = r#"{"path": "a.png"}"#.to_owned();
        let call = ToolCall { id: "c1".into(), name: "read_image".into(), arguments };
        let Proposed::Fault(outcome) = shelf.propose(&call, &Session::default()) else {
            panic!("a fault")
        };
        assert!(outcome.text.contains("takes no pictures"), "{}", outcome.text);
    }

    #[test]
    fn a_call_that_makes_no_sense_is_a_fault_that_names_what_is_wrong() {
        let cases = [
            ("read_file", r#"{"path": "parser.py"#, "read_file: the arguments are not JSON"),
            ("read_file", "{}", "`path` is missing"),
            ("read_file", "", "`path` is missing"),
            ("run_command", r#"{"command": ["ls", "-la"]}"#, "`command` must be text, not a list"),
            ("no_such_tool", r#"{"x": 1}"#, "there is no tool `no_such_tool`"),
            ("runcommand", "{}", "did you mean `run_command`?"),
            ("a\u{1b}[2J", "{}", "there is no tool `a\\u{1b}[2J`"),
            ("run_command", r#"{"command": "x", "sandbox": false}"#, "no field `sandbox`"),
            (
                "run_command",
                r#"{"command": "x", "dangerouslyDisableSandbox": true}"#,
                "there is no field `dangerouslyDisableSandbox`",
            ),
            ("run_command", r#"{"command": "x", "timeout_s": 601}"#, "the most is 600"),
            ("run_command", r#"{"command": "x", "timeout_s": 86401}"#, "at most 86400"),
            (
                "run_command",
                r#"{"command": "x", "background": true, "timeout_s": 86401}"#,
                "at most 86400",
            ),
            ("run_command", r#"{"command": "x", "background": "yes"}"#, "true or false, not text"),
            ("task_output", r#"{"task": "task-01"}"#, "none was started in this session"),
            ("task_output", r#"{"task": "task-01", "wait_s": 601}"#, "at most 600"),
            ("task_stop", r#"{"task": 1}"#, "`task` must be text, not a number"),
            ("run_command", r#"{"command": " "}"#, "`command` is empty"),
            ("run_command", r#"{"command": "a\u0000b"}"#, "holds a NUL byte"),
            ("run_command", r#"{"command": "x", "cwd": ""}"#, "`cwd` is empty"),
            ("grep", r#"{"pattern": "a(b"}"#, "unclosed group"),
            ("grep", r#"{"pattern": "a", "glob": "{"}"#, "`glob` is not a pattern"),
            ("glob", r#"{"pattern": "["}"#, "`pattern` is not a pattern"),
            ("edit_file", r#"{"path": "a", "old_string": "", "new_string": "b"}"#, "is empty"),
            ("edit_file", r#"{"path": "a", "old_string": "b", "new_string": "b"}"#, "the same"),
            ("set_title", r#"{"title": "a\nb"}"#, "one line"),
            ("update_plan", r#"{"steps": [{"step": "", "status": "done"}]}"#, "`steps[0].step`"),
            ("update_plan", r#"{"steps": [{"step": "a", "status": "x"}]}"#, "must be one of"),
        ];
        for (tool, arguments, words) in cases {
            fault(tool, arguments, words);
        }
    }

    #[test]
    fn what_is_too_long_is_a_fault_that_names_the_limit() {
        let long = |field: &str, bytes: usize| json!({field: "x".repeat(bytes)}).to_string();
        fault("run_command", &long("command", 128 << 10), "write a script with write_file");
        fault("set_title", &long("title", 81), "the limit is 80");
        fault("read_file", &long("path", 4096), "the limit is 4095");
        fault("grep", &long("pattern", 5000), "the limit is 4096");
        let file = json!({"path": "a", "content": "x".repeat((4 << 20) + 1)}).to_string();
        fault("write_file", &file, "the limit is 4194304");
        let steps = vec![json!({"step": "a", "status": "done"}); 65];
        fault("update_plan", &json!({ "steps": steps }).to_string(), "the limit is 64");
        fault("read_file", &format!("[{}", " ".repeat(32 << 20)), "the limit is 33554432");
    }

    #[test]
    fn a_command_goes_to_the_shell_word_for_word() {
        let command = "-n 'a b' | cat; echo \"$HOME\"\n# x";
        let act = proposal("run_command", &json!({"command": command, "cwd": "./sub/../sub"}));
        let Program::Command { argv, directory, .. } = act.act else { panic!("a command") };
        assert_eq!(argv, ["/bin/sh", "-c", "--", command]);
        assert_eq!(directory, std::path::Path::new("/p/sub"));
        assert_eq!(act.effect, format!("{command}\n(in `sub`)"));
        assert_eq!((act.call.as_str(), act.tool.as_str()), ("c1", "run_command"));
        let actions: Vec<_> = act.actions.iter().map(ToString::to_string).collect();
        assert_eq!(
            actions,
            ["call.run_command", "exec.path.-n", "exec.path.cat", "exec.builtin.echo"]
        );
    }

    #[test]
    fn a_person_is_shown_what_a_file_would_become() {
        let edit = json!({"path": "a\u{1b}b", "old_string": "x\ny", "new_string": "z"});
        assert_eq!(proposal("edit_file", &edit).effect, "edit `a\\u{1b}b`\n-x\n-y\n+z");
        let write = json!({"path": "/p/a", "content": "x\n"});
        assert_eq!(proposal("write_file", &write).effect, "write `a` (2 bytes)\n+x");
        assert_eq!(proposal("list_directory", &json!({})).effect, "list `.`");
    }

    #[test]
    fn a_file_tool_carries_the_hash_that_the_session_knows() {
        let mut session = Session::default();
        session.files.insert("/p/src/a".into(), "0123456789abcdef".into());
        for path in ["src/a", "/p/src/a", "./src//b/../a"] {
            let arguments = json!({"path": path, "content": "x"}).to_string();
            let Proposed::Act { proposal, .. } = propose_in(&session, "write_file", &arguments)
            else {
                panic!("an act")
            };
            let Program::Hand { name, request, .. } = proposal.act else { panic!("a hand") };
            let request: Value = serde_json::from_slice(&request).expect("JSON");
            assert_eq!(name, "write_file");
            assert_eq!(request["expected"], json!("0123456789abcdef"), "{path}");
        }
    }

    #[test]
    fn plan_and_title_are_records_and_nothing_else() {
        let plan = json!({"steps": [
            {"step": "a", "status": "in_progress"}, {"step": "b", "status": "done"},
        ]});
        let Proposed::Note { event, outcome } = propose("update_plan", &plan.to_string()) else {
            panic!("a note")
        };
        assert_eq!((event.kind(), event.body()), ("plan.updated", plan));
        assert_eq!(outcome.text, "the plan has 2 steps, 1 open\n");
        let Proposed::Note { event, outcome } = propose("set_title", r#"{"title": " Fix it "}"#)
        else {
            panic!("a note")
        };
        assert_eq!((event.kind(), event.body()), ("title.set", json!({"title": "Fix it"})));
        assert_eq!(outcome.ended, Ended::Done);
    }
}
