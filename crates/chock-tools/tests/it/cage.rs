//! What enters a cage of a home, of `PATH` and of the environment, and what does not.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use chock_sandbox::{Access, Mount};
use chock_tools::cage::{
    CageRules, Compiled, CoverKind, Denied, Filter, Home, Host, Limits, ToolchainRules, compile,
};
use chock_workspace::{Borrowed, Cover, Halves, Layout, ProjectGit};
use tempfile::TempDir;

/// A home with every toolchain in it, and a credential beside each.
struct Yard {
    directory: TempDir,
    variables: BTreeMap<OsString, OsString>,
    path: Vec<PathBuf>,
    rules: ToolchainRules,
    denied: Vec<Denied>,
    extra: Vec<OsString>,
}

/// Programs and libraries that must enter, when `PATH` leads to them.
const WANTED: [&str; 26] = [
    ".cargo/bin/cargo",
    ".rustup/toolchains/stable/bin/rustc",
    ".rustup/settings.toml",
    ".pyenv/versions/3.12/bin/python3",
    ".pyenv/shims/python3",
    ".pyenv/bin/pyenv",
    ".pyenv/libexec/pyenv",
    ".pyenv/version",
    ".nvm/versions/node/v20/bin/node",
    ".nvm/nvm.sh",
    ".volta/bin/volta",
    ".volta/tools/image/node/20/bin/node",
    ".local/share/fnm/node-versions/v20/installation/bin/node",
    "sdk/go/bin/go",
    "sdk/go/src/runtime/runtime2.go",
    "go/bin/gopls",
    ".sdkman/candidates/java/21/bin/java",
    ".asdf/shims/ruby",
    ".asdf/installs/ruby/3/bin/ruby",
    ".local/share/mise/installs/zig/1/bin/zig",
    ".bun/bin/bun",
    ".deno/bin/deno",
    ".local/bin/tool",
    ".local/share/uv/python/cpython-3.13/bin/python3",
    ".local/share/uv/tools/ruff/bin/ruff",
    ".local/share/pipx/venvs/black/bin/black",
];

/// Secrets and private things that stand beside them.
const CANARIES: [&str; 22] = [
    ".cargo/credentials.toml",
    ".cargo/config.toml",
    ".cargo/registry/cache/x",
    ".rustup/downloads/x",
    ".pyenv/.git/config",
    ".nvm/.npmrc",
    ".volta/hooks.json",
    ".local/share/fnm/secret",
    "go/pkg/mod/private/x",
    "go/src/private/x",
    ".sdkman/etc/config",
    ".asdf/.asdfrc",
    ".local/share/mise/secret",
    ".config/mise/config.toml",
    ".bun/install/cache/x",
    ".deno/secret",
    ".local/share/uv/credentials/x",
    ".local/share/pipx/logs/x",
    ".ssh/id_ed25519",
    ".npmrc",
    ".local/share/keyrings/x",
    ".netrc",
];

/// Entries of `PATH`, as shells set them up.
const PATH: [&str; 14] = [
    ".cargo/bin",
    ".pyenv/shims",
    ".pyenv/bin",
    ".nvm/versions/node/v20/bin",
    ".volta/bin",
    "fnm_multishells/1/bin",
    "sdk/go/bin",
    "go/bin",
    ".sdkman/candidates/java/current/bin",
    ".asdf/shims",
    ".local/share/mise/installs/zig/1/bin",
    ".bun/bin",
    ".deno/bin",
    ".local/bin",
];

impl Yard {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a yard");
        let home = directory.path().join("home");
        for name in WANTED.iter().chain(&CANARIES) {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            fs::write(path, "hunter2").expect("a file");
        }
        symlink("21", home.join(".sdkman/candidates/java/current")).expect("a link");
        fs::create_dir_all(home.join("fnm_multishells")).expect("a directory");
        symlink(
            "../.local/share/fnm/node-versions/v20/installation",
            home.join("fnm_multishells/1"),
        )
        .expect("a link");
        for name in ["project", "git", "upper/a", "upper/b", "base", "outputs", "objects/info"] {
            fs::create_dir_all(directory.path().join(name)).expect("a directory");
        }
        let path = PATH.iter().map(|name| home.join(name)).chain([
            "/usr/local/bin".into(),
            "/usr/bin".into(),
            "/bin".into(),
            "".into(),
            "relative".into(),
        ]);
        Self {
            path: path.collect(),
            directory,
            variables: BTreeMap::new(),
            rules: ToolchainRules::default(),
            denied: Vec::new(),
            extra: Vec::new(),
        }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn home(&self, name: &str) -> PathBuf {
        self.at("home").join(name)
    }

