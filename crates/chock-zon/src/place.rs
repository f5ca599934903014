//! Where something stands in a text.

/// A range of bytes in a text, the end not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

/// A span with the line and column of its first byte.
///
/// Lines and columns count from 1. Columns count bytes, so a tab is one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// Line of the first byte.
    pub line: usize,
    /// Column of the first byte, in bytes.
    pub column: usize,
    /// The bytes themselves.
    pub span: Span,
}

/// The offset at which each line of a text starts.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        let after_newline = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(after_newline.map(|(at, _)| at + 1)).collect();
        Self { starts }
    }

    pub(crate) fn place(&self, span: Span) -> Place {
        let line = self.line(span.start);
        Place { line, column: span.start - self.starts[line - 1] + 1, span }
    }

    /// The line, from 1, on which the byte at `offset` stands.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}
