//! The peers that rows are compared with, as the distribution ships them.

use std::process::Command;

use anyhow::{Result, ensure};

/// Names a program's package when the program is not on `PATH`.
pub(super) fn need(program: &str, package: &str) -> Result<()> {
    let is_here = Command::new(program).arg("--version").output().is_ok();
    ensure!(is_here, "{program} is not here: install the package {package}");
    Ok(())
}

/// Returns bubblewrap running `true` with all namespaces and a minimal root.
pub(super) fn bubblewrap() -> Result<Command> {
    need("bwrap", "bubblewrap")?;
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--clearenv"]);
    command.args(["--cap-drop", "ALL", "--ro-bind", "/usr", "/usr"]);
    for name in ["bin", "lib", "lib64", "sbin"] {
        command.args(["--symlink", &format!("usr/{name}"), &format!("/{name}")]);
    }
    command.args(["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]);
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/workspace"]);
    command.args(["--chdir", "/workspace", "/usr/bin/true"]);
    Ok(command)
}
