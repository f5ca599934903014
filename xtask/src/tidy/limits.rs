//! How long a file and a function may be.

use super::exceptions::{self, Exceptions, Subject};
use super::fault::Fault;
use super::rust::Code;
use super::tree::Tree;

/// The most lines of a file, its tests left out (style: "limit 600 without tests").
const FILE_LINES_MAX: usize = 600;

/// The most lines of a file that is a test as a whole.
const TEST_FILE_LINES_MAX: usize = 1000;

/// The most lines of a function: it fits a screen.
const FUNCTION_LINES_MAX: usize = 70;

/// The most lines of a test: it may hold a table of cases.
const TEST_FUNCTION_LINES_MAX: usize = 150;

/// Names every file and function over its limit that has no exception.
pub(super) fn check(tree: &Tree) -> Vec<Fault> {
    let mut exceptions = Exceptions::read(tree);
    let mut faults: Vec<Fault> = exceptions::check_count(tree).into_iter().collect();
    for (path, code) in tree.rust() {
        faults.extend(file(path, code, &mut exceptions));
        faults.extend(functions(path, code, &mut exceptions));
    }
    faults.extend(exceptions.finish());
    faults
}

fn file(path: &str, code: &Code, exceptions: &mut Exceptions) -> Option<Fault> {
    let limit = if code.is_test { TEST_FILE_LINES_MAX } else { FILE_LINES_MAX };
    let lines = code.shipped_lines();
    let subject = Subject::Lines { path: path.to_owned() };
    if lines <= limit || exceptions.allow(&subject, lines) {
        return None;
    }
    Some(Fault::of(path, format!("{lines} lines, and {limit} is the limit: split it by noun")))
}

fn functions(path: &str, code: &Code, exceptions: &mut Exceptions) -> Vec<Fault> {
    let mut faults = Vec::new();
    for function in &code.functions {
        let subject = Subject::Function { path: path.to_owned(), name: function.name.clone() };
        let lines = function.lines;
        let is_test = code.is_test_line(function.line);
        let limit = if is_test { TEST_FUNCTION_LINES_MAX } else { FUNCTION_LINES_MAX };
        if lines > limit && !exceptions.allow(&subject, lines) {
            let name = &function.name;
            let text = format!("`{name}` has {lines} lines, and {limit} is the limit");
            faults.push(Fault::at(path, function.line, text));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/x/src/a.rs";

    fn check_text(path: &str, text: &str) -> usize {
        check(&Tree::from_texts(&[(path, text)])).len()
    }

    fn lines(count: usize) -> String {
        "// line\n".repeat(count)
    }

    #[test]
    fn a_file_over_the_limit_is_named() {
        assert_eq!(check_text(PATH, &lines(600)), 0);
        assert_eq!(check_text(PATH, &lines(601)), 1);
        assert_eq!(check_text("crates/x/tests/a.rs", &lines(1000)), 0);
        assert_eq!(check_text("crates/x/tests/a.rs", &lines(1001)), 1);
    }

    #[test]
    fn tests_beside_the_code_are_left_out() {
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", lines(300));
        assert_eq!(check_text(PATH, &format!("{}{tests}", lines(600))), 0);
    }

    #[test]
    fn a_function_over_the_limit_is_named() {
        let function = |body: usize| format!("fn a() {{\n{}}}\n", lines(body));
        assert_eq!(check_text(PATH, &function(68)), 0);
        assert_eq!(check_text(PATH, &function(69)), 1);
        assert_eq!(check_text("crates/x/tests/a.rs", &function(148)), 0);
        assert_eq!(check_text("crates/x/tests/a.rs", &function(149)), 1);
    }

    #[test]
    fn an_exception_lets_one_function_through() {
        let text = format!("fn a() {{\n{}}}\n", lines(80));
        let list = format!("function {PATH} a 82\n");
        let faults = check(&Tree::from_texts(&[(PATH, &text), (exceptions::LIST, &list)]));
        let is_count = |fault: &&Fault| fault.to_string().contains("EXCEPTIONS_MAX");
        assert!(faults.iter().all(|fault| is_count(&fault)), "{faults:?}");
    }
}
