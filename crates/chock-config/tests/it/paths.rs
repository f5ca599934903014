//! Paths and patterns of the project: `deny_read` and `workspace.binds`.

use chock_config::{BindMode, Project, ProjectPath, WhenTracked};
use proptest::prelude::*;

use crate::{Cases, check_faults};

fn read(text: &str) -> Project {
    Project::read("chock.zon", text).unwrap()
}

#[track_caller]
fn check(text: &str, expected: &[(usize, &str, &str)]) {
    check_faults(text, &Project::read("chock.zon", text).unwrap_err(), expected);
}

fn pattern(text: &str) -> globset::GlobMatcher {
    match ProjectPath::try_from(text.to_owned()).unwrap() {
        ProjectPath::Pattern(pattern) => pattern.glob().compile_matcher(),
        ProjectPath::Name(name) => panic!("{name:?} is no pattern"),
    }
}

#[test]
fn a_row_of_deny_read_is_a_path_or_a_struct() {
    let project = read(
        r#".{ .deny_read = .{
            ".env",
            .{ .path = "keys/", .tracked = .refuse },
            .{ .path = "**/*.pem" },
            .{ .path = "./a//b", .tracked = .announce },
        } }"#,
    );
    let rows: Vec<_> = project.deny_read.iter().map(|row| row.value.to_string()).collect();
    assert_eq!(rows, [".env", "keys/ (refused when git tracks it)", "**/*.pem", "a/b"]);
    let tracked: Vec<_> = project.deny_read.iter().map(|row| row.value.tracked).collect();
    let announce = WhenTracked::Announce;
    assert_eq!(tracked, [announce, WhenTracked::Refuse, announce, announce]);
}

#[test]
fn patterns_stay_within_names_and_without_a_slash_are_matched_everywhere() {
    // (pattern, matched, not matched)
    let cases: [(&str, &[&str], &[&str]); 10] = [
        ("*.pem", &["a.pem", "x/y/a.pem"], &["a.pem/x", "a.pemx"]),
        ("./*.pem", &["a.pem"], &["x/a.pem"]),
        ("keys/*.pem", &["keys/a.pem"], &["a.pem", "keys/x/a.pem", "x/keys/a.pem"]),
        ("**/.env", &[".env", "a/.env", "a/b/.env"], &["a/.envrc", "xenv"]),
        (".env.*", &[".env.local", "a/.env.x"], &[".env"]),
        ("secrets/**", &["secrets/a", "secrets/a/b"], &["secrets", "x/secrets/a"]),
        ("?.key", &["a.key", "b/c.key"], &["ab.key", ".key/x"]),
        ("id_[re]*", &["id_rsa", "id_ed25519"], &["id_dsa"]),
        ("{a,b/c}.txt", &["a.txt", "b/c.txt"], &["c.txt"]),
        ("\\*.x", &["*.x", "d/*.x"], &["a.x"]),
    ];
    for (text, matched, others) in cases {
        let pattern = pattern(text);
        for path in matched {
            assert!(pattern.is_match(path), "{text} {path}");
        }
        for path in others {
            assert!(!pattern.is_match(path), "{text} {path}");
        }
    }
}

#[test]
fn a_slash_at_the_end_is_a_directory() {
    for (text, shown, is_directory) in
        [("a/", "a/", true), ("./a/b/.", "a/b/", true), ("a", "a", false), ("x*/", "x*/", true)]
    {
        let path = ProjectPath::try_from(text.to_owned()).unwrap();
        assert_eq!(path.to_string(), shown);
        let found = match path {
            ProjectPath::Name(name) => name.is_directory(),
            ProjectPath::Pattern(pattern) => pattern.directories_only(),
        };
        assert_eq!(found, is_directory, "{text}");
    }
}

#[test]
fn what_no_path_of_the_project_is_has_its_place_and_advice() {
    let cases: Cases<'_> = &[
        (
            ".{ .deny_read = .{ \"/etc/passwd\", \"a/../b\", \"\", \"./\", \"./chock.zon\", \"~/x\" } }",
            &[
                (1, "\"", "not below the project"),
                (1, "\"a/../b\"", "has a `..` in it"),
                (1, "\"\"", "the path is empty"),
                (1, "\"./\"", "the whole project"),
                (1, "\"", "cannot be named here"),
                (1, "\"~/x\"", "not below the project"),
            ],
        ),
        (
            ".{ .deny_read = .{ \".git/config\", \"a/.GIT\", \"!a\", \"a[\", \"{a\", \"**/../x\" } }",
            &[
                (1, "\".git/config\"", "`.git` of chock's own"),
                (1, "\"a/.GIT\"", "`.git` of chock's own"),
                (1, "\"!a\"", "turned around"),
                (1, "\"a[\"", "this is no pattern: unclosed character class"),
                (1, "\"{a\"", "this is no pattern: unclosed alternate"),
                (1, "\"**/../x\"", "has a `..` in it"),
            ],
        ),
        (
            ".{ .deny_read = .{ .env, 1, .{ .tracked = .refuse }, .{ .pth = \"a\" }, .{ .path = \"a\", .tracked = .never } } }",
            &[
                (1, "env", "a path in quotes, or a struct"),
                (1, "1", "a path in quotes, or a struct"),
                (1, "{ .tracked", "the field `path` is missing"),
                (1, "{ .pth", "the field `path` is missing"),
                (1, "pth", "did you mean `path`?"),
                (1, "never", "announce"),
            ],
        ),
        (".{ .workspace = .{ .bind = .{} } }", &[(1, "bind", "did you mean `binds`?")]),
        (
            ".{ .workspace = .{ .binds = .{ .{ .name = \"a\" }, .{ .name = \"../a\", .mode = .copy }, .{ .name = \"a\", .mode = .rw } } } }",
            &[
                (1, "{ .name = \"a\" }", "the field `mode` is missing"),
                (1, "\"../a\"", "has a `..` in it"),
                (1, "rw", "read_only"),
            ],
        ),
        (
            ".{ .workspace = .{ .binds = .{ .{ .name = \".git\", .mode = .write }, .{ .name = \"chock.zon\", .mode = .write }, .{ .name = \"/a\", .mode = .write } } } }",
            &[
                (1, "\".git\"", "`.git` of chock's own"),
                (1, "\"chock.zon\"", "read by chock itself"),
                (1, "\"/a\"", "not below the project"),
            ],
        ),
        (
            ".{ .workspace = .{ .binds = .{ .{ .name = \"a*\", .mode = .write }, .{ .name = \"a*\", .mode = .copy, .required = true } } } }",
            &[(1, "\"a*\"", "without a pattern"), (1, "\"a*\"", "never required")],
        ),
        (".{ .workspace = 1 }", &[(1, "1", "expected a struct, found 1")]),
    ];
    for (text, faults) in cases {
        check(text, faults);
    }
}

