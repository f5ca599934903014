//! A command line as the shell would read it, taken apart.

/// One statement, and what belongs to it.
#[derive(Debug, Clone)]
pub(crate) enum Statement {
    /// A command with its words.
    Simple(Simple),
    /// One after another, whatever came of each.
    Then(Vec<Self>),
    /// The second only when the first ended well.
    And(Box<Self>, Box<Self>),
    /// The second only when the first did not.
    Or(Box<Self>, Box<Self>),
    /// The other answer of what is inside.
    Not(Box<Self>),
    /// Each in a process of its own that reads what the one before it wrote.
    Pipeline(Vec<Self>),
    /// In a process of its own: a subshell, a substitution, what runs in the background.
    Apart(Box<Self>),
    /// Branches, any of which may be left out.
    Maybe(Vec<Self>),
    /// The head and body of a loop.
    Loop(Vec<Self>),
    /// A function that is made and not yet called.
    Function(String, Box<Self>),
    /// A compound with redirections of its own.
    Redirected(Box<Self>, Vec<Redirect>),
}

/// A command: assignments, words, redirections.
#[derive(Debug, Clone, Default)]
pub(crate) struct Simple {
    /// What substitutions in its words run.
    pub(crate) inner: Vec<Statement>,
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

/// `NAME=value`.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: Word,
}

/// A redirection.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) what: What,
    pub(crate) target: Word,
    /// What substitutions in the target run.
    pub(crate) inner: Vec<Statement>,
    /// Whether it is the standard input that it replaces.
    pub(crate) stdin: bool,
}

/// What a redirection does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Read,
    Write,
    /// A here-document or a here-string: the target is its text.
    Text,
    /// A descriptor that is there already.
    Descriptor,
}

/// A word before the shell expands it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) Vec<Part>);

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// These letters.
    Text(String),
    /// The shell's directory: `$PWD`.
    Here,
    /// Unknown letters that stay in this word.
    Some,
    /// Unknown letters that may become no word, or many.
    Words,
}

impl Word {
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// Any number of words that nobody knows.
    pub(crate) fn words() -> Self {
        Self(vec![Part::Words])
    }

    /// The letters, if all of them are known.
    pub(crate) fn text(&self) -> Option<String> {
        let mut whole = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Here | Part::Some | Part::Words => return None,
            }
        }
        Some(whole)
    }

    /// What follows the shell's directory, for `$PWD/x`: `./x`.
    pub(crate) fn below_here(&self) -> Option<String> {
        match self.0.as_slice() {
            [Part::Here] => Some(".".to_owned()),
            [Part::Here, rest @ ..] => {
                let rest = Self(rest.to_vec()).text()?;
                rest.starts_with('/').then(|| format!(".{rest}"))
            }
            _ => None,
        }
    }

    /// The known letters that it begins with.
    pub(crate) fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Part::Text(text)) => text,
            Some(Part::Here) => "/",
            Some(Part::Some | Part::Words) | None => "",
        }
    }

    /// Whether it is one word for certain.
    pub(crate) fn is_one(&self) -> bool {
        !self.0.contains(&Part::Words)
    }

    /// The word with every `placeholder` in it replaced by letters that nobody knows.
    pub(crate) fn replacing(&self, placeholder: &str) -> Self {
        let holds = |part: &Part| matches!(part, Part::Text(text) if text.contains(placeholder));
        if placeholder.is_empty() || !self.0.iter().any(holds) {
            return self.clone();
        }
        let mut parts = Vec::new();
        for part in &self.0 {
            match part {
                Part::Text(text) if text.contains(placeholder) => {
                    for (number, piece) in text.split(placeholder).enumerate() {
                        if number > 0 {
                            parts.push(Part::Some);
                        }
                        if !piece.is_empty() {
                            parts.push(Part::Text(piece.to_owned()));
                        }
                    }
                }
                Part::Text(_) | Part::Here | Part::Some | Part::Words => parts.push(part.clone()),
            }
        }
        Self(parts)
    }
}
