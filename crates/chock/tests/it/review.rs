//! Work comes back by review, goes out again by undo, and the model hears what was declined.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::input::scripted;
use crate::kill::until;
use crate::screen::Screen;
use crate::yard::{Ran, Yard};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\na\nb\nc\nd\nnine\nten\n";

/// A yard in which a session did this, and then says a word to whatever else it is told.
fn worked(command: &str) -> Yard {
    let yard = Yard::new();
    yard.write("lines.txt", LINES);
    yard.write("front/app.js", "front\n");
    yard.write("back/app.py", "back\n");
    yard.commit();
    work(&yard, command);
    yard
}

pub(crate) fn work(yard: &Yard, command: &str) {
    scripted(
        yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": command } }] },
            { "text": "done" }, { "text": "heard" } ] }),
    );
    yard.chock(&["run", "work"]).expect(0);
}

pub(crate) fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|fault| panic!("{fault}: {}", ran.out))
}

fn read(yard: &Yard, name: &str) -> String {
    fs::read_to_string(yard.project().join(name)).unwrap_or_else(|fault| fault.to_string())
}

/// The bodies of the records of a kind, in the newest session.
fn bodies(yard: &Yard, kind: &str) -> Vec<Value> {
    let records = yard.records().into_iter().filter(|record| record["kind"] == kind);
    records.map(|record| record["body"].clone()).collect()
}

#[test]
fn one_good_and_one_bad_change_of_a_file_are_told_apart() {
    let yard = worked("sed -i 's/two/TWO/; s/nine/NINE/' lines.txt");
    let diff = json_of(&yard.chock(&["diff", "--json"]).expect(0));
    let hunk = |at: usize| diff["files"][0]["hunks"][at]["id"].as_str().expect("an id").to_owned();
    let (good, bad) = (format!("lines.txt:{}", hunk(0)), format!("lines.txt:{}", hunk(1)));
    let before = yard.fingerprint();
    let words = ["review", "--accept", &good, "--reject", &bad, "--because", "nine is right"];
    let ran = yard.chock(&[&words[..], &["--json"]].concat()).expect(0);
    let report = json_of(&ran);
    assert_eq!(report["written"], json!(["lines.txt"]));
    assert_eq!((&report["left"], &report["refused"]), (&json!(["lines.txt"]), &json!([])));
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO"));

    let reviewed = &bodies(&yard, "diff.reviewed")[0];
    assert_eq!(reviewed["accepted"][0]["hunks"], json!([hunk(0)]), "{reviewed}");
    assert_eq!(reviewed["declined"][0]["hunks"], json!([hunk(1)]));
    assert_eq!(reviewed["declined"][0]["because"], "nine is right");
    let kinds: Vec<_> = yard.records().iter().map(|record| record["kind"].clone()).collect();
    let last = &kinds[kinds.len() - 3..];
    assert_eq!(last, ["diff.reviewed", "approval.answered", "apply.done"]);
    let record = report["record"].as_u64().expect("a record");
    assert_eq!(yard.records().last().expect("a record")["seq"], record);

    // The next request tells the model.
    yard.chock(&["run", "--continue", "go on"]).expect(0);
    let notices = bodies(&yard, "notice");
    let told = notices.iter().find(|notice| notice["reviews"].is_array()).expect("a notice");
    let text = told["text"].as_str().expect("words");
    assert!(text.contains("Declined") && text.contains("nine is right"), "{text}");
    yard.chock(&["sessions", "verify"]).expect(0);

    let report = json_of(&yard.chock(&["undo", "--json"]).expect(0));
    assert_eq!(report["written"], json!(["lines.txt"]));
    assert_eq!(yard.fingerprint(), before);
    let report = json_of(&yard.chock(&["redo", "--json"]).expect(0));
    assert_eq!(report["written"], json!(["lines.txt"]));
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO"));
    assert_eq!(bodies(&yard, "undo.done").len(), 2);
    // The id that diff shows still names the change that is left.
    yard.chock(&["review", "--accept", &bad]).expect(0);
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO").replace("nine", "NINE"));
    let ran = yard.chock(&["undo", "--steps", "5"]).expect(0);
    assert!(ran.out.contains("put back lines.txt"), "{}", ran.out);
    assert_eq!(yard.fingerprint(), before);
    let ran = yard.chock(&["undo"]).expect(1);
    assert!(ran.err.contains("nothing to undo"), "{}", ran.err);
}

