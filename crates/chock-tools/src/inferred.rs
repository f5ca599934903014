//! Infers from the last words of a command that failed what the wall refused it.
//!
//! A program is told of a refusal by an errno and nobody else is. What it prints of that is a
//! hint: a denial made from it says that it is inferred, and only a command that failed has one.

use std::path::{Path, PathBuf};

use chock_log::Denial;
use chock_sandbox::{Cage, Grant, Mount};

use crate::denied::{DeniedRow, DeniedRows};

/// How many of the last lines are looked at. A program ends soon after what ended it, and a test
/// suite that prints such words on purpose says more behind them.
const LINES_MAX: usize = 10;

/// The most bytes of a line that are looked at.
const LINE_BYTES_MAX: usize = 2000;

/// What is always in a cage, whatever its tree is.
const ALWAYS: [&str; 4] = ["/dev", "/proc", "/run/chock", "/tmp"];

/// Sockets that give whoever reaches them the whole machine.
const ROOT_SOCKETS: [&str; 3] = ["docker.sock", "podman.sock", "containerd.sock"];

/// Words of programs that looked for a network, in small letters.
const NETWORK_WORDS: [&str; 13] = [
    "could not resolve host",
    "could not resolve proxy",
    "name or service not known",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "nodename nor servname provided",
    "network is unreachable",
    "getaddrinfo eai_again",
    "getaddrinfo enotfound",
    "failed to lookup address information",
    "java.net.unknownhostexception",
    "no suitable address found",
    "no such host",
];

/// Words of cargo, which was told that there is no network and so looks for none.
const CARGO_WORDS: [&str; 3] = [
    "you're using offline mode",
    "--offline was specified",
    "could not be found in registry index",
];

/// Where cargo would have looked.
const CARGO_HOST: &str = "index.crates.io";

/// What stands before the name of a host in such a line.
const BEFORE_HOST: [&str; 13] = [
    "host: ",
    "hostname ",
    "eai_again ",
    "enotfound ",
    "unknownhostexception: ",
    "host='",
    "resolving '",
    "resolving ",
    "lookup ",
    "dial tcp ",
    "tcp: address ",
    "connect to ",
    "://",
];

/// What the cage of a session holds and refuses, to hold a program's words against.
#[derive(Debug, Clone)]
pub struct Walls {
    project: PathBuf,
    shown: Vec<PathBuf>,
    debug: Grant,
    denied: DeniedRows,
}

impl Walls {
    /// Takes what counts of a cage. `project` is the top of the project, at its place inside.
    #[must_use]
    pub fn of(cage: &Cage, project: &Path) -> Self {
        let covers = |mount: &&Mount| !matches!(mount, Mount::Cover { .. });
        let shown = cage.tree.iter().filter(covers).map(|mount| mount.target().to_owned());
        Self {
            project: project.to_owned(),
            shown: shown.chain(ALWAYS.map(PathBuf::from)).collect(),
            debug: cage.filter.debug,
            denied: DeniedRows::default(),
        }
    }

    /// Knows what the cage covers, and why: a refusal names the row.
    #[must_use]
    pub fn naming(self, denied: Vec<DeniedRow>) -> Self {
        Self { denied: DeniedRows::new(denied), ..self }
    }

    pub(crate) fn denied(&self) -> &DeniedRows {
        &self.denied
    }

    /// Infers what ended a command that failed, from the end of its output.
    pub(crate) fn refused(&self, output: &str) -> Option<Denial> {
        let lines = output.lines().rev().filter(|line| !line.trim().is_empty());
        lines.take(LINES_MAX).find_map(|line| self.line(shortened(line)))
    }

    fn line(&self, line: &str) -> Option<Denial> {
        let small = line.to_ascii_lowercase();
        network(&small)
            .or_else(|| self.read_only(line, &small))
            .or_else(|| self.absent(line, &small))
            .or_else(|| self.covered(line, &small))
            .or_else(|| set_id(line, &small))
            .or_else(|| self.traced(&small))
            .or_else(|| privileged(&small))
    }

    /// Only the wall makes anything read only in a cage.
    fn read_only(&self, line: &str, small: &str) -> Option<Denial> {
        if !small.contains("read-only file system") {
            return None;
        }
        let rules = line.contains("chock.zon");
        let target = match rules {
            true => Some("chock.zon".to_owned()),
            false => last_path(line).map(str::to_owned),
        };
        let allowed_by =
            rules.then(|| "the person editing chock.zon outside the session".to_owned());
        Some(Denial { allowed_by, ..inferred("write", target, "mount") })
    }