    fn layout(&self) -> Layout {
        Layout {
            project: self.at("project"),
            halves: Halves::Overlay {
                base: self.at("base"),
                upper: self.at("upper/a"),
                work: self.at("upper/b"),
            },
            git_dir: self.at("git"),
            objects: vec![Borrowed {
                host: self.at("objects"),
                inside: "/run/chock/objects/0".into(),
            }],
            hidden: vec!["/run/chock/objects/0/info/alternates".into()],
            read_only: vec![Cover { host: self.at("chock.zon"), name: "chock.zon".into() }],
            shared: Vec::new(),
            owner: None,
            project_git: ProjectGit::Directory,
        }
    }

    fn compile(&self) -> Compiled {
        self.compile_for(&Host {
            home: Some(self.at("home")),
            path: self.path.clone(),
            variables: self.variables.clone(),
            is_root: false,
            uid: 1234,
            gid: 1235,
        })
    }

    fn compile_for(&self, host: &Host) -> Compiled {
        let rules = CageRules {
            limits: Limits::default(),
            filter: Filter::default(),
            denied: self.denied.clone(),
            variables: self.extra.clone(),
            toolchains: self.rules.clone(),
            outputs: self.at("outputs"),
            home: Home::Scratch { bytes: 1 << 20 },
        };
        let compiled = compile(&self.layout(), host, &rules);
        compiled.cage.check().expect("a cage that makes sense");
        compiled
    }
}

/// Says whether a host path can be read in a cage, at its own place.
fn reaches(compiled: &Compiled, path: &Path) -> bool {
    compiled.cage.tree.iter().any(|mount| match mount {
        Mount::Bind { source, target, .. } => source == target && path.starts_with(target),
        _ => false,
    })
}

fn variable<'a>(compiled: &'a Compiled, name: &str) -> Option<&'a str> {
    let found = compiled.environment.iter().find(|(other, _)| other == name);
    found.and_then(|(_, value)| value.to_str())
}

#[test]
fn toolchains_of_the_home_enter_and_what_stands_beside_them_does_not() {
    let yard = Yard::new();
    let compiled = yard.compile();
    for name in WANTED {
        assert!(reaches(&compiled, &yard.home(name)), "{name}: {:?}", compiled.toolchains);
    }
    for name in CANARIES {
        assert!(!reaches(&compiled, &yard.home(name)), "{name}");
    }
    let binds = compiled.cage.tree.iter().filter_map(|mount| match mount {
        Mount::Bind { source, access, .. } => Some((source, *access)),
        _ => None,
    });
    for (source, access) in binds {
        assert!(!yard.at("home").starts_with(source), "{}", source.display());
        let own = source == &yard.at("git");
        assert_eq!(access == Access::ReadWrite, own, "{}", source.display());
    }
    assert_eq!(compiled.notes, Vec::<String>::new());
}

#[test]
fn path_leads_to_what_is_there_and_to_nothing_else() {
    let yard = Yard::new();
    let compiled = yard.compile();
    let path: Vec<_> = std::env::split_paths(variable(&compiled, "PATH").unwrap()).collect();
    for entry in PATH {
        let real = fs::canonicalize(yard.home(entry)).unwrap();
        assert!(path.contains(&real), "{entry}: {path:?}");
    }
    assert_eq!(path[0], yard.home(".cargo/bin"));
    for entry in &path {
        let own = entry.starts_with("/run/chock/home");
        assert!(own || reaches(&compiled, entry), "{}", entry.display());
    }
    assert!(path.contains(&"/run/chock/home/.cargo/bin".into()));
    assert!(path.contains(&"/usr/bin".into()));
    assert!(compiled.shell.ends_with("bash"), "{}", compiled.shell.display());
}