#[test]
fn all_leaves_out_what_needs_its_own_accept_and_says_so() {
    let yard = worked("echo 'touch pwned' > .envrc; echo x > plain; ln -s /etc out");
    let report = json_of(&yard.chock(&["review", "--all", "--json"]).expect(0));
    assert_eq!(report["written"], json!(["plain"]));
    assert_eq!(report["left"], json!([".envrc", "out"]));
    let notes = report["notes"].to_string();
    assert!(notes.contains(".envrc") && notes.contains("a shell may run it"), "{notes}");
    assert!(!yard.project().join(".envrc").exists() && !yard.project().join("out").exists());
    let report = json_of(&yard.chock(&["review", "--accept", ".envrc", "--json"]).expect(0));
    assert_eq!(report["written"], json!([".envrc"]));
    let report = json_of(&yard.chock(&["review", "--accept", "out", "--json"]).expect(3));
    assert_eq!(report["refused"][0]["path"], "out");
    assert_eq!(report["written"], json!([]));
    // What no accept would carry is not said to wait for one.
    assert!(notes.contains("left out: out (a link that leads out"), "{notes}");
    assert!(notes.contains("into its .git); it is never carried"), "{notes}");
    assert!(notes.contains("entering the directory); --accept it by its name"), "{notes}");
}