    /// What is missing where the cage holds nothing at all.
    fn absent(&self, line: &str, small: &str) -> Option<Denial> {
        let socket = ROOT_SOCKETS.iter().any(|name| small.contains(name));
        let missing = small.contains("no such file or directory") || small.contains("enoent");
        let unanswered = socket && small.contains("cannot connect");
        if !missing && !unanswered {
            return None;
        }
        let path = last_path(line)?;
        let operation = if socket { "connect" } else { "read" };
        let leads_out = self.leads_out(Path::new(path));
        leads_out.then(|| inferred(operation, Some(path.to_owned()), "mount"))
    }

    /// A denied path by its own name, from the project's top or the root.
    fn covered(&self, line: &str, small: &str) -> Option<Denial> {
        if !small.contains("permission denied") && !small.contains("eacces") {
            return None;
        }
        let apart = |letter: char| letter.is_whitespace() || "'\"`:,;()[]=".contains(letter);
        let mut words = line.split(apart).filter(|word| !word.is_empty());
        let (path, row) = words.find_map(|word| {
            self.denied
                .row(&self.project.join(word.trim_start_matches("./")))
                .map(|row| (word, row))
        })?;
        let allowed_by = Some(DeniedRows::cure(row));
        Some(Denial { allowed_by, ..inferred("read", Some(path.to_owned()), "mount") })
    }

    fn leads_out(&self, path: &Path) -> bool {
        let is_there = |shown: &PathBuf| path.starts_with(shown) || shown.starts_with(path);
        !path.starts_with(&self.project) && !self.shown.iter().any(is_there)
    }

    fn traced(&self, small: &str) -> Option<Denial> {
        let refused = small.contains("ptrace") && small.contains("not permitted");
        let told = ["leaksanitizer does not work under ptrace", "could not trace the inferior"];
        let is_told = refused || told.iter().any(|words| small.contains(words));
        if self.debug == Grant::Allow || !is_told {
            return None;
        }
        let action = "sandbox.debug";
        let row = format!(".{{ .action = \"{action}\", .decision = .allow }}");
        Some(Denial {
            action: Some(action.to_owned()),
            allowed_by: Some(row),
            ..inferred("trace", None, "seccomp")
        })
    }
}

/// Says whether a text has words of a program that looked for a network.
pub(crate) fn asks_for_network(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    NETWORK_WORDS.iter().any(|words| small.contains(words))
}

/// Words a denial for the model, to follow what the command printed.
pub(crate) fn sentence(denial: &Denial) -> String {
    let Denial { operation, target, layer, allowed_by, .. } = denial;
    let target = target.as_ref().map(|target| format!(" {target}")).unwrap_or_default();
    let why = match (layer.as_str(), operation.as_str()) {
        ("network", _) => "; this sandbox has no network: only 127.0.0.1 and ::1 can be reached",
        ("mount", "write") => "; it is read only in this sandbox",
        ("mount", "connect") => "; whoever reaches that socket is root of the machine",
        ("mount", _) => {
            "; the sandbox holds the project, /tmp, the system's programs and toolchains, and \
             nothing else of this machine"
        }
        (_, _) => "",
    };
    let cure = allowed_by.as_ref().map(|cure| format!("; only {cure} allows it"));
    let cure = cure.unwrap_or_default();
    format!("denied, as its words tell: {operation}{target} ({layer}){why}{cure}")
}

fn inferred(operation: &str, target: Option<String>, layer: &str) -> Denial {
    Denial {
        operation: operation.to_owned(),
        action: None,
        target,
        layer: layer.to_owned(),
        allowed_by: None,
        inferred: true,
    }
}

fn network(small: &str) -> Option<Denial> {
    let has = |list: &[&str]| list.iter().any(|words| small.contains(words));
    let target = match (has(&NETWORK_WORDS), has(&CARGO_WORDS)) {
        (true, _) => host(small),
        (false, true) => Some(CARGO_HOST.to_owned()),
        (false, false) => return None,
    };
    Some(inferred("connect", target, "network"))
}

/// Finds the host that a line is about, with its port if that stands behind it.
fn host(small: &str) -> Option<String> {
    BEFORE_HOST.iter().find_map(|before| {
        let (_, rest) = small.split_once(before)?;
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || ".-_:[]".contains(letter);
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let name = rest[..end].trim_end_matches([':', '.']);
        let is_name = name.contains('.') || name.starts_with('[');
        is_name.then(|| name.to_owned())
    })
}

/// The filter refuses the bits in every call that can set them.
fn set_id(line: &str, small: &str) -> Option<Denial> {
    let refused = small.contains("operation not permitted");
    let bits = small.contains("changing permissions of")
        || (small.contains("cannot change mode") && small.contains("rws"));
    (refused && bits).then(|| inferred("chmod", quoted(line).map(str::to_owned), "seccomp"))
}

