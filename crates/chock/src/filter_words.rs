//! What is said of the two rows that change the filter of system calls.

use chock_tools::cage::{Filter, Grant};

/// Says which rows are in force, as the log and `chock doctor` have them.
pub(crate) fn rows(filter: Filter) -> [String; 2] {
    let Filter { jit, debug } = filter;
    [format!("sandbox.jit: {}", word(jit)), format!("sandbox.debug: {}", word(debug))]
}

/// Returns the word for a row's value.
pub(crate) fn word(grant: Grant) -> &'static str {
    match grant {
        Grant::Allow => "allow",
        Grant::Deny => "deny",
    }
}

/// Tells a person of each row that is not as it ships.
pub(crate) fn unusual(filter: Filter) -> Vec<&'static str> {
    let mut words = Vec::new();
    if filter.jit == Grant::Deny {
        words.push(
            "sandbox.jit is deny: no memory is writable and executable, so Node, Java and the \
             like do not run",
        );
    }
    if filter.debug == Grant::Allow {
        words.push(
            "sandbox.debug is allow: a program can trace the processes of its own call, with \
             ptrace and process_vm_readv",
        );
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_as_shipped_is_told() {
        let shipped = Filter::default();
        assert_eq!(unusual(shipped), [""; 0]);
        assert_eq!(rows(shipped), ["sandbox.jit: allow", "sandbox.debug: deny"]);
        let turned = Filter { jit: Grant::Deny, debug: Grant::Allow };
        assert_eq!(unusual(turned).len(), 2);
        assert_eq!(rows(turned), ["sandbox.jit: deny", "sandbox.debug: allow"]);
    }
}
