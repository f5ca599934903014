//! Redirections and here-documents, and whose they are.

use tree_sitter::Node;

use super::heredoc;
use super::read::{Reader, Unreadable, children, joined};
use super::script::{Part, Redirect, Simple, Statement, What, Word};

/// What a redirection is followed by: in the grammar, the rest of its line hangs below it.
#[derive(Default)]
struct Tail {
    words: Vec<Word>,
    redirects: Vec<Redirect>,
    piped: Vec<Statement>,
    joined: Option<(bool, Statement)>,
}

impl Reader<'_> {
    pub(crate) fn redirected(&mut self, node: Node<'_>) -> Result<Statement, Unreadable> {
        let mut body = Statement::Simple(Simple::default());
        let mut tail = Tail::default();
        let mut last = None;
        for child in children(node) {
            self.apart(last, child)?;
            last = Some(child.end_byte());
            match child.kind() {
                "comment" => {}
                "file_redirect" => {
                    let words = self.file_redirect(child, &mut tail.redirects)?;
                    tail.words.extend(words);
                }
                "herestring_redirect" => tail.redirects.push(self.herestring(child)?),
                "heredoc_redirect" => self.heredoc(child, &mut tail)?,
                _ => body = self.statement(child)?,
            }
        }
        let mut whole = attach(body, tail.words, tail.redirects)?;
        if !tail.piped.is_empty() {
            whole = extend(whole, tail.piped)?;
        }
        Ok(match tail.joined {
            Some((and, right)) => joined(and, whole, Box::new(right)),
            None => whole,
        })
    }

    /// Reads a redirection of a file. More words than one target are words of the command.
    pub(crate) fn file_redirect(
        &mut self,
        node: Node<'_>,
        redirects: &mut Vec<Redirect>,
    ) -> Result<Vec<Word>, Unreadable> {
        let mut descriptor = None;
        let mut operator = "";
        let mut targets = Vec::new();
        let mut inner = Vec::new();
        let mut end = None;
        let mut last = None;
        for child in children(node) {
            if self.is_torn(last, child.start_byte()) {
                return Err(Unreadable);
            }
            last = Some(child.end_byte());
            match child.kind() {
                "file_descriptor" => descriptor = Some(self.text(child)),
                kind if !child.is_named() && operator.is_empty() => operator = kind,
                _ if end == Some(child.start_byte()) => return Err(Unreadable),
                _ => {
                    targets.push(self.word(child, &mut inner)?);
                    end = Some(child.end_byte());
                }
            }
        }
        let (what, usual) = match operator {
            "<" => (What::Read, "0"),
            ">" | ">>" | ">|" | "&>" | "&>>" => (What::Write, "1"),
            "<&" | "<&-" => (What::Descriptor, "0"),
            ">&" | ">&-" => (What::Descriptor, "1"),
            _ => return Err(Unreadable),
        };
        let rest = if operator.ends_with('-') { 0 } else { 1 };
        if targets.len() < rest {
            return Err(Unreadable);
        }
        let words = targets.split_off(rest);
        let target = targets.pop().unwrap_or_default();
        let number =
            |text: String| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        // `>& file` is a file, `>& 2` is none.
        let what = match what {
            What::Descriptor if operator == ">&" && !target.text().is_some_and(number) => {
                What::Write
            }
            other => other,
        };
        let stdin = descriptor.unwrap_or(usual).trim_start_matches('0').is_empty();
        redirects.push(Redirect { what, target, inner, stdin });
        Ok(words)
    }

    pub(crate) fn herestring(&mut self, node: Node<'_>) -> Result<Redirect, Unreadable> {
        let mut inner = Vec::new();
        let mut target = None;
        for child in children(node) {
            match child.kind() {
                "<<<" => {}
                "file_descriptor" => return Err(Unreadable),
                _ if target.is_some() => return Err(Unreadable),
                _ => target = Some(self.word(child, &mut inner)?),
            }
        }
        let target = target.ok_or(Unreadable)?;
        Ok(Redirect { what: What::Text, target, inner, stdin: true })
    }

    fn heredoc(&mut self, node: Node<'_>, tail: &mut Tail) -> Result<(), Unreadable> {
        let document = heredoc::read(node, self.source)?;
        let mut inner = Vec::new();
        let mut stdin = true;
        let mut operator = None;
        for child in children(node) {
            match child.kind() {
                "<<" | "<<-" | "heredoc_start" | "heredoc_end" | "comment" | "\n" => {}
                "file_descriptor" => stdin = self.text(child) == "0",
                "heredoc_body" if document.is_raw => {}
                "heredoc_body" => inner.extend(self.inner(child)?),
                "file_redirect" => {
                    let words = self.file_redirect(child, &mut tail.redirects)?;
                    tail.words.extend(words);
                }
                "herestring_redirect" => tail.redirects.push(self.herestring(child)?),
                "pipeline" => {
                    for part in children(child) {
                        match part.kind() {
                            "|" | "|&" => {}
                            _ => tail.piped.push(self.statement(part)?),
                        }
                    }
                }
                "&&" | "||" => operator = Some(child.kind() == "&&"),
                _ if operator.is_some() && tail.joined.is_none() => {
                    let right = self.statement(child)?;
                    tail.joined = operator.map(|and| (and, right));
                }
                _ => return Err(Unreadable),
            }
        }
        let lines = document.text.split_inclusive('\n');
        let expands = !document.is_raw && document.text.contains(['$', '\\', '`']);
        let target = match (expands, document.is_indented) {
            (true, _) => Word(vec![Part::Some]),
            (false, false) => Word::of(document.text),
            (false, true) => {
                Word::of(lines.map(|line| line.trim_start_matches('\t')).collect::<String>())
            }
        };
        tail.redirects.push(Redirect { what: What::Text, target, inner, stdin });
        Ok(())
    }
}