fn privileged(small: &str) -> Option<Denial> {
    let rows = [
        ("no new privileges", "become root", "no_new_privs"),
        ("unshare failed: operation not permitted", "make namespaces", "seccomp"),
        ("no permissions to create new namespace", "make namespaces", "seccomp"),
        ("creating new namespace failed", "make namespaces", "seccomp"),
    ];
    let row = rows.iter().find(|(words, ..)| small.contains(words))?;
    Some(inferred(row.1, None, row.2))
}

/// Returns the last absolute path of a line.
fn last_path(line: &str) -> Option<&str> {
    // A shell names itself and its line first.
    let line = line.split_once(": line ").map_or(line, |(_, rest)| rest);
    let is_path = |word: &&str| word.len() > 1 && word.starts_with('/');
    let within = line.split(['\'', '"', '`', '‘', '’']).skip(1).step_by(2);
    let within = within.filter(is_path).fold(None, |_, path| Some(path));
    within.or_else(|| {
        let words =
            line.split(|letter: char| letter.is_whitespace() || "'\"`:,;()[]=".contains(letter));
        let cut = words.map(|word| match word.strip_prefix("//") {
            // What a colon left of `unix:///var/run/x`.
            Some(rest) if rest.starts_with('/') => rest,
            Some(_) | None => word,
        });
        let ended = cut.map(|word| word.trim_end_matches('.'));
        ended.filter(is_path).rfind(|word| !word.starts_with("//"))
    })
}

/// Returns what stands in the first quotes of a line.
fn quoted(line: &str) -> Option<&str> {
    line.split(['\'', '‘', '’']).nth(1).filter(|name| !name.is_empty())
}

fn shortened(line: &str) -> &str {
    let end = line.floor_char_boundary(LINE_BYTES_MAX);
    &line[..end]
}

#[cfg(test)]
mod tests {
    use chock_sandbox::{Access, Filter, Home, Limits, Owners};

    use super::*;

    fn walls(debug: Grant) -> Walls {
        let bind = |path: &str| Mount::Bind {
            source: path.into(),
            target: path.into(),
            access: Access::ReadOnly,
            owners: Owners::AsOutside,
        };
        let cage = Cage {
            tree: vec![bind("/usr"), bind("/etc/passwd"), bind("/people/ada/.cargo/bin")],
            home: Home::Scratch { bytes: 1 },
            stored: Vec::new(),
            limits: Limits::default(),
            filter: Filter { debug, ..Filter::default() },
        };
        Walls::of(&cage, Path::new("/people/ada/project"))
    }

    #[test]
    fn a_denied_path_is_known_by_its_name_and_names_its_row() {
        let row = |path: &str| DeniedRow {
            path: Path::new("/people/ada/project").join(path),
            row: format!("\"{path}\" (chock.zon:2:5)"),
        };
        let walls = walls(Grant::Deny).naming(vec![row(".env"), row("vault")]);
        let cases = [
            ("cat: .env: Permission denied", Some(".env")),
            ("bash: line 1: ./.env: Permission denied", Some("./.env")),
            ("PermissionError: [Errno 13] Permission denied: 'vault/key'", Some("vault/key")),
            (
                "Error: EACCES: permission denied, open '/people/ada/project/.env'",
                Some("/people/ada/project/.env"),
            ),
            ("cat: shut: Permission denied", None),
            ("cat: .env: No such file or directory", None),
        ];
        for (output, target) in cases {
            let denial = walls.refused(output);
            let found = denial.as_ref().and_then(|denial| denial.target.as_deref());
            assert_eq!(found, target, "{output}");
            if let Some(denial) = denial {
                assert!(denial.inferred && denial.layer == "mount", "{denial:?}");
                assert!(denial.allowed_by.expect("a row").contains("(chock.zon:2:5)"));
            }
        }
    }

