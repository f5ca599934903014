//! What a crate's root file may hold, and how modules are laid out.

use super::fault::Fault;
use super::rust::ItemKind;
use super::tree::Tree;

/// Names every `mod.rs`, and every item in a `lib.rs` that is not a module or a re-export.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (path, code) in tree.rust() {
        if path.ends_with("/mod.rs") {
            faults.push(Fault::of(path, "name the file after its module, beside its directory"));
        }
        if !path.ends_with("/src/lib.rs") {
            continue;
        }
        for (kind, line) in &code.items {
            match kind {
                ItemKind::Module | ItemKind::Use | ItemKind::Test => {}
                ItemKind::Other => {
                    let text = "`lib.rs` holds the header, modules and re-exports only";
                    faults.push(Fault::at(path, *line, text));
                }
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(path: &str, text: &str) -> usize {
        check(&Tree::from_texts(&[(path, text)])).len()
    }

    #[test]
    fn a_root_holds_modules_and_uses_only() {
        let path = "crates/x/src/lib.rs";
        assert_eq!(check_text(path, "mod a;\n#[cfg(unix)]\nuse a as b;\npub use a::C;"), 0);
        assert_eq!(check_text(path, "mod a {}"), 1);
        assert_eq!(check_text(path, "pub fn a() {}"), 1);
        assert_eq!(check_text("crates/x/src/a.rs", "pub fn a() {}"), 0);
    }

    #[test]
    fn a_mod_file_is_named() {
        assert_eq!(check_text("crates/x/src/a/mod.rs", ""), 1);
    }
}