#[test]
fn a_toolchain_that_nothing_leads_to_does_not_enter() {
    let mut yard = Yard::new();
    yard.path = vec!["/usr/bin".into()];
    let compiled = yard.compile();
    assert_eq!(compiled.toolchains, Vec::<String>::new());
    assert!(!compiled.cage.tree.iter().any(|mount| mount.target().starts_with(yard.at("home"))));

    // Its own variable leads to it too.
    yard.variables.insert("PYENV_ROOT".into(), yard.home(".pyenv").into());
    let compiled = yard.compile();
    assert_eq!(compiled.toolchains, ["pyenv"]);
    assert_eq!(variable(&compiled, "PYENV_ROOT"), yard.home(".pyenv").to_str());
    assert!(reaches(&compiled, &yard.home(".pyenv/shims/python3")));
}

#[test]
fn what_the_person_takes_away_stays_outside_and_what_they_add_enters() {
    let mut yard = Yard::new();
    fs::create_dir_all(yard.home("tools/zig/bin")).unwrap();
    yard.rules = ToolchainRules {
        add: vec![yard.home("tools/zig"), yard.at("home"), yard.home("absent"), "/etc".into()],
        remove: vec!["pyenv".into()],
        remove_paths: vec![yard.home(".nvm")],
    };
    yard.path.push(yard.home("tools/zig/bin"));
    yard.path.push(yard.home("unknown/bin"));
    fs::create_dir_all(yard.home("unknown/bin")).unwrap();
    let compiled = yard.compile();
    assert!(reaches(&compiled, &yard.home("tools/zig/lib/x")));
    assert!(!reaches(&compiled, &yard.home(".pyenv/shims/python3")));
    assert!(!reaches(&compiled, &yard.home(".nvm/nvm.sh")));
    for (path, words) in [
        (yard.at("home"), "toolchain"),
        (yard.home("absent"), "No such file"),
        ("/etc".into(), "toolchain"),
        (yard.home("unknown/bin"), "toolchains.add"),
    ] {
        let path = format!("`{}`", path.display());
        let told = compiled.notes.iter().find(|note| note.contains(&path));
        assert!(told.is_some_and(|note| note.contains(words)), "{path}: {:?}", compiled.notes);
    }
    let path = variable(&compiled, "PATH").unwrap();
    assert!(path.contains("tools/zig/bin") && !path.contains("unknown/bin"), "{path}");
    assert!(!path.contains(".pyenv") && !path.contains(".nvm"), "{path}");
}

