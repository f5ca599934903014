//! Sessions on the shelf: exported, removed, pruned.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::input::{scripted, simple};
use crate::screen::Screen;
use crate::yard::Yard;

fn session(yard: &Yard, words: &str) -> (PathBuf, String) {
    yard.chock(&["run", words]).expect(0);
    let log = yard.logs().pop().expect("a session");
    let id = log.file_stem().expect("a name").to_string_lossy().into_owned();
    (log, id)
}

#[test]
fn a_copy_is_the_log_byte_for_byte_and_verifies_elsewhere() {
    let yard = Yard::new();
    simple(&yard);
    let (log, id) = session(&yard, "hello");
    yard.chock(&["sessions", "seal", &id]).expect(0);
    let shelf = yard.path("shelf");
    fs::create_dir(&shelf).expect("a directory");
    let to = shelf.to_str().expect("a path");
    let ran = yard.chock(&["sessions", "export", &id, "--to", to]).expect(0);
    let copy = shelf.join(format!("{id}.jsonl"));
    assert!(ran.out.contains(copy.to_str().expect("a path")), "{}", ran.out);
    let bytes = |path: &Path| fs::read(path).expect("a file");
    assert_eq!(bytes(&copy), bytes(&log));
    let seal = |path: &Path| PathBuf::from(format!("{}.seal", path.display()));
    assert_eq!(bytes(&seal(&copy)), bytes(&seal(&log)));
    assert_eq!(fs::metadata(&copy).expect("a file").permissions().mode() & 0o777, 0o600);

    // On another machine: another home, no project, and the public keys at hand.
    let signers = yard.path("home/.local/share/chock/allowed_signers");
    let verify = |copy: &Path| {
        let mut command = yard.command(&["sessions", "verify", "--json", "--signers"]);
        command.arg(&signers).arg(copy).current_dir("/").env("HOME", yard.path("nowhere"));
        crate::yard::Ran::from(command.output().expect("the program"))
    };
    let row: Value = serde_json::from_str(&verify(&copy).expect(0).out).expect("JSON");
    assert_eq!((&row["id"], &row["verdict"]), (&json!(id), &json!("intact")));
    assert_eq!(row["seal"]["state"], "good", "{row}");
    let mut changed = bytes(&copy);
    let place = changed.len() / 2;
    changed[place] ^= 1;
    fs::write(&copy, changed).expect("a write");
    verify(&copy).expect(2);
}

#[test]
fn nothing_is_overwritten_without_being_told() {
    let yard = Yard::new();
    simple(&yard);
    let (log, id) = session(&yard, "hello");
    for format in ["jsonl", "markdown", "json"] {
        let file = yard.path("export");
        let to = file.to_str().expect("a path");
        fs::write(&file, "mine").expect("a file");
        let words = ["sessions", "export", &id, "--format", format, "--to", to];
        let ran = yard.chock(&words).expect(1);
        assert!(ran.err.contains("there already"), "{}", ran.err);
        assert_eq!(fs::read_to_string(&file).expect("a file"), "mine");
        // A link is replaced and never followed.
        let elsewhere = yard.path("elsewhere");
        fs::write(&elsewhere, "theirs").expect("a file");
        fs::remove_file(&file).expect("a file");
        std::os::unix::fs::symlink(&elsewhere, &file).expect("a link");
        yard.chock(&words).expect(1);
        let forced: Vec<_> = words.iter().copied().chain(["--force"]).collect();
        yard.chock(&forced).expect(0);
        assert_eq!(fs::read_to_string(&elsewhere).expect("a file"), "theirs");
        assert_ne!(fs::read_to_string(&file).expect("a file"), "mine");
        fs::remove_file(&file).expect("a file");
    }
    let left = fs::read_dir(yard.path(".")).expect("a directory").flatten();
    let drafts: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp")).collect();
    assert!(drafts.is_empty(), "{drafts:?}");
    assert!(log.exists());
}

#[test]
fn a_log_full_of_escape_sequences_draws_as_text_everywhere() {
    let yard = Yard::new();
    let nasty =
        "\u{1b}[2J\u{9b}31m\u{202e}\u{7}\r\u{1b}]0;title\u{1b}\\ ~~~ ``` <script> \u{2028}end";
    let command = r"printf '\033[2J\302\233H\033]52;c;aGk=\007\342\200\256\177 ~~~~\n# heading'";
    scripted(
        &yard,
        &json!({ "turns": [
            { "text": nasty, "tools": [{ "name": "run_command", "input": { "command": command } }] },
            { "text": nasty } ] }),
    );
    let ran = yard.chock(&["run", nasty]).expect(0);
    let (_, id) = session(&yard, nasty);
    let hidden = |text: &str| {
        let found = text.chars().find(|letter| {
            let plain = matches!(letter, '\n' | '\t');
            (letter.is_control() && !plain) || "\u{202e}\u{2028}".contains(*letter)
        });
        found.map(|letter| letter.escape_unicode().to_string())
    };
    assert_eq!(hidden(&ran.out).or(hidden(&ran.err)), None, "{}{}", ran.out, ran.err);
    for words in [&["sessions", "show", &id][..], &["sessions", "list"], &["sessions", "verify"]] {
        let ran = yard.chock(words).expect(0);
        assert_eq!(hidden(&ran.out).or(hidden(&ran.err)), None, "{words:?}: {}", ran.out);
        assert!(!ran.out.is_empty());
    }
    for (format, name) in [("markdown", "view.md"), ("json", "view.json")] {
        let file = yard.path(name);
        let to = file.to_str().expect("a path");
        yard.chock(&["sessions", "export", &id, "--format", format, "--to", to]).expect(0);
        let text = fs::read_to_string(&file).expect("a view");
        assert_eq!(hidden(&text), None, "{text}");
        assert!(text.contains("heading"), "{text}");
        if format == "json" {
            let view: Value = serde_json::from_str(&text).expect("JSON");
            assert_eq!(view["id"], json!(id));
            let records = view["records"].as_array().expect("records");
            let said = records.iter().find(|record| record["kind"] == "message.user");
            assert_eq!(said.expect("a message")["body"]["text"], json!(nasty), "nothing is lost");
        } else {
            // What was said is inside of blocks: no line of it is a heading of the page.
            let mut fence = None;
            for line in text.lines() {
                match fence {
                    None if line.starts_with("~~~") => {
                        fence = line.strip_suffix("text").map(str::to_owned);
                    }
                    Some(ref open) if line == open => fence = None,
                    Some(_) => {}
                    // A title is in a code span, whose end it cannot write.
                    None if line.starts_with("- title: ````") => {}
                    None => {
                        assert!(!line.contains("heading") && !line.contains("<script>"), "{line}")
                    }
                }
            }
        }
    }
}

