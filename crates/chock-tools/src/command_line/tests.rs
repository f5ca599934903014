//! The table of command lines, and what must hold of any text.

use std::path::Path;
use std::process::{Command, Stdio};

use chock_log::Action;
use proptest::prelude::*;

use super::ground::Ground;
use super::name;

fn ground() -> Ground {
    let environment = [
        ("HOME".into(), "/run/chock/home".into()),
        ("PATH".into(), "/usr/bin:/bin:/people/ada/.cargo/bin".into()),
    ];
    Ground::new(Path::new("/p"), Path::new("/p"), &environment)
}

#[track_caller]
fn check(line: &str, expected: &str) {
    let actions = ground().line(&line.replace('⏎', "\n"));
    let names: Vec<_> = actions.iter().map(ToString::to_string).collect();
    assert_eq!(names.join(" "), expected, "{line}");
}

#[test]
fn every_line_of_the_table_names_what_it_says() {
    let table = include_str!("../../tests/command_lines.txt");
    let rows = table.lines().filter(|row| !row.is_empty() && !row.starts_with("# "));
    let mut count = 0;
    for row in rows {
        let (line, names) = row.rsplit_once("=>").expect(row);
        check(line.strip_suffix(' ').expect(row), names.trim());
        count += 1;
    }
    assert!(count >= 300, "{count} lines");
    check("", "");
    check("# only a comment", "");
}

/// Random numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % most
    }

    fn pick<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }

    /// A piece of shell-like text; no word in it is a program of a machine.
    fn text(&mut self, depth: usize) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(3) {
            text.push_str(&self.statement(depth));
            text.push_str(self.pick(&["; ", " && ", " || ", " | ", "\n", " ; ", "\n\n", " |& "]));
        }
        text.push_str(&self.command(depth));
        text
    }

    fn statement(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.command(0);
        }
        let (a, b) = (self.command(depth - 1), self.text(depth - 1));
        let word = self.word(depth - 1);
        match self.below(16) {
            0 => format!("if {a}; then {b}\nfi"),
            1 => format!("for i in {word} q; do {b}\ndone"),
            2 => format!("( {b} )"),
            3 => format!("{{ {b}\n}}"),
            4 => format!("case {word} in p|{word}) {a};; *) {b}\n;; esac"),
            5 => format!("! {a}"),
            6 => format!("fn{depth}() {{ {b}\n}}; fn{depth}"),
            7 => format!("{a} <<E1\nx {word} $v\nE1\n"),
            8 => format!("{a} <<'E2'\n{b}\nE2\n"),
            9 => format!("[[ {word} == x ]]"),
            10 => format!("eval '{}'", a.replace('\'', "")),
            11 => format!("{a} <<-E3 | {a}\n\tx\n\tE3\n"),
            12 => format!("v={word} {a}"),
            13 => format!("while {a}; do {b}\nbreak; done"),
            _ => a,
        }
    }

    fn command(&mut self, depth: usize) -> String {
        let name = [
            "qa",
            "qb",
            "'qc'",
            "\"qd\"",
            "q\\e",
            "q'f'",
            "$'qg'",
            "q\"h\"i",
            "\\ql",
            "true",
            "command qm",
            "builtin qn",
            "qo#",
            "time qr",
            "qs",
            "qt\\ u",
            "qv",
            "qw",
            "echo",
            ":",
            "$\"qx\"",
            "git status",
            "git push",
            "2",
            "q=r",
            "'q y'",
            "%",
            "exec qz",
            "qA-b",
            "q.c",
            "qd:e",
        ];
        if self.below(400) == 0 {
            return self
                .pick(&["$v x", "{qp,qq}", "q{s,t} x", "q[u]", "q${v}w", "qj\\\nk", "$(qa) x"])
                .to_owned();
        }
        let mut text = self.pick(&name).to_owned();
        for _ in 0..self.below(4) {
            let word = self.word(depth);
            text.push_str(self.pick(&[" ", "  ", "\t", " \\\n", " "]));
            text.push_str(&word);
        }
        text.push_str(self.pick(&[
            "", "", "", "", " > o", " 2>&1", " < i qz", " <<< w", " >o q1", " &> o", " # c",
        ]));
        text
    }

    fn word(&mut self, depth: usize) -> String {
        let inner = if depth > 0 { self.text(depth - 1) } else { "q2".to_owned() };
        match self.below(24) {
            0 => format!("$({inner})"),
            1 => format!("\"$({inner})\""),
            2 if !inner.contains(['`', '\\']) => format!("`{inner}`"),
            3 => format!("${{v:-$({inner})}}"),
            4 => format!("<({inner})"),
            5 => format!("'{}'", inner.replace('\'', "")),
            6 => format!("\"{}\"", inner.replace(['"', '\\', '`', '$'], "")),
            7 => format!("$((1 + $({inner}\n)))"),
            8 => "#x".into(),
            9 => "a#b".into(),
            10 => "\"a\\\"$v\"".into(),
            11 => "$'a\\'b'".into(),
            12 => "a\\ b".into(),
            13 => "{}".into(),
            14 => "\"a'b\"".into(),
            15 => "$".into(),
            16 => "${v#x}".into(),
            17 => "${v/a/b}".into(),
            18 => "\"${v:-'x'}\"".into(),
            19 => "\\\"".into(),
            _ => "x".into(),
        }
    }

    /// Takes letters out and puts others in.
    fn spoil(&mut self, text: &str) -> String {
        let mut letters: Vec<char> = text.chars().collect();
        for _ in 0..self.below(3) {
            let at = self.below(letters.len() + 1);
            if self.below(2) == 0 && at < letters.len() {
                letters.remove(at);
            } else {
                let more = self.pick(&[
                    "'", "\"", "`", "$(", ")", "(", ";", "\n", "\\", "#", "{", "}", "|", " ",
                    "<<E1", "\\\n", "E1\n", "$", "<", "[", "]]", "fi", "do",
                ]);
                letters.splice(at..at, more.chars());
            }
        }
        letters.into_iter().collect()
    }
}