#[test]
fn the_environment_is_a_list_of_names() {
    let mut yard = Yard::new();
    for (name, value) in [
        ("LANG", "de_DE.UTF-8"),
        ("LC_TIME", "C"),
        ("TZ", "Europe/Paris"),
        ("TERM", "xterm"),
        ("ANTHROPIC_API_KEY", "hunter2"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("HTTPS_PROXY", "http://u:hunter2@proxy:1"),
        ("LD_PRELOAD", "/tmp/evil.so"),
        ("CARGO_HOME", "/elsewhere"),
        ("GIT_DIR", "/x"),
        ("INDEX", "https://u:hunter2@host/simple"),
        ("RUSTUP_TOOLCHAIN", "nightly"),
        ("HOME", "/somewhere/else"),
    ] {
        yard.variables.insert(name.into(), value.into());
    }
    yard.extra = vec!["INDEX".into(), "HOME".into(), "UNSET".into()];
    let compiled = yard.compile();
    let expected = [
        ("ASAN_OPTIONS", Some("detect_leaks=0")),
        ("CARGO_HOME", Some("/run/chock/home/.cargo")),
        ("CARGO_NET_OFFLINE", Some("true")),
        ("CHOCK_SANDBOX", Some("network-off")),
        ("HOME", Some("/run/chock/home")),
        ("INDEX", Some("https://host/simple")),
        ("LANG", Some("de_DE.UTF-8")),
        ("LC_TIME", Some("C")),
        ("RUSTUP_TOOLCHAIN", Some("nightly")),
        ("PIP_RETRIES", Some("1")),
        ("npm_config_fetch_retries", Some("0")),
        ("TERM", Some("xterm")),
        ("TMPDIR", Some("/tmp")),
        ("TZ", Some("Europe/Paris")),
        ("USER", Some("chock")),
        ("ANTHROPIC_API_KEY", None),
        ("SSH_AUTH_SOCK", None),
        ("HTTPS_PROXY", None),
        ("LD_PRELOAD", None),
        ("GIT_DIR", None),
        ("UNSET", None),
    ];
    for (name, value) in expected {
        assert_eq!(variable(&compiled, name), value, "{name}");
    }
    let text = format!("{:?}", compiled.environment);
    assert!(!text.contains("hunter2"), "{text}");
    let names: Vec<_> = compiled.environment.iter().map(|(name, _)| name).collect();
    assert!(names.is_sorted());
    assert!(compiled.notes.iter().any(|note| note.contains("`HOME`")), "{:?}", compiled.notes);
}

#[test]
fn the_workspace_stands_at_the_project_s_path() {
    let mut yard = Yard::new();
    fs::write(yard.at("objects/info/alternates"), "/other").unwrap();
    let covered = |path: &str, kind| Denied { path: path.into(), kind };
    yard.denied = vec![
        covered(".env", CoverKind::File),
        covered("/usr/bin/env", CoverKind::File),
        covered("/home/nobody/absent", CoverKind::Directory),
    ];
    let tree = yard.compile().cage.tree;
    let position = |target: &Path| tree.iter().position(|mount| mount.target() == target);
    let order = [
        yard.at("project"),
        yard.at("project/.git"),
        "/run/chock/objects/0".into(),
        "/run/chock/objects/0/info/alternates".into(),
        yard.at("project/chock.zon"),
        yard.at("project/.env"),
        "/run/chock/outputs".into(),
    ];
    let places: Vec<_> = order.iter().map(|target| position(target)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    assert!(position(Path::new("/usr/bin/env")).is_some());
    assert_eq!(position(Path::new("/home/nobody/absent")), None);
    let etc: Vec<_> = tree.iter().filter(|mount| mount.target().starts_with("/etc")).collect();
    for name in ["shadow", "gitconfig", "npmrc", "pip.conf", "ssl/private", "resolv.conf", "ssh"] {
        let path = Path::new("/etc").join(name);
        assert!(!etc.iter().any(|mount| path.starts_with(mount.target())), "{name}");
    }
    let passwd = etc.iter().find_map(|mount| match mount {
        Mount::Text { target, contents } if target.ends_with("passwd") => Some(contents),
        _ => None,
    });
    let passwd = String::from_utf8(passwd.unwrap().clone()).unwrap();
    assert!(passwd.contains("chock:x:1234:1235:Chock:/run/chock/home:"), "{passwd}");
}

#[test]
fn folders_that_are_links_are_shown_where_they_are_named() {
    let mut yard = Yard::new();
    fs::rename(yard.home(".cargo/bin"), yard.at("cargo-programs")).unwrap();
    symlink(yard.at("cargo-programs"), yard.home(".cargo/bin")).unwrap();
    fs::rename(yard.home(".bun"), yard.at("bun")).unwrap();
    symlink(yard.at("bun"), yard.home(".bun")).unwrap();
    yard.path = vec![yard.home(".cargo/bin"), yard.home(".bun/bin")];
    let compiled = yard.compile();
    let tree = &compiled.cage.tree;
    assert!(tree.iter().any(|mount| matches!(mount, Mount::Bind { source, target, .. }
        if *source == yard.at("cargo-programs") && *target == yard.home(".cargo/bin"))));
    assert!(tree.iter().any(|mount| matches!(mount, Mount::Link { target, to }
        if *target == yard.home(".bun") && *to == yard.at("bun"))));
    assert!(reaches(&compiled, &yard.at("bun/bin/bun")));
    assert!(!reaches(&compiled, &yard.at("bun/install/cache/x")));
    let path: Vec<_> = std::env::split_paths(variable(&compiled, "PATH").unwrap()).collect();
    assert_eq!(path[..2], [yard.home(".cargo/bin"), yard.at("bun/bin")]);
}

#[test]
fn a_home_that_is_no_home_brings_nothing() {
    let yard = Yard::new();
    for home in ["/", "/usr", "relative", ""] {
        let host = Host {
            home: Some(home.into()),
            path: vec!["/".into(), "/home".into(), "/etc".into(), "..".into()],
            variables: BTreeMap::from([
                ("CARGO_HOME".into(), "/".into()),
                ("PYENV_ROOT".into(), "..".into()),
                ("JAVA_HOME".into(), "/usr".into()),
                ("UV_TOOL_DIR".into(), "/".into()),
                ("GOBIN".into(), "/etc".into()),
            ]),
            is_root: false,
            uid: 1,
            gid: 1,
        };
        let compiled = yard.compile_for(&host);
        for path in ["/", "/home", "/etc", "/root", "/var"] {
            assert!(!reaches(&compiled, Path::new(path)), "{home}: {path}");
        }
    }
}
