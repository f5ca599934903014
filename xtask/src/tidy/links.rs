//! Links between pages lead somewhere.

use super::fault::Fault;
use super::tree::Tree;

/// Names every relative link of a page whose file is not tracked.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (index, line) in text.lines().enumerate() {
            let broken = targets(line).filter(|target| !leads_somewhere(tree, path, target));
            faults.extend(broken.map(|target| {
                Fault::at(path, index + 1, format!("the link to `{target}` leads nowhere"))
            }));
        }
    }
    faults
}

/// Returns the target of each `[words](target)` of a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

fn leads_somewhere(tree: &Tree, page: &str, target: &str) -> bool {
    let file = target.split('#').next().unwrap_or_default();
    if file.is_empty() || file.contains("://") || file.starts_with("mailto:") {
        return true;
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." | "" => {}
            ".." if parts.pop().is_none() => return false,
            ".." => {}
            name => parts.push(name),
        }
    }
    let path = parts.join("/");
    tree.has(&path) || tree.files.iter().any(|one| one.path.starts_with(&format!("{path}/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_tracked_file() {
        let cases = [
            ("docs/a.md", "[b](b.md) and [c](../c.md#part)", 0),
            ("docs/a.md", "[b](c.md)", 1),
            ("docs/a.md", "[b](../../c.md)", 1),
            ("c.md", "[b](docs/b.md) [all](docs/) [web](https://example.com/x) [here](#part)", 0),
            ("c.md", "[b](b.md), [d](docs/d.md)", 2),
        ];
        for (path, text, expected) in cases {
            let texts = [("docs/b.md", ""), ("c.md", ""), (path, text)];
            let faults = check(&Tree::from_texts(&texts));
            assert_eq!(faults.len(), expected, "{path}: {text}: {faults:?}");
        }
    }
}
