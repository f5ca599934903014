//! No tracked file names a place of the machine it was written on.

use std::sync::LazyLock;

use regex::Regex;

use super::fault::Fault;
use super::tree::Tree;

/// Directory names below `/home` that stand for anybody, as one letter does.
const ANYBODY: &[&str] = &["me", "you", "user", "someone", "somebody", "nobody", "alice", "bob"];

/// Places that exist on one machine only. The pieces are joined so that this file passes.
static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    let places = [
        concat!("/wo", "rk/"),
        concat!("/fa", "rm/"),
        concat!("/ro", r"ot/\.(?:cache|cargo|config|local|pyenv|rustup)\b"),
        concat!("/tmp/", "target-"),
        concat!("/tmp/", "team/"),
        concat!("/ho", "me/(?<name>[A-Za-z0-9_-]+)"),
        concat!("/Use", "rs/(?<mac>[A-Za-z0-9_-]+)"),
    ];
    let any = format!(r"(?:^|[^A-Za-z0-9._/}}-])(?<place>{})", places.join("|"));
    Regex::new(&any).expect("invariant: the places are one valid expression")
});

/// Names every line that holds such a place.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.texts() {
        for (index, line) in text.lines().enumerate() {
            if let Some(place) = place(line) {
                let text = format!("`{place}` is a path of one machine");
                faults.push(Fault::at(path, index + 1, text));
            }
        }
    }
    faults
}

fn place(line: &str) -> Option<&str> {
    PLACES.captures_iter(line).find_map(|found| {
        let name = found.name("name").or_else(|| found.name("mac"));
        let is_anybody =
            name.is_some_and(|name| name.len() == 1 || ANYBODY.contains(&name.as_str()));
        found.name("place").filter(|_| !is_anybody).map(|place| place.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_one_machine_is_found() {
        let cases = [
            (concat!("cd /wo", "rk/main"), true),
            (concat!("(/ro", "ot/.cargo/bin)"), true),
            (concat!("/ho", "me/cloudsdk/x"), true),
            (concat!("\"/Use", "rs/jane/x\""), true),
            (concat!("CARGO_TARGET_DIR=/tmp/", "target-a"), true),
            ("/home/me/project", false),
            ("/home/me and /home/you", false),
            ("the net/work/shop", false),
            ("a file under /root or /home", false),
            ("/root/.ssh/id_ed25519", false),
        ];
        for (line, expected) in cases {
            let faults = check(&Tree::from_texts(&[("docs/a.md", line)]));
            assert_eq!(faults.len(), usize::from(expected), "{line}");
        }
    }
}