#[test]
fn removing_takes_everything_of_a_session_and_nothing_else() {
    let yard = Yard::new().as_plain_user();
    scripted(
        &yard,
        &json!({ "turns": [
            { "tools": [{ "name": "run_command", "input": { "command": "mkdir -p a/b && chmod 500 a && echo x > new" } }] },
            { "text": "done" }, { "text": "more" } ] }),
    );
    yard.own_everything();
    let (first, id) = session(&yard, "one");
    let (second, other) = session(&yard, "two");
    yard.chock(&["sessions", "seal", &id]).expect(0);
    let directory = first.parent().expect("a directory");
    let names = |id: &str| {
        let all = fs::read_dir(directory).expect("a directory").flatten();
        let mut names: Vec<_> = all
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with(id))
            .collect();
        names.sort();
        names
    };
    let kept = names(&other);
    assert!(names(&id).len() >= 4, "the log, its seal, the copy, the outputs: {:?}", names(&id));
    let before = yard.fingerprint();

    let ran = yard.chock(&["sessions", "remove", &id]).expect(3);
    assert!(ran.err.contains("nobody is there to ask"), "{}", ran.err);
    assert!(first.exists());
    let ran = yard.chock(&["sessions", "remove", &id, "--yes", "--json"]).expect(0);
    let row: Value = serde_json::from_str(&ran.out).expect("JSON");
    assert!(row["freed_bytes"].as_u64().expect("bytes") > 1_000, "{row}");
    assert_eq!(names(&id), Vec::<String>::new());
    assert_eq!(names(&other), kept);
    assert_eq!(yard.fingerprint(), before);
    assert!(second.exists());
    yard.chock(&["run", "--continue", "more"]).expect(0);
}

#[test]
fn a_person_is_asked_before_a_session_goes_and_a_running_one_stays() {
    let yard = Yard::new();
    simple(&yard);
    let (log, id) = session(&yard, "one");
    for (key, code, there) in [("n\n", 3, true), ("\n", 3, true), ("y\n", 0, false)] {
        let lock = fs::File::open(&log).expect("a log");
        lock.lock().expect("a lock");
        let ran = yard.chock(&["sessions", "remove", &id, "--yes"]).expect(3);
        assert!(ran.err.contains("is running"), "{}", ran.err);
        let ran = yard.chock(&["sessions", "prune", "--keep", "0", "--yes"]).expect(0);
        assert!(ran.err.contains("is running and stays"), "{}", ran.err);
        drop(lock);
        let mut screen = Screen::start(&yard, &["sessions", "remove", &id]);
        screen.wait_for("anything else = no: ");
        screen.press(key);
        let (ended, seen) = screen.end();
        assert_eq!(ended, Some(code), "{seen}");
        assert_eq!(log.exists(), there, "{seen}");
    }
}

#[test]
fn pruning_goes_by_the_last_use_and_leaves_damaged_logs() {
    let yard = Yard::new();
    simple(&yard);
    let ids: Vec<_> = ["one", "two", "three"].iter().map(|word| session(&yard, word)).collect();
    let there = || ids.iter().map(|(log, _)| log.exists()).collect::<Vec<_>>();
    assert!(yard.chock(&["sessions", "prune", "--yes"]).expect(1).err.contains("--keep"));
    yard.chock(&["sessions", "prune", "--older-than", "1h", "--yes"]).expect(0);
    assert_eq!(there(), [true, true, true], "all were used just now");
    // The oldest is used again, so the second is the one that was used least.
    yard.chock(&["run", "--session", &ids[0].1, "again"]).expect(0);
    yard.chock(&["sessions", "prune", "--keep", "2"]).expect(3);
    yard.chock(&["sessions", "prune", "--keep", "2", "--yes"]).expect(0);
    assert_eq!(there(), [true, false, true]);
    let text = fs::read_to_string(&ids[2].0).expect("a log");
    fs::write(&ids[2].0, text.replace("three", "thrEe")).expect("a write");
    let ran = yard.chock(&["sessions", "prune", "--keep", "0", "--yes"]).expect(0);
    assert!(ran.err.contains("is damaged and stays"), "{}", ran.err);
    assert_eq!(there(), [false, false, true]);
    yard.chock(&["sessions", "remove", &ids[2].1, "--yes"]).expect(0);
    assert_eq!(there(), [false, false, false]);
}