    #[test]
    fn words_of_a_refusal_name_what_was_refused() {
        // (the output, operation, target, layer)
        let cases = [
            (
                "curl: (6) Could not resolve host: example.com",
                "connect",
                Some("example.com"),
                "network",
            ),
            (
                "fatal: unable to access 'https://github.com/a/b/': Could not resolve host: github.com",
                "connect",
                Some("github.com"),
                "network",
            ),
            (
                "npm error request to https://registry.npmjs.org/x failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
                "connect",
                Some("registry.npmjs.org"),
                "network",
            ),
            (
                "ssh: Could not resolve hostname git.test.org: Temporary failure in name resolution",
                "connect",
                Some("git.test.org"),
                "network",
            ),
            (
                "dial tcp: lookup proxy.golang.org: Temporary failure in name resolution",
                "connect",
                Some("proxy.golang.org"),
                "network",
            ),
            (
                "dial tcp 192.0.2.1:443: connect: network is unreachable",
                "connect",
                Some("192.0.2.1:443"),
                "network",
            ),
            ("OSError: [Errno 101] Network is unreachable", "connect", None, "network"),
            (
                "E: Temporary failure resolving 'deb.debian.org'",
                "connect",
                Some("deb.debian.org"),
                "network",
            ),
            (
                "java.net.UnknownHostException: repo.maven.apache.org",
                "connect",
                Some("repo.maven.apache.org"),
                "network",
            ),
            (
                "go: module a/b: Get \"https://proxy.golang.org/a\": dial tcp: address proxy.golang.org: no suitable address found",
                "connect",
                Some("proxy.golang.org"),
                "network",
            ),
            (
                "As a reminder, you're using offline mode (--offline) which can sometimes cause surprising resolution failures",
                "connect",
                Some("index.crates.io"),
                "network",
            ),
            (
                "touch: cannot touch '/usr/a b': Read-only file system\n\nmake: *** [all] Error 1",
                "write",
                Some("/usr/a b"),
                "mount",
            ),
            ("bash: line 1: /usr/x: Read-only file system", "write", Some("/usr/x"), "mount"),
            (
                "OSError: [Errno 30] Read-only file system: '/etc/passwd'",
                "write",
                Some("/etc/passwd"),
                "mount",
            ),
            (
                "sh: 1: cannot create chock.zon: Read-only file system",
                "write",
                Some("chock.zon"),
                "mount",
            ),
            (
                "cat: /root/.ssh/id_rsa: No such file or directory",
                "read",
                Some("/root/.ssh/id_rsa"),
                "mount",
            ),
            (
                "cat: /people/ada/.aws/credentials: No such file or directory",
                "read",
                Some("/people/ada/.aws/credentials"),
                "mount",
            ),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
                "connect",
                Some("/var/run/docker.sock"),
                "mount",
            ),
            (
                "chmod: changing permissions of 'tool': Operation not permitted",
                "chmod",
                Some("tool"),
                "seccomp",
            ),
            (
                "tar: a/tool: Cannot change mode to rwsr-xr-x: Operation not permitted",
                "chmod",
                None,
                "seccomp",
            ),
            (
                "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted",
                "trace",
                None,
                "seccomp",
            ),
            (
                "==2==HINT: LeakSanitizer does not work under ptrace (strace, gdb, etc)",
                "trace",
                None,
                "seccomp",
            ),
            (
                "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.",
                "become root",
                None,
                "no_new_privs",
            ),
            (
                "unshare: unshare failed: Operation not permitted",
                "make namespaces",
                None,
                "seccomp",
            ),
        ];
        for (output, operation, target, layer) in cases {
            let denial = walls(Grant::Deny).refused(output);
            let denial = denial.unwrap_or_else(|| panic!("nothing inferred from {output:?}"));
            assert!(denial.inferred);
            let told = (denial.operation.as_str(), denial.target.as_deref(), denial.layer.as_str());
            assert_eq!(told, (operation, target, layer), "{output}");
            assert!(sentence(&denial).contains(layer));
        }
    }

    #[test]
    fn a_program_that_simply_failed_was_refused_nothing() {
        let long = format!("Network is unreachable\n{}", "test passed\n".repeat(LINES_MAX));
        for output in [
            "",
            "cat: missing: No such file or directory",
            "cat: /people/ada/project/missing: No such file or directory",
            "cat: /tmp/x: No such file or directory",
            "cat: /usr/lib/nothing: No such file or directory",
            "ls: cannot access '/people/ada': No such file or directory",
            "bash: ./tool: Permission denied",
            "rm: cannot remove '/usr/x': Operation not permitted",
            "error[E0425]: cannot find value `x` in this scope",
            "chmod: invalid mode: 'x'",
            "assertion failed: ptrace",
            &long,
        ] {
            assert_eq!(walls(Grant::Deny).refused(output), None, "{output}");
        }
    }

    #[test]
    fn what_a_row_allows_is_not_said_to_be_refused() {
        let output = "strace: ptrace(PTRACE_TRACEME, ...): Operation not permitted";
        let denial = walls(Grant::Deny).refused(output).expect("a denial");
        assert_eq!(denial.action.as_deref(), Some("sandbox.debug"));
        assert!(denial.allowed_by.expect("a row").contains("sandbox.debug"));
        assert_eq!(walls(Grant::Allow).refused(output), None);
    }

    #[test]
    fn a_search_for_a_network_is_noticed() {
        assert!(asks_for_network("curl: (6) Could not resolve host: example.com\n"));
        assert!(!asks_for_network("resolved 3 hosts\n"));
    }
}
