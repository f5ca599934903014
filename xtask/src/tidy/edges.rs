//! Which crate of the house may know which.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::fault::Fault;

/// What may be used by everybody's tests.
const TESTKIT: &str = "chock-testkit";

/// The edges. A new one needs a decision record.
const EDGES: &[(&str, &[&str])] = &[
    ("chock-zon", &[]),
    ("chock-policy", &[]),
    ("chock-config", &["chock-zon", "chock-policy"]),
    ("chock-log", &["chock-policy"]),
    ("chock-sandbox", &["chock-log"]),
    ("chock-workspace", &["chock-log"]),
    ("chock-provider", &["chock-log"]),
    ("chock-auth", &["chock-config"]),
    ("chock-tools", &["chock-log", "chock-sandbox", "chock-workspace"]),
    ("chock-broker", &["chock-policy", "chock-log"]),
    ("chock-agent", &["chock-log", "chock-provider", "chock-tools", "chock-broker"]),
    (
        "chock",
        &[
            "chock-zon",
            "chock-policy",
            "chock-config",
            "chock-log",
            "chock-sandbox",
            "chock-workspace",
            "chock-provider",
            "chock-auth",
            "chock-tools",
            "chock-broker",
            "chock-agent",
        ],
    ),
    (TESTKIT, &["chock-log"]),
    ("xtask", &[]),
];

/// One use of a crate of the house by another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edge {
    /// Who uses.
    pub(super) from: String,
    /// Who is used.
    pub(super) to: String,
    /// Whether only tests, examples and benchmarks use it.
    pub(super) is_for_tests: bool,
}

/// The crates of the house and their edges.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct House {
    /// The crates' names.
    pub(super) crates: BTreeSet<String>,
    /// The edges between them.
    pub(super) edges: Vec<Edge>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

/// Asks cargo for the crates of the workspace at `root` and their dependencies.
pub(super) fn ask_cargo(root: &Path) -> Result<House> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .context("cannot start cargo")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    read(&output.stdout)
}

fn read(metadata: &[u8]) -> Result<House> {
    let metadata: Metadata = serde_json::from_slice(metadata).context("cargo metadata")?;
    let crates: BTreeSet<String> =
        metadata.packages.iter().map(|package| package.name.clone()).collect();
    let mut edges = Vec::new();
    for package in &metadata.packages {
        for dependency in &package.dependencies {
            if crates.contains(&dependency.name) {
                edges.push(Edge {
                    from: package.name.clone(),
                    to: dependency.name.clone(),
                    is_for_tests: dependency.kind.as_deref() == Some("dev"),
                });
            }
        }
    }
    Ok(House { crates, edges })
}

/// Names every edge that the table does not have, and every crate it does not know.
pub(super) fn check(house: &House) -> Vec<Fault> {
    let table: BTreeMap<&str, &[&str]> = EDGES.iter().copied().collect();
    let mut faults = Vec::new();
    for name in &house.crates {
        if !table.contains_key(name.as_str()) {
            faults.push(Fault::of(name, "is not in the edge table of xtask/src/tidy/edges.rs"));
        }
    }
    for edge in &house.edges {
        let is_direct = table.get(edge.from.as_str()).is_some_and(|to| to.contains(&&*edge.to));
        let is_test_edge =
            edge.is_for_tests && (edge.to == TESTKIT || reaches(&table, &edge.from, &edge.to));
        if !is_direct && !is_test_edge {
            let text = format!("may not use {}: the edge is not in the table", edge.to);
            faults.push(Fault::of(&edge.from, text));
        }
    }
    faults
}

/// Says whether `to` lies below `from`, over any number of edges.
fn reaches(table: &BTreeMap<&str, &[&str]>, from: &str, to: &str) -> bool {
    let below = table.get(from).copied().unwrap_or_default();
    below.iter().any(|next| *next == to || reaches(table, next, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn house(from: &str, to: &str, is_for_tests: bool) -> House {
        let edge = Edge { from: from.to_owned(), to: to.to_owned(), is_for_tests };
        House { crates: [from, to].map(ToOwned::to_owned).into(), edges: vec![edge] }
    }

    #[test]
    fn only_the_edges_of_the_table_hold() {
        // (from, to, only for tests, faults)
        let cases = [
            ("chock-broker", "chock-policy", false, 0),
            ("chock-broker", "chock-sandbox", false, 1),
            ("chock-broker", "chock-sandbox", true, 1),
            ("chock-policy", "chock-log", false, 1),
            ("chock-log", TESTKIT, true, 0),
            ("chock-log", TESTKIT, false, 1),
            ("chock-agent", "chock-sandbox", true, 0),
            ("chock-agent", "chock-sandbox", false, 1),
            ("chock-core", "chock-log", false, 2),
        ];
        for (from, to, is_for_tests, expected) in cases {
            let faults = check(&house(from, to, is_for_tests));
            assert_eq!(faults.len(), expected, "{from} -> {to}: {faults:?}");
        }
    }

    #[test]
    fn the_table_is_all_downhill() {
        let mut above = BTreeSet::new();
        for (name, below) in EDGES {
            assert!(below.iter().all(|to| above.contains(to)), "{name} uses one further down");
            above.insert(*name);
        }
    }

    #[test]
    fn cargo_is_read() {
        let text = br#"{"packages": [
            {"name": "a", "dependencies": [
                {"name": "b", "kind": null}, {"name": "b", "kind": "dev"}, {"name": "serde", "kind": null}]},
            {"name": "b", "dependencies": []}]}"#;
        let read = read(text).expect("the sample is metadata");
        let kinds: Vec<bool> = read.edges.iter().map(|edge| edge.is_for_tests).collect();
        assert_eq!(kinds, [false, true]);
    }
}
