//! Toolchains that live in the home: which there are, and which parts of them enter.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use chock_sandbox::{Access, Mount};

use super::prefix::{self, Prefix};
use super::{Host, ToolchainRules, bind, owners};

/// One toolchain that is looked for.
///
/// It enters by listed parts, which hold programs and libraries and nothing else: what lies
/// beside them (`credentials.toml`, caches, configuration) does not.
#[derive(Debug)]
struct Row {
    name: &'static str,
    /// The variable that says where it is.
    variable: Option<&'static str>,
    /// Where it is looked for in the home otherwise, the first that is there.
    places: &'static [&'static str],
    /// A part that tells it from another folder of the same name; empty for none.
    mark: &'static str,
    /// The parts that enter. An empty name is all of it.
    parts: &'static [&'static str],
    /// Whether a command is told by `variable` where it is.
    told: Told,
    /// A toolchain that it always comes with, though no entry of `PATH` leads to it.
    follows: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Yes,
    No,
}

const ROWS: [Row; 19] = [
    row("cargo", Some("CARGO_HOME"), &[".cargo"], &["bin"]),
    Row {
        told: Told::Yes,
        follows: Some("cargo"),
        ..row(
            "rustup",
            Some("RUSTUP_HOME"),
            &[".rustup"],
            &["settings.toml", "toolchains", "update-hashes"],
        )
    },
    Row {
        told: Told::Yes,
        ..row(
            "pyenv",
            Some("PYENV_ROOT"),
            &[".pyenv"],
            &[
                "bin",
                "completions",
                "libexec",
                "plugins",
                "pyenv.d",
                "shims",
                "version",
                "versions",
            ],
        )
    },
    Row {
        told: Told::Yes,
        ..row(
            "nvm",
            Some("NVM_DIR"),
            &[".nvm", ".config/nvm"],
            &["alias", "bash_completion", "nvm-exec", "nvm.sh", "versions"],
        )
    },
    Row {
        told: Told::Yes,
        ..row("volta", Some("VOLTA_HOME"), &[".volta"], &["bin", "layout.v3", "layout.v4", "tools"])
    },
    row(
        "fnm",
        Some("FNM_DIR"),
        &[".local/share/fnm", ".fnm"],
        &["aliases", "fnm", "node-versions"],
    ),
    Row {
        mark: "src/runtime",
        ..row(
            "go",
            Some("GOROOT"),
            &["go", ".go", "sdk/go", ".local/go"],
            &["VERSION", "api", "bin", "doc", "go.env", "lib", "misc", "pkg", "src", "test"],
        )
    },
    row("go programs", Some("GOBIN"), &["go/bin"], &[""]),
    Row {
        told: Told::Yes,
        ..row("sdkman", Some("SDKMAN_DIR"), &[".sdkman"], &["bin", "candidates", "src"])
    },
    Row {
        mark: "bin/java",
        told: Told::Yes,
        ..row(
            "jdk",
            Some("JAVA_HOME"),
            &[],
            &["bin", "conf", "include", "jmods", "jre", "legal", "lib", "release"],
        )
    },
    Row {
        told: Told::Yes,
        ..row(
            "asdf",
            Some("ASDF_DATA_DIR"),
            &[".asdf"],
            &["asdf.sh", "bin", "installs", "internal", "lib", "libexec", "plugins", "shims"],
        )
    },
    Row {
        told: Told::Yes,
        ..row(
            "mise",
            Some("MISE_DATA_DIR"),
            &[".local/share/mise"],
            &["installs", "plugins", "shims"],
        )
    },
    row("bun", Some("BUN_INSTALL"), &[".bun"], &["bin", "install/global/node_modules"]),
    row("deno", Some("DENO_INSTALL"), &[".deno"], &["bin"]),
    row("local programs", None, &[".local/bin"], &[""]),
    Row {
        told: Told::Yes,
        follows: Some("local programs"),
        ..row("uv python", Some("UV_PYTHON_INSTALL_DIR"), &[".local/share/uv/python"], &[""])
    },
    Row {
        follows: Some("local programs"),
        ..row("uv tools", Some("UV_TOOL_DIR"), &[".local/share/uv/tools"], &[""])
    },
    Row {
        follows: Some("local programs"),
        ..row(
            "pipx",
            Some("PIPX_HOME"),
            &[".local/share/pipx", ".local/pipx"],
            &["py", "shared", "venvs"],
        )
    },
    row(
        "linuxbrew",
        Some("HOMEBREW_PREFIX"),
        &[".linuxbrew"],
        &["Cellar", "bin", "lib", "libexec", "opt", "sbin", "share"],
    ),
];

const fn row(
    name: &'static str,
    variable: Option<&'static str>,
    places: &'static [&'static str],
    parts: &'static [&'static str],
) -> Row {
    Row { name, variable, places, mark: "", parts, told: Told::No, follows: None }
}

/// Variables of toolchains that choose a version; they enter as they are.
pub(super) const CHOICES: [&str; 4] =
    ["GOTOOLCHAIN", "PYENV_VERSION", "RUSTUP_TOOLCHAIN", "UV_PYTHON"];

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) mounts: Vec<Mount>,
    pub(super) variables: Vec<(OsString, OsString)>,
    pub(super) names: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Finds the toolchains that the person's `PATH` and variables lead to.
pub(super) fn find(project: &Path, host: &Host, rules: &ToolchainRules) -> Found {
    let mut search = Search { project, host, rules, found: Found::default(), shown: Vec::new() };
    for row in &ROWS {
        search.row(row);
    }
    for entry in &host.path {
        search.entry(entry);
    }
    for directory in &rules.add {
        search.added(directory);
    }
    search.found
}

