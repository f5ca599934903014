//! Tells changed lines word by word, for reading.

use chock_workspace::{Line, LineTag};

/// The most pairs of words that are compared for one changed place. Above it the whole place counts
/// as changed: a minute's thought for a machine is no answer for a person.
const PAIRS_MAX: usize = 1 << 20;

/// Words that belong together: both texts have them, or one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) tag: LineTag,
    pub(crate) text: String,
}

/// Tells the lines of a hunk as lines of pieces. Where a line was only taken away, its end is the end of a line
/// here too.
pub(crate) fn lines(hunk: &[Line]) -> Vec<Vec<Piece>> {
    let mut drawn = Lines::default();
    let mut rest = hunk;
    while let Some(first) = rest.first() {
        let count =
            |tag, from: usize| rest[from..].iter().take_while(|line| line.tag == tag).count();
        if first.tag == LineTag::Context {
            drawn.put(LineTag::Context, &String::from_utf8_lossy(&first.bytes));
            rest = &rest[1..];
            continue;
        }
        let removed = count(LineTag::Removed, 0);
        let added = count(LineTag::Added, removed);
        let text = |from: usize, to: usize| {
            let bytes: Vec<u8> =
                rest[from..to].iter().flat_map(|line| line.bytes.clone()).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (old, new) = (text(0, removed), text(removed, removed + added));
        place(&mut drawn, &words(&old), &words(&new));
        rest = &rest[removed + added..];
    }
    drawn.finish()
}

/// The lines so far.
#[derive(Default)]
struct Lines {
    whole: Vec<Vec<Piece>>,
    line: Vec<Piece>,
}

impl Lines {
    fn put(&mut self, tag: LineTag, text: &str) {
        for part in text.split_inclusive('\n') {
            let words = part.trim_end_matches('\n');
            match self.line.last_mut() {
                _ if words.is_empty() => {}
                Some(last) if last.tag == tag => last.text.push_str(words),
                Some(_) | None => self.line.push(Piece { tag, text: words.to_owned() }),
            }
            if part.ends_with('\n') {
                self.whole.push(std::mem::take(&mut self.line));
            }
        }
    }

    fn finish(mut self) -> Vec<Vec<Piece>> {
        if !self.line.is_empty() {
            self.whole.push(self.line);
        }
        self.whole
    }
}

/// Cuts a text into words, blanks between them, and every other character.
fn words(text: &str) -> Vec<&str> {
    #[derive(PartialEq)]
    enum Sort {
        Word,
        Blank,
        Other,
    }
    let sort = |letter: char| match letter {
        '\n' => Sort::Other,
        letter if letter.is_alphanumeric() || letter == '_' => Sort::Word,
        letter if letter.is_whitespace() => Sort::Blank,
        _ => Sort::Other,
    };
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = sort(first);
        let end = match kind {
            Sort::Other => first.len_utf8(),
            Sort::Word | Sort::Blank => {
                rest.find(|letter| sort(letter) != kind).unwrap_or(rest.len())
            }
        };
        words.push(&rest[..end]);
        rest = &rest[end..];
    }
    words
}

/// Draws one changed place.
fn place(drawn: &mut Lines, old: &[&str], new: &[&str]) {
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (head, old, new) = (&old[..same], &old[same..], &new[same..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let same = pairs.take_while(|(old, new)| old == new).count();
    let (old, tail) = old.split_at(old.len() - same);
    let new = &new[..new.len() - same];
    head.iter().for_each(|word| drawn.put(LineTag::Context, word));
    middle(drawn, old, new);
    tail.iter().for_each(|word| drawn.put(LineTag::Context, word));
}

/// Draws what differs at both of its ends, by the longest sequence of words that both have.
fn middle(drawn: &mut Lines, old: &[&str], new: &[&str]) {
    let width = new.len() + 1;
    if old.len().saturating_mul(new.len()) > PAIRS_MAX {
        old.iter().for_each(|word| drawn.put(LineTag::Removed, word));
        new.iter().for_each(|word| drawn.put(LineTag::Added, word));
        return;
    }
    // How many words both have from here on.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = if old[i] == new[j] {
                common[(i + 1) * width + j + 1] + 1
            } else {
                common[(i + 1) * width + j].max(common[i * width + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            drawn.put(LineTag::Context, old[i]);
            (i, j) = (i + 1, j + 1);
        } else if i < old.len()
            && (j == new.len() || common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            drawn.put(LineTag::Removed, old[i]);
            i += 1;
        } else {
            drawn.put(LineTag::Added, new[j]);
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(old: &str, new: &str) -> Lines {
        let mut drawn = Lines::default();
        place(&mut drawn, &words(old), &words(new));
        drawn
    }

    fn told(lines: Vec<Vec<Piece>>) -> String {
        let piece = |Piece { tag, text }: Piece| match tag {
            LineTag::Context => text,
            LineTag::Removed => format!("[-{text}-]"),
            LineTag::Added => format!("{{+{text}+}}"),
        };
        let lines = lines.into_iter().map(|line| line.into_iter().map(piece).collect::<String>());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn only_the_words_that_changed_are_marked() {
        let cases = [
            ("return int(text)\n", "return int(text.strip())\n", "return int(text{+.strip()+})"),
            ("one two three\n", "one 2 three\n", "one [-two-]{+2+} three"),
            ("a\nb\n", "a\nc\nd\n", "a\n[-b-]{+c+}\n{+d+}"),
            ("gone\n", "", "[-gone-]"),
            ("", "new\nlines\n", "{+new+}\n{+lines+}"),
            ("größe = 1", "größe = 2", "größe = [-1-]{+2+}"),
            ("same\n", "same\n", "same"),
        ];
        for (old, new, expected) in cases {
            assert_eq!(told(drawn(old, new).finish()), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_hunk_is_told_with_the_lines_around() {
        let line = |tag, text: &str| Line { tag, bytes: text.as_bytes().to_vec() };
        let lines = vec![
            line(LineTag::Context, "before\n"),
            line(LineTag::Removed, "let a = 1;\n"),
            line(LineTag::Added, "let a = 2;\n"),
            line(LineTag::Context, "after\n"),
        ];
        assert_eq!(told(super::lines(&lines)), "before\nlet a = [-1-]{+2+};\nafter");
    }

    proptest! {
        #[test]
        fn both_texts_stand_in_what_is_drawn(
            old in "[ab \n.]{0,40}", new in "[ab \n.]{0,40}"
        ) {
            let pieces = drawn(&old, &new).finish();
            for (mine, other, text) in [
                (LineTag::Removed, LineTag::Added, &old),
                (LineTag::Added, LineTag::Removed, &new),
            ] {
                let seen: String = pieces
                    .iter()
                    .flatten()
                    .filter(|piece| piece.tag != other)
                    .map(|piece| piece.text.as_str())
                    .collect();
                prop_assert_eq!(seen, text.replace('\n', ""), "{:?}", mine);
            }
        }
    }
}