/// Gives words and redirections to the last command of a statement, which is whose they are.
fn attach(
    statement: Statement,
    words: Vec<Word>,
    redirects: Vec<Redirect>,
) -> Result<Statement, Unreadable> {
    let onto = |last: Box<Statement>| attach(*last, words.clone(), redirects.clone()).map(Box::new);
    Ok(match statement {
        Statement::Simple(mut simple) => {
            simple.words.extend(words);
            simple.redirects.extend(redirects);
            Statement::Simple(simple)
        }
        Statement::And(left, right) => Statement::And(left, onto(right)?),
        Statement::Or(left, right) => Statement::Or(left, onto(right)?),
        Statement::Not(inner) => Statement::Not(onto(inner)?),
        Statement::Pipeline(mut parts) => {
            let last = parts.pop().ok_or(Unreadable)?;
            parts.push(attach(last, words, redirects)?);
            Statement::Pipeline(parts)
        }
        _ if !words.is_empty() => return Err(Unreadable),
        Statement::Function(name, body) => {
            let body = Statement::Redirected(body, redirects);
            Statement::Function(name, Box::new(body))
        }
        compound @ (Statement::Then(_)
        | Statement::Apart(_)
        | Statement::Maybe(_)
        | Statement::Loop(_)
        | Statement::Redirected(..)) => Statement::Redirected(Box::new(compound), redirects),
    })
}

/// Lets the last pipeline of a statement go on.
fn extend(statement: Statement, more: Vec<Statement>) -> Result<Statement, Unreadable> {
    Ok(match statement {
        Statement::And(left, right) => Statement::And(left, Box::new(extend(*right, more)?)),
        Statement::Or(left, right) => Statement::Or(left, Box::new(extend(*right, more)?)),
        Statement::Not(inner) => Statement::Not(Box::new(extend(*inner, more)?)),
        Statement::Pipeline(mut parts) => {
            parts.extend(more);
            Statement::Pipeline(parts)
        }
        Statement::Function(..) => return Err(Unreadable),
        first @ (Statement::Simple(_)
        | Statement::Then(_)
        | Statement::Apart(_)
        | Statement::Maybe(_)
        | Statement::Loop(_)
        | Statement::Redirected(..)) => {
            let mut parts = vec![first];
            parts.extend(more);
            Statement::Pipeline(parts)
        }
    })
}
