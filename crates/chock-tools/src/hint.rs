//! Guesses what was meant by a name that is not one.

/// The least likeness of two names that is worth naming, from 0 to 1. With less, `no_such_tool`
/// is answered with a name that has nothing to do with it.
const LIKENESS_MIN: f64 = 0.8;

/// The longest name that is compared, in bytes: the comparison takes the product of lengths.
const COMPARED_BYTES_MAX: usize = 256;

/// Returns the known name most like `name`, if one is like it.
pub(crate) fn nearest<'name>(
    name: &str,
    known: impl Iterator<Item = &'name str>,
) -> Option<&'name str> {
    if name.len() > COMPARED_BYTES_MAX {
        return None;
    }
    let name = name.to_lowercase();
    known
        .map(|known| (strsim::jaro_winkler(&name, known), known))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_names_are_guessed_and_others_are_not() {
        let known = ["read_file", "run_command", "grep"];
        let cases = [
            ("readfile", Some("read_file")),
            ("ReadFile", Some("read_file")),
            ("run_comand", Some("run_command")),
            ("no_such_tool", None),
            ("bash", None),
            ("", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, known.into_iter()), expected, "{name}");
        }
    }
}
