//! What a person is shown of an act before it is done.

use crate::names::count;

/// The most bytes of a file's content that an effect shows; a person reads no more.
const EFFECT_BYTES_MAX: usize = 16 * 1024;

/// Shows a headline and the lines of texts, each with its mark, as a diff does.
///
/// The texts are the agent's words: whoever draws them takes care of control characters.
pub(crate) fn effect(head: &str, texts: &[(char, &str)]) -> String {
    let mut effect = head.to_owned();
    let mut left = 0;
    let most = head.len() + EFFECT_BYTES_MAX;
    for (mark, text) in texts {
        for line in text.lines() {
            if left > 0 || effect.len() + line.len() > most {
                left += 1;
                continue;
            }
            effect.push('\n');
            effect.push(*mark);
            effect.push_str(line);
        }
    }
    if left > 0 {
        effect.push_str(&format!("\n({} not shown)", count(left, "more line")));
    }
    effect
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_a_short_diff() {
        let shown = effect("edit `a`", &[('-', "one\ntwo"), ('+', "three\n")]);
        assert_eq!(shown, "edit `a`\n-one\n-two\n+three");
    }

    #[test]
    fn a_long_effect_says_what_it_leaves_out() {
        let text = format!("{}\n", "x".repeat(99)).repeat(1000);
        let shown = effect("write `a`", &[('+', &text)]);
        assert!(shown.len() < EFFECT_BYTES_MAX + 1000, "{}", shown.len());
        assert!(shown.ends_with("\n(838 more lines not shown)"), "{}", &shown[shown.len() - 40..]);
    }
}
