//! What the rows stand on: the built program, scratch directories, generated projects.

use std::cell::OnceCell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use tempfile::TempDir;

use super::files;

/// How many files the large project has (`reference`: 85 MB in 20,000 files).
const LARGE_FILES: usize = 20_000;

/// How many files the huge project has.
const HUGE_FILES: usize = 100_000;

/// The ground of one run of the benchmarks.
pub(super) struct Ground {
    /// The project's root.
    pub(super) root: PathBuf,
    scratch: TempDir,
    target: PathBuf,
    large: OnceCell<PathBuf>,
    huge: OnceCell<PathBuf>,
    small: OnceCell<PathBuf>,
}

#[derive(Deserialize)]
struct Metadata {
    target_directory: PathBuf,
}

impl Ground {
    /// Builds Chock for release and makes a scratch directory.
    pub(super) fn prepare(root: &Path) -> Result<Self> {
        let target = target_directory(root)?;
        build(root, &["--package", "chock"])?;
        // Not below /tmp: a session has a /tmp of its own.
        let scratch = tempfile::Builder::new()
            .prefix("chock-bench-")
            .tempdir_in("/var/tmp")
            .context("cannot make a directory in /var/tmp")?;
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755))?;
        Ok(Self {
            root: root.to_owned(),
            scratch,
            target,
            large: OnceCell::new(),
            huge: OnceCell::new(),
            small: OnceCell::new(),
        })
    }

    /// Returns a fresh directory.
    pub(super) fn directory(&self, name: &str) -> Result<PathBuf> {
        let path = self.scratch.path().join(name);
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    /// Returns the built program.
    pub(super) fn program(&self) -> PathBuf {
        self.target.join("release/chock")
    }

    /// Returns a command that runs the built program with a home of its own and nothing else.
    pub(super) fn chock(&self) -> Result<Command> {
        let home = self.directory("home")?;
        let mut command = Command::new(self.program());
        command.env_clear().env("HOME", &home).env("LANG", "C.UTF-8");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        for (name, below) in [
            ("STATE", ".local/state"),
            ("CONFIG", ".config"),
            ("CACHE", ".cache"),
            ("DATA", ".local/share"),
        ] {
            command.env(format!("XDG_{name}_HOME"), home.join(below));
        }
        Ok(command)
    }

    /// Builds an example of a crate for release and returns its path.
    pub(super) fn example(&self, package: &str, name: &str) -> Result<PathBuf> {
        let source = format!("crates/{package}/examples/{name}.rs");
        ensure!(self.root.join(&source).exists(), "{source} is not written yet");
        build(&self.root, &["--package", package, "--example", name])?;
        Ok(self.target.join("release/examples").join(name))
    }

    /// Returns a git project of 20,000 files, made once.
    pub(super) fn large(&self) -> Result<&Path> {
        self.project(&self.large, "large", LARGE_FILES)
    }

    /// Returns a git project of 100,000 files, made once.
    pub(super) fn huge(&self) -> Result<&Path> {
        self.project(&self.huge, "huge", HUGE_FILES)
    }

    /// Returns a git project of a few files, made once.
    pub(super) fn small(&self) -> Result<&Path> {
        self.project(&self.small, "small", 10)
    }

    fn project<'a>(
        &self,
        cell: &'a OnceCell<PathBuf>,
        name: &str,
        count: usize,
    ) -> Result<&'a Path> {
        if cell.get().is_none() {
            let path = self.directory(name)?;
            files::git_project(&path, count)?;
            cell.set(path).ok();
        }
        Ok(cell.get().expect("invariant: it was set above"))
    }
}

fn build(root: &Path, what: &[&str]) -> Result<()> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release"])
        .args(what)
        .current_dir(root)
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("cargo build --release {}: {status}", what.join(" "));
    }
    Ok(())
}

fn target_directory(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cannot start cargo")?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(metadata.target_directory)
}
