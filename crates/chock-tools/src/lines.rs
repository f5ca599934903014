//! Lines of an answer, as many as fit.

/// The most bytes of lines in one answer to a model.
pub(crate) const TEXT_BYTES_MAX: usize = 64 * 1024;

/// Lines of an answer. Once one does not fit, no later one is shown.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    text: String,
    left: u64,
}

impl Lines {
    /// Adds a line, or counts it when it does not fit; says whether it was added.
    pub(crate) fn push(&mut self, line: &str) -> bool {
        if self.left > 0 || self.text.len() + line.len() >= TEXT_BYTES_MAX {
            self.left += 1;
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Returns the lines, and how many did not fit.
    pub(crate) fn finish(self) -> (String, u64) {
        (self.text, self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_until_one_does_not_fit() {
        let mut lines = Lines::default();
        let wide = "x".repeat(TEXT_BYTES_MAX - 10);
        assert!(lines.push("a") && lines.push(&wide));
        assert!(!lines.push("123456789") && !lines.push("b"));
        let (text, left) = lines.finish();
        assert_eq!((text.len(), left), (TEXT_BYTES_MAX - 7, 2));
    }
}