#[test]
fn a_conflict_is_shown_from_both_sides_and_nothing_is_written() {
    let yard = worked("sed -i 's/two/TWO/' lines.txt; echo x > new.txt");
    yard.write("lines.txt", &LINES.replace("two", "zwei"));
    let before = yard.fingerprint();
    let ran = yard.chock(&["review", "--all"]).expect(3);
    for words in
        ["refused lines.txt: you changed the same lines", "  zwei", "  TWO", "all or nothing"]
    {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert_eq!(yard.fingerprint(), before);
    // Changed elsewhere in the file, both come together.
    yard.write("lines.txt", &LINES.replace("ten", "zehn"));
    yard.chock(&["review", "--all"]).expect(0);
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO").replace("ten", "zehn"));
}

#[test]
fn undo_touches_only_what_was_written() {
    let yard = worked("cat missing.txt; echo changed > front/app.js");
    yard.git(&["checkout", "-q", "-b", "other"]);
    yard.write("missing.txt", "the person's\n");
    yard.chock(&["review", "--accept", "front"]).expect(0);
    yard.write("back/app.py", "edited since\n");
    let reflog = yard.git(&["reflog", "--all"]);
    yard.chock(&["undo"]).expect(0);
    assert_eq!(read(&yard, "missing.txt"), "the person's\n");
    assert_eq!(read(&yard, "back/app.py"), "edited since\n");
    assert_eq!(read(&yard, "front/app.js"), "front\n");
    assert_eq!(yard.git(&["reflog", "--all"]), reflog);
    assert_eq!(yard.git(&["branch", "--show-current"]), "other\n");
    // What changed since is named, and nothing is undone.
    yard.chock(&["redo"]).expect(0);
    yard.write("front/app.js", "edited\n");
    let report = json_of(&yard.chock(&["undo", "--json"]).expect(3));
    assert_eq!(report["refused"], json!([{"path": "front/app.js", "reason": "it changed since"}]));
    assert_eq!(read(&yard, "front/app.js"), "edited\n");
}

#[test]
fn what_is_no_change_is_named_and_nothing_is_written() {
    let yard = worked("echo x > new.txt");
    let before = yard.fingerprint();
    for (words, expected) in [
        (&["--accept", "nowhere"][..], "`nowhere` is not among the changes"),
        (&["--accept", "new.txt:123456789abc"], "has no change `123456789abc`"),
        (&["--reject", "lines.txt"], "`lines.txt` is not among the changes"),
    ] {
        let ran = yard.chock(&[&["review"], words].concat()).expect(1);
        assert!(ran.err.contains(expected), "{}", ran.err);
    }
    assert_eq!(yard.fingerprint(), before);
    let listed = json_of(&yard.chock(&["review", "--json"]).expect(0));
    assert_eq!(listed["left"], json!(["new.txt"]));
    assert_eq!(listed["files"][0]["path"], "new.txt");
}

#[test]
fn a_row_that_denies_hand_backs_binds_the_person_as_well() {
    let yard = worked("echo x > new.txt");
    yard.write(
        "chock.zon",
        ".{ .policy = .{ .rules = .{ .{ .action = \"workspace.apply\", .decision = .deny } } } }",
    );
    let ran = yard.chock(&["review", "--all"]).expect(3);
    assert!(ran.err.contains("workspace.apply"), "{}", ran.err);
    assert!(!yard.project().join("new.txt").exists());
    // Nothing was carried, so nothing is kept of it.
    let listed = yard.chock(&["workspace"]).expect(0).out;
    assert!(!listed.contains("hand-back"), "{listed}");
    let log = yard.logs().pop().expect("a session");
    let steps = log.parent().expect("a directory").join("handback/steps");
    assert_eq!(fs::read_dir(steps).expect("a directory").count(), 0);
}

#[test]
fn what_was_taken_and_put_back_by_hand_is_said_to_be_taken_and_can_be_taken_again() {
    let yard = worked("sed -i 's/two/TWO/' lines.txt");
    yard.chock(&["review", "--all"]).expect(0);
    let nothing = yard.chock(&["review"]).expect(0).err;
    assert!(nothing.contains("all of it was taken before"), "{nothing}");
    yard.git(&["checkout", "-q", "."]);
    let nothing = yard.chock(&["review"]).expect(0).err;
    assert!(nothing.contains("chock undo makes it reviewable again"), "{nothing}");
    assert_eq!(read(&yard, "lines.txt"), LINES);
    yard.chock(&["undo"]).expect(0);
    yard.chock(&["review", "--all"]).expect(0);
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO"));

    let yard = worked("true");
    let nothing = yard.chock(&["review"]).expect(0).err;
    assert!(nothing.contains("the session changed nothing"), "{nothing}");
}

#[test]
fn the_owner_of_a_running_session_does_it() {
    let yard = Yard::new();
    let call = |command: &str| json!({ "name": "run_command", "input": { "command": command } });
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [call("echo session > new.txt")] },
            { "tools": [call("sleep 981.5")] },
            { "text": "done" } ] }),
    );
    let mut command = yard.command(&["run", "work"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the program");
    until("the second call runs", || {
        let log = yard.logs().pop().and_then(|log| fs::read_to_string(log).ok());
        log.unwrap_or_default().matches("\"tool.started\"").count() == 2
    });
    let report = json_of(&yard.chock(&["review", "--all", "--json"]).expect(0));
    assert_eq!(report["written"], json!(["new.txt"]));
    assert_eq!(read(&yard, "new.txt"), "session\n");
    yard.chock(&["undo"]).expect(0);
    assert!(!yard.project().join("new.txt").exists());
    yard.chock(&["redo"]).expect(0);
    let id = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("a signal");
    assert_eq!(child.wait().expect("an end").code(), Some(3));
    assert_eq!(bodies(&yard, "apply.done").len(), 1);
    assert_eq!(bodies(&yard, "undo.done").len(), 2);
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn a_person_walks_through_and_answers_change_by_change() {
    let yard = worked(
        "sed -i 's/two/TWO/; s/four/FOUR/; s/nine/NINE/' lines.txt; echo x > new.txt; rm a.txt",
    );
    let mut screen = Screen::start(&yard, &["review", "--color", "never"]);
    screen.wait_for("[1/3] deleted a.txt");
    screen.wait_for("Take this file?");
    screen.press("c\n");
    screen.wait_for("Why?");
    screen.press("I need it\n");
    screen.wait_for("[2/3] changed lines.txt");
    screen.wait_for("Take change 1 of 2?");
    screen.press("?\n");
    screen.wait_for("split it into smaller");
    screen.press("s\n");
    screen.wait_for("Take change 1 of 3?");
    screen.press("y\n");
    screen.wait_for("Take change 2 of 3?");
    screen.press("n\n");
    screen.wait_for("Take change 3 of 3?");
    screen.press("l\n");
    screen.wait_for("[3/3] new new.txt");
    screen.press("y\n");
    screen.wait_for("Take 2 and decline 2 changes now?");
    screen.press("y\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO"));
    assert_eq!((read(&yard, "new.txt"), read(&yard, "a.txt")), ("x\n".into(), "alpha\n".into()));
    let reviewed = &bodies(&yard, "diff.reviewed")[0];
    assert_eq!(reviewed["declined"][0]["because"], "I need it", "{reviewed}");
    assert_eq!(reviewed["declined"].as_array().map(Vec::len), Some(2));

    // Anything but a yes at the end does nothing.
    let before = yard.fingerprint();
    let mut screen = Screen::start(&yard, &["review"]);
    screen.wait_for("Take this file?");
    screen.press("y\n");
    screen.wait_for("Take change");
    screen.press("q\n");
    screen.wait_for("changes now?");
    screen.press("\n");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(yard.fingerprint(), before);
}

#[test]
fn a_full_screen_takes_and_declines_and_gives_the_terminal_back() {
    let yard = worked(
        "sed -i 's/two/TWO/; s/four/FOUR/; s/nine/NINE/' lines.txt; \
         printf '\\033[2J\\033]0;owned\\007pale\\n' > new.txt; rm a.txt",
    );
    let mut screen = Screen::start_full(&yard, &["review"]);
    screen.wait_to_see("review: 4 changes, 0 taken, 0 declined");
    screen.wait_to_see("deleted a.txt");
    screen.press("cI need it\r");
    screen.wait_to_see("0 taken, 1 declined");
    screen.wait_to_see("change 1 of 2");
    screen.press("s");
    screen.wait_to_see("change 1 of 3");
    screen.press("yn");
    screen.wait_to_see("review: 5 changes, 1 taken, 2 declined");
    screen.press("l");
    // What the agent wrote draws nothing.
    screen.wait_to_see("\\x1b[2J\\x1b]0;owned\\x07pale");
    assert!(screen.picture().contains("changed lines.txt"), "{}", screen.picture());
    screen.press("y\r");
    screen.wait_to_see("Take 2, decline 2 and leave 1 changes now?");
    screen.press("\r");
    let (code, seen) = screen.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("\u{1b}[?1049l"), "{seen}");
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO"));
    assert_eq!(read(&yard, "a.txt"), "alpha\n");
    let reviewed = &bodies(&yard, "diff.reviewed")[0];
    assert_eq!(reviewed["declined"][0]["because"], "I need it", "{reviewed}");
    assert_eq!(reviewed["declined"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_full_screen_that_is_left_does_nothing() {
    let yard = worked("sed -i 's/two/TWO/; s/nine/NINE/' lines.txt");
    let before = yard.fingerprint();
    for keys in ["q", "yqq", "y\u{3}", "y\r\u{1b}qy"] {
        let mut screen = Screen::start_full(&yard, &["review"]);
        screen.wait_to_see("change 1 of 2");
        for key in keys.chars() {
            screen.press(key.encode_utf8(&mut [0; 4]));
            // An escape that is followed at once begins a sequence.
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        let modes = screen.modes();
        let (code, seen) = screen.end();
        assert_eq!(code, Some(0), "{keys:?}: {seen}");
        assert!(modes.contains("ICANON"), "{keys:?}: {modes}");
        assert_eq!(yard.fingerprint(), before, "{keys:?}");
    }
    let mut screen = Screen::start_full(&yard, &["review"]);
    screen.wait_to_see("change 1 of 2");
    for (rows, columns) in [(10, 30), (1, 1), (2, 200), (60, 3), (3, 71), (24, 80)] {
        screen.resize(rows, columns);
        screen.press("jykn? ]");
    }
    screen.wait_to_see("1 taken, 1 declined");
    screen.wait_for_keys(true);
    screen.signal(rustix::process::Signal::TERM);
    screen.wait_for_keys(false);
    let (code, seen) = screen.end();
    assert_eq!((code, yard.fingerprint()), (Some(0), before), "{seen}");
    assert!(seen.contains("\u{1b}[?1049l"), "{seen}");
}

#[test]
fn later_work_of_a_session_is_reviewed_on_top_of_what_was_taken() {
    let yard = worked("sed -i 's/two/TWO/' lines.txt");
    yard.chock(&["review", "--all"]).expect(0);
    let ran = yard.chock(&["review"]).expect(0);
    assert!(ran.err.contains("all of it was taken before"), "{}", ran.err);
    let command = "sed -i 's/TWO/zwei/' lines.txt";
    let call = json!({ "name": "run_command", "input": { "command": command } });
    // Turns are counted from the session's first.
    let said = json!({ "text": "said" });
    scripted(&yard, &json!({ "turns": [said, said, { "tools": [call] }, said] }));
    yard.chock(&["run", "--continue", "again"]).expect(0);
    yard.chock(&["review", "--all"]).expect(0);
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "zwei"));
    yard.chock(&["undo"]).expect(0);
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO"));
}

/// Puts a journal where one is left when Chock dies after its last file, and before the record.
fn cut_short(yard: &Yard) -> std::path::PathBuf {
    let sessions = yard.logs().pop().expect("a log");
    let journal = sessions.with_file_name("handback").join("journal.json");
    let text =
        json!({ "number": 1, "direction": "apply", "stage": ".chock-handback-1", "skip": [] });
    fs::write(&journal, text.to_string()).expect("a journal");
    journal
}

#[test]
fn the_next_start_settles_what_was_cut_short_and_says_so() {
    let yard = worked("echo x > new.txt");
    yard.chock(&["review", "--all"]).expect(0);
    let journal = cut_short(&yard);
    let ran = yard.chock(&["run", "--continue", "go on"]).expect(0);
    assert!(ran.err.contains("an earlier apply was cut short, and is finished now"), "{}", ran.err);
    assert!(!journal.exists());
    cut_short(&yard);
    let report = json_of(&yard.chock(&["undo", "--json"]).expect(0));
    assert_eq!(report["written"], json!(["new.txt"]));
    assert!(report["notes"].to_string().contains("is finished now"), "{report}");
    assert!(!yard.project().join("new.txt").exists());
    assert_eq!(bodies(&yard, "apply.done").len(), 3, "what was settled is recorded");
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn what_is_kept_is_listed_and_cleared() {
    let yard = worked("echo x > new.txt");
    yard.chock(&["review", "--all"]).expect(0);
    let rows = |ran: Ran| -> Vec<Value> {
        ran.out.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
    };
    let listed = rows(yard.chock(&["workspace", "--json"]).expect(0));
    let kinds: Vec<_> = listed.iter().map(|row| row["kind"].clone()).collect();
    assert_eq!(kinds, ["workspace", "execution_logs", "hand_back", "bases"]);
    assert_eq!((&listed[2]["files"], &listed[2]["undone"]), (&json!(1), &json!(false)));
    let sized = listed.iter().filter(|row| row["kind"] != "execution_logs");
    assert!(sized.clone().all(|row| row["bytes"].as_u64().is_some_and(|bytes| bytes > 0)));
    // Nobody there to ask is a refusal.
    yard.chock(&["workspace", "clear", "--hand-backs"]).expect(3);
    yard.chock(&["undo"]).expect(0);
    yard.chock(&["redo"]).expect(0);
    yard.chock(&["workspace", "clear", "--hand-backs", "--yes"]).expect(0);
    yard.chock(&["undo"]).expect(1);
    // A base is made again for whoever needs it.
    let cleared = json_of(&yard.chock(&["workspace", "clear", "--bases", "--json"]).expect(0));
    assert!(cleared["cleared"].as_u64().is_some_and(|bytes| bytes > 0), "{cleared}");
    let bases = yard.path("home/.cache/chock/bases");
    assert_eq!(bases.read_dir().expect("bases").count(), 0);
    yard.chock(&["run", "--continue", "go on"]).expect(0);
    assert!(bases.read_dir().expect("bases").count() > 0);
    let id = listed[0]["session"].as_str().expect("an id");
    yard.chock(&["workspace", "clear", id, "--yes"]).expect(0);
    assert_eq!(rows(yard.chock(&["workspace", "--json"]).expect(0)).len(), 2);
    assert_eq!(read(&yard, "new.txt"), "x\n");
    yard.chock(&["sessions", "verify"]).expect(0);
}

#[test]
fn an_empty_path_and_a_contradiction_take_nothing() {
    let yard = worked("sed -i 's/two/TWO/' lines.txt; echo more >> front/app.js");
    let before = yard.fingerprint();
    let cases: [(&[&str], &str); 6] = [
        (&["--accept", ""], "`` is no path of the project"),
        (&["--reject", ""], "`` is no path of the project"),
        (&["--accept", "/"], "`/` is no path of the project"),
        (&["--accept", "/lines.txt"], "is no path of the project"),
        (&["--accept", "lines.txt", "--reject", "lines.txt"], "both accepted and rejected"),
        (&["--accept", "lines.txt", "--reject", "nothing.txt"], "is not among the changes"),
    ];
    for (words, expected) in cases {
        let ran = yard.chock(&[&["review"], words].concat()).expect(1);
        assert!(ran.err.contains(expected), "{words:?}: {}", ran.err);
        assert_eq!(yard.fingerprint(), before, "{words:?}");
    }
    assert_eq!(bodies(&yard, "diff.reviewed"), Vec::<Value>::new());
    let ran = yard.chock(&["review", "--accept", ".", "--reject", "front/app.js"]).expect(0);
    assert!(ran.out.contains("wrote lines.txt"), "{}", ran.out);
    assert!(ran.err.contains("declined front/app.js"), "{}", ran.err);
    assert_eq!(read(&yard, "front/app.js"), "front\n");
}

#[test]
fn a_declined_mode_leaves_the_text_and_is_told() {
    let yard = worked("sed -i 's/two/TWO/' lines.txt; chmod 755 lines.txt");
    let diff = json_of(&yard.chock(&["diff", "--json"]).expect(0));
    let hunk = diff["files"][0]["hunks"][0]["id"].as_str().expect("an id");
    let (good, bad) = (format!("lines.txt:{hunk}"), "lines.txt:mode");
    let listed = yard.chock(&["review"]).expect(0).out;
    assert!(listed.contains("  lines.txt:mode 100644 -> 100755\n"), "{listed}");
    assert!(listed.contains(&format!("  {good} line ")), "{listed}");
    yard.chock(&["review", "--accept", &good, "--reject", bad]).expect(0);
    assert_eq!(read(&yard, "lines.txt"), LINES.replace("two", "TWO"));
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(yard.project().join("lines.txt")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o111, 0);
    let reviewed = &bodies(&yard, "diff.reviewed")[0];
    assert_eq!(reviewed["declined"][0]["hunks"], json!(["mode"]), "{reviewed}");
}

#[test]
fn a_diff_is_told_by_words_by_turns_and_as_a_patch() {
    let yard = Yard::new();
    yard.write("lines.txt", LINES);
    yard.commit();
    let run = |command: &str| json!({ "tools": [{ "name": "run_command", "input": { "command": command } }] });
    scripted(
        &yard,
        &json!({ "turns": [
            run("sed -i 's/two/two plus/' lines.txt"),
            run("echo new > new.txt"),
            run("rm new.txt; sed -i 's/nine/9/' lines.txt"),
            { "text": "done" } ] }),
    );
    yard.chock(&["run", "x"]).expect(0);
    let words = yard.chock(&["diff", "--word"]).expect(0).out;
    assert!(words.contains("\ntwo{+ plus+}\n") && words.contains("\n[-nine-]{+9+}\n"), "{words}");
    let changed = |turns: &str| {
        let diff = json_of(&yard.chock(&["diff", "--json", "--turns", turns]).expect(0));
        let files = diff["files"].as_array().expect("files").clone();
        let told = files.iter().map(|file| {
            let count = file["hunks"].as_array().expect("hunks").len();
            format!(
                "{} {} {count}",
                file["kind"].as_str().expect("a kind"),
                file["path"].as_str().expect("a path")
            )
        });
        told.collect::<Vec<_>>()
    };
    let (one, new) = ("modified lines.txt 1".to_owned(), "added new.txt 1".to_owned());
    assert_eq!(changed("1"), std::slice::from_ref(&one));
    assert_eq!(changed("2"), std::slice::from_ref(&new));
    assert_eq!(changed("3"), [one.clone(), "deleted new.txt 1".to_owned()]);
    assert_eq!(changed("..2"), [one.clone(), new]);
    assert_eq!(changed("2.."), [one]);
    assert_eq!(changed("1..4"), ["modified lines.txt 2".to_owned()]);
    assert_eq!(changed("4"), Vec::<String>::new());
    let beyond = yard.chock(&["diff", "--turns", "5"]).expect(1);
    assert!(beyond.err.contains("the session has 4 turns"), "{}", beyond.err);
    yard.chock(&["diff", "--turns", "0"]).expect(1);

    // On a terminal a patch is the same bytes as elsewhere, and not drawn.
    let patch = yard.chock(&["diff", "--patch"]).expect(0).out;
    assert_eq!(patch, yard.chock(&["diff"]).expect(0).out);
    let (_, seen) = Screen::start(&yard, &["diff", "--patch"]).end();
    assert_eq!(seen.replace("\r\n", "\n"), patch);
}