#[test]
fn a_name_that_looks_like_a_home_is_written_so_that_it_reads_back() {
    let path = ProjectPath::try_from("./~.".to_owned()).unwrap();
    assert_eq!((path.as_str(), path.to_string().as_str()), ("~.", "./~."));
    let path = ProjectPath::try_from("./!".to_owned()).unwrap();
    assert_eq!((path.as_str(), path.to_string().as_str()), ("!", "./!"));
    assert_eq!(ProjectPath::try_from(path.to_string()), Ok(path));
}

#[test]
fn rows_are_bounded() {
    let row = ".{ .name = \"a\", .mode = .copy },".repeat(65);
    check(
        &format!(".{{ .workspace = .{{ .binds = .{{ {row} }} }} }}"),
        &[(1, "{ .{ .name", "65 binds are over the limit of 64")],
    );
    let long = "a".repeat(4097);
    let fault = ProjectPath::try_from(long).unwrap_err();
    assert!(fault.to_string().contains("4096"), "{fault}");
}

#[test]
fn binds_are_read_with_their_defaults() {
    let project = read(
        r#".{ .workspace = .{ .binds = .{
            .{ .name = "data", .mode = .read_only },
            .{ .name = "packages/*/node_modules/", .mode = .temp_copy },
            .{ .name = "out", .mode = .write, .required = false },
            .{ .name = "notes", .mode = .copy },
        } } }"#,
    );
    let rows: Vec<_> = project
        .binds
        .iter()
        .map(|bind| (bind.value.name.to_string(), bind.value.mode, bind.value.required))
        .collect();
    let expected = [
        ("data", BindMode::ReadOnly, true),
        ("packages/*/node_modules/", BindMode::TempCopy, false),
        ("out", BindMode::Write, false),
        ("notes", BindMode::Copy, true),
    ];
    assert_eq!(rows, expected.map(|(name, mode, required)| (name.to_owned(), mode, required)));
    assert_eq!(read(".{ .workspace = .{} }"), Project::default());
}

proptest! {
    #[test]
    fn no_path_leaves_the_project_or_names_its_rules(text in "[a-z./*{},\\[\\]!~\\\\]{0,24}") {
        let Ok(path) = ProjectPath::try_from(text.clone()) else { return Ok(()) };
        let shown = path.as_str();
        prop_assert!(!shown.is_empty() && !shown.starts_with('/') && shown != "chock.zon");
        let parts: Vec<_> = shown.split('/').collect();
        let good = |part: &&str| !part.is_empty() && *part != ".." && *part != ".git";
        prop_assert!(parts.iter().all(good), "{text} {shown}");
        // What is shown means the same when it is written.
        prop_assert_eq!(ProjectPath::try_from(path.to_string()), Ok(path));
    }

    #[test]
    fn a_name_without_signs_is_a_name_and_never_a_pattern(text in "[a-z .!#\\]}-]{1,12}") {
        if let Ok(path) = ProjectPath::try_from(text) {
            prop_assert!(matches!(path, ProjectPath::Name(_)));
        }
    }

    #[test]
    fn no_pattern_panics_when_it_is_matched(text in "\\PC{0,40}", path in "\\PC{0,20}") {
        if let Ok(ProjectPath::Pattern(pattern)) = ProjectPath::try_from(text) {
            let _ = pattern.glob().compile_matcher().is_match(path);
        }
    }
}

#[test]
fn a_hostile_pattern_is_refused_or_matched_and_nothing_else() {
    for text in ["{".repeat(2000), "{a,".repeat(1300), "[a-z]*?".repeat(580), "**/".repeat(1300)] {
        if let Ok(ProjectPath::Pattern(pattern)) = ProjectPath::try_from(text) {
            let _ = pattern.glob().compile_matcher().is_match("a/b/c");
        }
    }
}
