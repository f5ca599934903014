//! The house rules: each is a pure function from the tracked files to its faults.

mod doors;
mod edges;
mod exceptions;
mod fault;
mod headers;
mod limits;
mod links;
mod machine;
mod names;
mod roots;
mod rust;
mod secrets;
mod status;
mod tree;
mod words;

use std::path::Path;

use anyhow::Result;

use fault::Fault;
use tree::Tree;

/// Every rule over the tracked files, in the order its faults are printed.
const RULES: &[fn(&Tree) -> Vec<Fault>] = &[
    limits::check,
    doors::check,
    headers::check,
    roots::check,
    names::check,
    machine::check,
    secrets::check,
    status::check,
    links::check,
    words::check,
];

/// Reads the house at `root` and returns one line a fault.
///
/// # Errors
///
/// Git or cargo could not be asked, or a tracked file could not be read.
pub(crate) fn run(root: &Path) -> Result<Vec<String>> {
    let tree = Tree::read(root)?;
    let mut faults = tree.unreadable();
    faults.extend(edges::check(&edges::ask_cargo(root)?));
    faults.extend(RULES.iter().flat_map(|rule| rule(&tree)));
    Ok(faults.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask has a parent");
        let faults = run(root).expect("the house can be read");
        assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    }
}