/// How many texts are run by a shell. A hundred times as many were, once.
const CASES: usize = 240;

/// Has bash run a text where there is no program, and lists what it looked for.
fn looked_for(text: &str, yard: &Path) -> Vec<String> {
    let log = tempfile::NamedTempFile::new_in(yard).expect("a log");
    let handle = format!("() {{ printf '%s\\0' \"$1\" >> '{}'; }}", log.path().display());
    Command::new("timeout")
        .args(["2", "bash", "-c", text])
        .env("BASH_FUNC_command_not_found_handle%%", handle)
        .env("BASH_ENV", yard.join("no-programs"))
        .current_dir(yard.join("work"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("timeout and bash");
    let looked = std::fs::read(log.path()).expect("a log");
    let looked = String::from_utf8_lossy(&looked);
    looked.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn whatever_bash_looks_for_was_named() {
    let yard = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(yard.path().join("work")).expect("a directory");
    std::fs::write(yard.path().join("no-programs"), "PATH=/nowhere\n").expect("a file");
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let ground = ground();
    let (mut read, mut met) = (0, 0);
    for case in 0..CASES {
        let text = dice.text(case % 3);
        let text = if case % 2 == 0 { text } else { dice.spoil(&text) };
        let names: Vec<_> = ground.line(&text).iter().map(ToString::to_string).collect();
        if names.iter().any(|name| name == "exec.unparsed") {
            continue;
        }
        read += 1;
        for program in looked_for(&text, yard.path()) {
            met += 1;
            let name = Action::below("exec.path", &[&program]).to_string();
            let git = program == "git" && names.iter().any(|name| name.starts_with("git."));
            assert!(git || names.contains(&name), "{program} of {text:?}: {names:?}");
        }
    }
    assert!(read > CASES / 10 && met > CASES / 2, "{read} read, {met} looked for");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_letters_have_a_bounded_answer(text in "(?s).{0,400}") {
        prop_assert!(ground().line(&text).len() <= 97);
    }

    #[test]
    fn any_pieces_of_shell_have_a_bounded_answer(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..120),
    ) {
        prop_assert!(ground().line(&pieces.concat()).len() <= 97);
    }
}

const PIECES: [&str; 60] = [
    "git",
    "push",
    " ",
    "\n",
    "$(",
    ")",
    "(",
    "((",
    "))",
    "\"",
    "'",
    "`",
    "{",
    "}",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "<<EOF",
    "<<-'E'",
    "EOF",
    "\nEOF\n",
    "if ",
    "then ",
    "fi",
    "case ",
    " in ",
    "esac",
    "<",
    ">",
    "2>&1",
    "[[ ",
    " ]]",
    "$x",
    "${",
    "\\",
    "#",
    "é",
    "env ",
    "xargs ",
    "sh -c ",
    "eval ",
    "find . -exec ",
    " \\;",
    "sudo ",
    "-u",
    "--",
    "timeout ",
    "=",
    "a=b ",
    "$'",
    "\\\n",
    "\t",
    "f() ",
    "for i ",
    "do ",
    "done",
    "parallel ",
    ":::",
];

#[test]
fn what_is_too_long_or_too_deep_is_not_read() {
    let unparsed = |text: &str| {
        let names = ground().line(text);
        assert!(names.iter().any(|name| name.as_str() == "exec.unparsed"), "{} bytes", text.len());
    };
    unparsed(&format!("echo {}", "x".repeat(64 << 10)));
    unparsed(&"$(".repeat(20_000));
    unparsed(&"(".repeat(60_000));
    unparsed(&format!("{}a{}", "(".repeat(200), ")".repeat(200)));
    unparsed(&format!("a{}", "; a".repeat(600)));
    unparsed(&"<<A ".repeat(16_000));
    let many: Vec<_> = (0..200).map(|number| format!("a{number}")).collect();
    unparsed(&many.join("; "));
    let mut nested = "git push".to_owned();
    for _ in 0..60 {
        nested = format!("env {nested}");
    }
    unparsed(&nested);
    assert!(
        ground().line(&many[..90].join(" && ")).iter().all(|it| it.as_str() != "exec.unparsed")
    );
}

#[test]
fn words_that_no_shell_reads_are_what_they_are() {
    let names = |words: &[&str]| {
        let words: Vec<_> = words.iter().map(Into::into).collect();
        let names: Vec<_> = ground().words(&words).iter().map(ToString::to_string).collect();
        names.join(" ")
    };
    assert_eq!(names(&["git", "push"]), "git.push");
    assert_eq!(names(&["cd", "x"]), "exec.path.cd");
    assert_eq!(names(&["$x", "push"]), "exec.path.$x");
    assert_eq!(names(&["sh", "-c", "a; git push"]), "exec.path.sh exec.path.a git.push");
    assert_eq!(names(&["./x"]), "exec.workspace.x");
}

#[test]
fn redirections_say_what_they_open() {
    let reaches = |text: &str| {
        let named = name::line(text, &ground());
        let shown = named
            .reaches
            .iter()
            .map(|reach| format!("{} {}", reach.operation.word(), reach.path.display()));
        shown.collect::<Vec<_>>().join(", ")
    };
    let cases = [
        ("a < .env", "read /p/.env"),
        ("a > sub/../.env", "write /p/.env"),
        ("cd sub && a < x", "read /p/sub/x"),
        ("cd sub; a < x", "read /p/sub/x, read /p/x"),
        ("{ a; } >> ~/x", "write /run/chock/home/x"),
        ("x=$(< .env)", "read /p/.env"),
        ("sh -c 'a < .env'", "read /p/.env"),
        ("a 2>&1 >&2 <&3", ""),
        ("a < $x", ""),
        ("a < \"$PWD/.env\"", "read /p/.env"),
        ("a &> .env", "write /p/.env"),
        ("a <<< .env", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(reaches(text), expected, "{text}");
    }
}