struct Search<'a> {
    project: &'a Path,
    host: &'a Host,
    rules: &'a ToolchainRules,
    found: Found,
    /// What is bound so far.
    shown: Vec<PathBuf>,
}

impl Search<'_> {
    fn row(&mut self, row: &Row) {
        if self.rules.remove.iter().any(|name| name == row.name) {
            return;
        }
        let Some(named) = self.root(row) else { return };
        let Ok(root) = fs::canonicalize(&named) else { return };
        if !self.is_led_to(row, &named, &root) || !root.join(row.mark).exists() {
            return;
        }
        let mut entered = root.starts_with("/usr");
        for part in row.parts {
            entered |= self.show(&root.join(part));
        }
        if !entered {
            return;
        }
        if named != root && !self.is_shown(&named) {
            self.found.mounts.push(Mount::Link { target: named, to: root.clone() });
        }
        if let (Told::Yes, Some(variable)) = (row.told, row.variable) {
            self.found.variables.push((variable.into(), root.into_os_string()));
        }
        self.found.names.push(row.name.to_owned());
    }

    /// Returns where a toolchain would be, by the person's word for it.
    fn root(&self, row: &Row) -> Option<PathBuf> {
        let said =
            row.variable.and_then(|name| self.host.variables.get(OsString::from(name).as_os_str()));
        if let Some(said) = said {
            let said = PathBuf::from(said);
            return said.is_absolute().then_some(said);
        }
        let home = self.host.home.as_deref().filter(|home| home.is_absolute())?;
        let mut places = row.places.iter().map(|place| home.join(place));
        places.find(|place| place.join(row.mark).exists())
    }

    fn is_led_to(&self, row: &Row, named: &Path, root: &Path) -> bool {
        let said = row
            .variable
            .is_some_and(|name| self.host.variables.contains_key(OsString::from(name).as_os_str()));
        let follows =
            row.follows.is_some_and(|name| self.found.names.iter().any(|other| other == name));
        let leads = |entry: &PathBuf| {
            let real = fs::canonicalize(entry);
            entry.starts_with(named)
                || entry.starts_with(root)
                || real.is_ok_and(|real| real.starts_with(root))
        };
        said || follows || self.host.path.iter().any(leads)
    }

    /// Looks at an entry of `PATH` that no row explains.
    fn entry(&mut self, named: &Path) {
        if !named.is_absolute() || named.starts_with(self.project) {
            return;
        }
        let Ok(entry) = fs::canonicalize(named) else { return };
        if self.is_shown(&entry) || is_of_system(&entry) || entry.starts_with(self.project) {
            return;
        }
        match prefix::of(&entry) {
            Prefix::Package { root, parts } => {
                for part in parts {
                    self.show(&root.join(part));
                }
            }
            Prefix::Alone => {
                self.show(&entry);
            }
            Prefix::Unknown => self.found.notes.push(format!(
                "`{}` of PATH is not in the sandbox: `toolchains.add` in config.zon lets a \
                 folder of programs in",
                named.display()
            )),
        }
    }

    fn added(&mut self, directory: &Path) {
        match fs::canonicalize(directory) {
            Ok(real) if real.is_dir() && !is_too_much(&real, self.host) => {
                if !self.show(&real) && !self.is_shown(&real) {
                    self.left_out(directory, "it is in the project, or was taken away");
                } else if real != directory && !self.is_shown(directory) {
                    let target = directory.to_owned();
                    self.found.mounts.push(Mount::Link { target, to: real });
                }
            }
            Ok(_) => self.left_out(directory, "it is no directory of its own kind"),
            Err(error) => self.left_out(directory, &error.to_string()),
        }
    }

    fn left_out(&mut self, directory: &Path, why: &str) {
        let text = format!("toolchain `{}` is not in the sandbox: {why}", directory.display());
        self.found.notes.push(text);
    }

    /// Binds a part, unless it is there already; says whether it is there afterwards.
    fn show(&mut self, path: &Path) -> bool {
        let path = trimmed(path);
        let Ok(real) = fs::canonicalize(&path) else { return false };
        if self.is_shown(&path) {
            return true;
        }
        let removed = self.rules.remove_paths.iter().any(|gone| path.starts_with(gone));
        let plain = fs::metadata(&real).is_ok_and(|kind| kind.is_dir() || kind.is_file());
        if removed || !plain || path.starts_with(self.project) || is_of_system(&path) {
            return false;
        }
        if is_too_much(&real, self.host) {
            return false;
        }
        self.found.mounts.push(bind(&real, &path, Access::ReadOnly, owners(self.host, &real)));
        self.shown.push(path);
        true
    }

    fn is_shown(&self, path: &Path) -> bool {
        self.shown.iter().any(|shown| path.starts_with(shown))
    }
}

/// Takes the slash off that joining an empty part leaves.
fn trimmed(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Says whether the system's part of the tree shows a path.
fn is_of_system(path: &Path) -> bool {
    let roots = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
    roots.iter().any(|root| path.starts_with(root))
}

/// Says whether a folder holds far more than programs: a home, or a folder of the system.
fn is_too_much(path: &Path, host: &Host) -> bool {
    let home = host.home.as_ref().and_then(|home| fs::canonicalize(home).ok());
    let beneath = ["/proc", "/sys", "/dev", "/run", "/etc", "/var", "/boot"];
    let exactly = ["/", "/home", "/root", "/tmp", "/opt", "/srv", "/mnt", "/media"];
    home.is_some_and(|home| home.starts_with(path))
        || beneath.iter().any(|folder| path.starts_with(folder))
        || exactly.iter().any(|folder| path == Path::new(folder))
}
