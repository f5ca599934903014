//! The head of a `SKILL.md`: lines of `key: value` between two lines `---`.

use super::SkillFault;

/// The longest description, in characters. Source: the format of skills.
pub(super) const DESCRIPTION_LETTERS_MAX: usize = 1024;

/// The longest line on what a skill needs, in characters. Source: as above.
pub(super) const COMPATIBILITY_LETTERS_MAX: usize = 500;

/// The longest name, in characters. Source: as above.
const NAME_LETTERS_MAX: usize = 64;

/// What a head says. Keys that are not known, what a skill would like to be allowed among them,
/// say nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) compatibility: Option<String>,
}

/// Reads the head, and returns what stands behind it.
pub(super) fn read(content: &str) -> Result<(Head, &str), SkillFault> {
    let content = content.trim_start_matches('\u{feff}').trim_start_matches(['\r', '\n']);
    let Some((_, mut rest)) = content.split_once('\n').filter(|(line, _)| is_fence(line)) else {
        return Err(SkillFault::NoFrontmatter);
    };
    let mut lines = Vec::new();
    loop {
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        if is_fence(line) {
            return Ok((head(&lines)?, behind));
        }
        if behind.is_empty() {
            return Err(SkillFault::FrontmatterNotClosed);
        }
        lines.push(line.trim_end());
        rest = behind;
    }
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

fn head(lines: &[&str]) -> Result<Head, SkillFault> {
    let mut head = Head::default();
    for (at, line) in lines.iter().enumerate() {
        // What is indented belongs to the key above it.
        let Some((key, value)) = line.split_once(':').filter(|_| !line.starts_with([' ', '\t']))
        else {
            continue;
        };
        let value = value_of(value.trim(), &lines[at + 1..]);
        match key.trim_end() {
            "name" => head.name = value,
            "description" => head.description = value,
            "compatibility" => head.compatibility = Some(value).filter(|value| !value.is_empty()),
            _ => {}
        }
    }
    check(&head)?;
    Ok(head)
}

/// Returns the value of a key: the rest of its line, without quotes around it, or the indented
/// lines below it, joined, where the line says so.
fn value_of(value: &str, below: &[&str]) -> String {
    if matches!(value, ">" | ">-" | ">+" | "|" | "|-" | "|+") {
        let indented =
            below.iter().take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
        let words = indented.map(|line| line.trim()).filter(|line| !line.is_empty());
        return words.collect::<Vec<_>>().join(" ");
    }
    for quote in ['"', '\''] {
        let inner = value.strip_prefix(quote).and_then(|value| value.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner.to_owned();
        }
    }
    value.to_owned()
}

fn check(head: &Head) -> Result<(), SkillFault> {
    let Head { name, description, compatibility } = head;
    if name.is_empty() {
        return Err(SkillFault::NameMissing);
    }
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_letter);
    if name.len() > NAME_LETTERS_MAX || !name.split('-').all(is_word) {
        return Err(SkillFault::NameNotTheShape);
    }
    if description.trim().is_empty() {
        return Err(SkillFault::DescriptionMissing);
    }
    if description.chars().count() > DESCRIPTION_LETTERS_MAX {
        return Err(SkillFault::DescriptionTooLong);
    }
    let needs = compatibility.as_deref().unwrap_or_default();
    if needs.chars().count() > COMPATIBILITY_LETTERS_MAX {
        return Err(SkillFault::CompatibilityTooLong);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_read_as_people_write_them() {
        let head = |name: &str, description: &str, needs: Option<&str>| Head {
            name: name.into(),
            description: description.into(),
            compatibility: needs.map(str::to_owned),
        };
        let cases = [
            ("---\nname: a\ndescription: x: y\n---\nbody\n", head("a", "x: y", None), "body\n"),
            (
                "\n\n---\r\nname: 'a-b2'\r\ndescription: \"it's\"\r\n---\r\nbody",
                head("a-b2", "it's", None),
                "body",
            ),
            (
                "---\nname: a\nlicense: MIT\nmetadata:\n  name: b\n  description: no\nallowed-tools:\n  - x\ndescription: >-\n  one\n\n  two\ncompatibility: git 2\n---\n",
                head("a", "one two", Some("git 2")),
                "",
            ),
            ("---\nname: b\nname: a\ndescription: x\n---", head("a", "x", None), ""),
        ];
        for (content, expected, rest) in cases {
            assert_eq!(read(content), Ok((expected, rest)), "{content:?}");
        }
    }

    #[test]
    fn heads_that_are_none_are_refused() {
        let with = |name: &str, description: &str| {
            format!("---\nname: {name}\ndescription: {description}\n---\n")
        };
        let (long, longer) = ("x".repeat(65), "x".repeat(1025));
        let needs = format!("---\nname: a\ndescription: x\ncompatibility: {longer}\n---\n");
        let cases = [
            ("".to_owned(), SkillFault::NoFrontmatter),
            ("name: a\n---\n".to_owned(), SkillFault::NoFrontmatter),
            ("---\nname: a\n".to_owned(), SkillFault::FrontmatterNotClosed),
            ("---\nname: a\n--- \nx".replace("--- ", "----"), SkillFault::FrontmatterNotClosed),
            ("---\ndescription: x\n---\n".to_owned(), SkillFault::NameMissing),
            (with("A", "x"), SkillFault::NameNotTheShape),
            (with("a--b", "x"), SkillFault::NameNotTheShape),
            (with("-a", "x"), SkillFault::NameNotTheShape),
            (with("../a", "x"), SkillFault::NameNotTheShape),
            (with(&long, "x"), SkillFault::NameNotTheShape),
            (with("a", ""), SkillFault::DescriptionMissing),
            (with("a", &longer), SkillFault::DescriptionTooLong),
            (needs, SkillFault::CompatibilityTooLong),
        ];
        for (content, expected) in cases {
            assert_eq!(read(&content), Err(expected), "{content:?}");
        }
    }
}
