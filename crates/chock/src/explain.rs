//! Says what a tool call of a project would get: for a person in words, for a program in JSON.

use std::path::Path;

use chock_config::Limit;
use chock_sandbox::{Access, Applied, HOME, Mount};
use chock_tools::cage::Compiled;
use serde_json::{Value, json};

use crate::filter_words::word;
use crate::settings::Settings;
use crate::visible::visible_line;

/// What is said of the tree that no cage names, since every cage has it.
const ALWAYS: [(&str, &str, &str); 4] = [
    ("masked", "/proc", "the call's own processes; settings of the machine are covered"),
    (
        "devices",
        "/dev",
        "null, zero, full, random, urandom, tty; terminals and shm of the call's own",
    ),
    ("writable", "/tmp", "the session's, in memory, kept from call to call"),
    ("writable", HOME, "the home, empty at the session's start"),
];

const NETWORK: &str =
    "none but the session's own loopback: 127.0.0.1 and ::1 reach other calls of the session";

/// A session's cage, to be said in words.
pub(crate) struct CageWords<'a> {
    pub(crate) compiled: &'a Compiled,
    pub(crate) settings: &'a Settings,
    /// The layers that hold for the whole session, as read back.
    pub(crate) layers: &'a [Applied],
}

/// One thing in the tree: how it may be used, where it is, and what else there is to say.
struct Place<'a> {
    access: &'static str,
    path: &'a Path,
    more: String,
}

impl CageWords<'_> {
    /// Says it in lines, in an order that stays.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec!["file tree (nothing else of this machine is there)".to_owned()];
        let always = ALWAYS.map(|(access, path, more)| Place {
            access,
            path: Path::new(path),
            more: more.to_owned(),
        });
        let named = self.compiled.cage.tree.iter().map(place);
        lines.extend(always.into_iter().chain(named).map(|place| place.line()));
        let variables = self.variables().join(" ");
        lines.extend(section("environment (names; nothing else of yours enters)", [variables]));
        lines.extend(section("network", [NETWORK.to_owned()]));
        lines.extend(section(
            "limits",
            self.limits().map(|(name, words)| format!("{name:<15} {words}")),
        ));
        lines.extend(section("rows that change the system call filter", self.filter_rows()));
        lines.extend(section("toolchains", self.compiled.toolchains.iter().cloned()));
        lines.extend(section("left out", self.compiled.notes.iter().cloned()));
        let layer = |applied: &Applied| format!("{:<18} {}", applied.layer.name(), applied.proof);
        lines.extend(section("layers of the session, as read back", self.layers.iter().map(layer)));
        lines.iter().map(|line| visible_line(line)).collect()
    }

    /// Says it as one object.
    pub(crate) fn json(&self) -> Value {
        let always = ALWAYS.map(|(access, path, _)| json!({ "access": access, "path": path }));
        let named = self.compiled.cage.tree.iter().map(|mount| {
            let place = place(mount);
            json!({ "access": place.access, "path": place.path.to_string_lossy() })
        });
        let limits = Limit::ALL.map(|limit| {
            let value = self.settings.effective.limits.get(limit).value;
            (limit.name().to_owned(), Value::from(value))
        });
        let layers = self.layers.iter();
        let layers = layers.map(|it| json!({ "layer": it.layer.name(), "proof": it.proof }));
        json!({
            "tree": always.into_iter().chain(named).collect::<Vec<_>>(),
            "environment": self.variables(),
            "network": "loopback",
            "limits": serde_json::Map::from_iter(limits),
            "toolchains": self.compiled.toolchains,
            "notes": self.compiled.notes,
            "layers": layers.collect::<Vec<_>>(),
        })
    }

    fn variables(&self) -> Vec<String> {
        let names = self.compiled.environment.iter();
        names.map(|(name, _)| name.to_string_lossy().into_owned()).collect()
    }

    fn limits(&self) -> impl Iterator<Item = (String, String)> {
        let rows = self.settings.effective.rows().into_iter();
        rows.filter_map(|row| Some((row.name.strip_prefix("limits.")?.to_owned(), row.value)))
    }

    fn filter_rows(&self) -> [String; 2] {
        let filter = self.compiled.cage.filter;
        [
            format!("sandbox.jit     {}", word(filter.jit)),
            format!("sandbox.debug   {}", word(filter.debug)),
        ]
    }
}

impl Place<'_> {
    fn line(&self) -> String {
        let Self { access, path, more } = self;
        let line = format!("  {access:<10} {}", path.display());
        if more.is_empty() { line } else { format!("{line}  ({more})") }
    }
}

/// Makes a section of lines; nothing of an empty one.
fn section(title: &str, rows: impl IntoIterator<Item = String>) -> Vec<String> {
    let rows: Vec<_> = rows.into_iter().map(|row| format!("  {row}")).collect();
    let title = (!rows.is_empty()).then(|| [String::new(), title.to_owned()]);
    title.into_iter().flatten().chain(rows).collect()
}

fn place(mount: &Mount) -> Place<'_> {
    let path = mount.target();
    let plain = |access| Place { access, path, more: String::new() };
    match mount {
        Mount::Bind { source, target, access, .. } => {
            let access = match access {
                Access::ReadOnly => "read only",
                Access::ReadWrite => "writable",
            };
            let more = match (source == target, access) {
                (false, _) => format!("from {}", source.display()),
                (true, "writable") => "the real one".to_owned(),
                (true, _) => String::new(),
            };
            Place { access, path, more }
        }
        Mount::View { source, target, .. } => {
            let moved = (source != target).then(|| format!("from {}", source.display()));
            Place { access: "read only", path, more: moved.unwrap_or_default() }
        }
        Mount::Overlay { base, .. } => {
            let more = format!("a copy of {}; what changes stays in the session", base.display());
            Place { access: "writable", path, more }
        }
        Mount::Scratch { bytes, .. } => {
            let more = format!("in memory, at most {} MiB", bytes >> 20);
            Place { access: "writable", path, more }
        }
        Mount::Cover { .. } => plain("denied"),
        Mount::Link { to, .. } => {
            Place { access: "link", path, more: format!("to {}", to.display()) }
        }
        Mount::Directory { .. } => plain("empty"),
        Mount::Text { .. } => Place { access: "read only", path, more: "made by Chock".to_owned() },
    }
}
