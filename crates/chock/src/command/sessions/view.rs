//! A session for reading: Markdown and JSON, in which nothing draws.

use std::io::{self, Write};

use chock_log::{Log, Mask, Record, Redactor, Session};
use serde_json::{Value, json};

use super::verify::{SealState, examine};
use super::{state_word, title};
use crate::found::{Found, Listed};
use crate::show::usage_words;
use crate::signers::Signers;
use crate::visible::{escaped_json, visible, visible_line};

/// A log, and what makes its view.
pub(super) struct View<'a> {
    pub(super) found: &'a Found,
    pub(super) signers: &'a Signers,
    /// Replaces what looks like a secret in questions and approvals too.
    pub(super) redactor: &'a Redactor,
}

impl View<'_> {
    /// Writes what was said and done, in the order of the records.
    pub(super) fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let (listed, head) = self.head()?;
        writeln!(out, "# Session {}\n", self.found.id)?;
        for (name, value) in head {
            writeln!(out, "- {name}: {}", code(&value))?;
        }
        let title = title(&listed.session);
        if !title.is_empty() {
            writeln!(out, "- title: {}", code(&self.masked(&title)))?;
        }
        self.each(|record, body| chapter(out, record, body))
    }

    /// Writes one object: the session's facts and every record.
    pub(super) fn json(&self, out: &mut impl Write) -> io::Result<()> {
        let (listed, head) = self.head()?;
        let facts: serde_json::Map<_, _> =
            head.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect();
        let title = json!(self.masked(&title(&listed.session)));
        let (id, facts) = (json!(self.found.id.to_string()), Value::Object(facts));
        let open = escaped_json(&format!(
            "{{\"id\":{id},\"title\":{title},\"facts\":{facts},\"records\":[\n"
        ));
        out.write_all(open.as_bytes())?;
        let mut first = true;
        self.each(|record, body| {
            let time = format!("{:.3}", record.time);
            let kind = record.event.kind();
            let row = json!({ "seq": record.seq, "time": time, "kind": kind, "body": body });
            let comma = if std::mem::replace(&mut first, false) { "" } else { ",\n" };
            write!(out, "{comma}{}", escaped_json(&row.to_string()))
        })?;
        writeln!(out, "\n]}}")
    }

    /// Returns the facts at the top.
    fn head(&self) -> io::Result<(Listed, Vec<(&'static str, String)>)> {
        let listed = self.found.clone().read().map_err(|fault| io::Error::other(fault.message))?;
        let (checked, seal) = examine(&self.found.log, Some(self.found.id), self.signers);
        let seal = match &seal {
            SealState::None => "none".to_owned(),
            SealState::Good(_)
            | SealState::Earlier(_)
            | SealState::Stranger(_)
            | SealState::Bad(_) => seal.words().map(|(_, words)| words).unwrap_or_default(),
        };
        let session: &Session = &listed.session;
        let project = session.start.as_ref().map(|start| start.project.clone());
        let model = session.config.as_ref().map(|config| config.model.clone());
        let head = vec![
            ("project", project.unwrap_or_default()),
            ("started", session.started.map(|time| format!("{time:.0}")).unwrap_or_default()),
            ("state", state_word(&listed).to_owned()),
            ("model", model.unwrap_or_default()),
            ("used", usage_words(session)),
            ("log", checked.verdict.to_string()),
            ("seal", seal),
        ];
        Ok((listed, head))
    }

    /// Hands over each record with its body masked, as far as the chain holds.
    fn each(&self, mut write: impl FnMut(&Record, &Value) -> io::Result<()>) -> io::Result<()> {
        let mut written = Ok(());
        let read = Log::records(&self.found.log, |record| {
            if written.is_ok() {
                let mut body = record.event.body();
                self.redactor.value(&mut body, Mask::All);
                written = write(&record, &body);
            }
        });
        written.and(read.map(drop).map_err(io::Error::other))
    }

    fn masked(&self, text: &str) -> String {
        self.redactor.text(text, Mask::All).unwrap_or_else(|| text.to_owned())
    }
}

/// Writes one record: words and results whole, everything else as a line.
fn chapter(out: &mut impl Write, record: &Record, body: &Value) -> io::Result<()> {
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    let seq = record.seq;
    match record.event.kind() {
        "message.user" => {
            writeln!(out, "\n## {seq} · person\n")?;
            block(out, text("text"))
        }
        "message.model" => {
            writeln!(out, "\n## {seq} · model {}\n", code(text("model")))?;
            let parts = body["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
            parts.iter().try_for_each(|part| self::part(out, part))
        }
        "tool.finished" => {
            let outcome = &body["outcome"];
            let ended = outcome["ended"].to_string();
            writeln!(out, "\n### {seq} · result of {}: {}\n", code(text("tool")), code(&ended))?;
            block(out, outcome["text"].as_str().unwrap_or_default())
        }
        "notice" => {
            writeln!(out, "\n### {seq} · notice\n")?;
            block(out, text("text"))
        }
        "approval.asked" => {
            writeln!(out, "\n### {seq} · question: {}\n", code(text("action")))?;
            block(out, text("effect"))
        }
        "approval.answered" => {
            let word = if body["allowed"] == true { "allowed" } else { "refused" };
            let (what, grounds) = (body["actions"].to_string(), body["grounds"].to_string());
            writeln!(out, "\n{seq} · {word}: {} because of {}", code(&what), code(&grounds))
        }
        "session.ended" => {
            let reason = text("reason");
            writeln!(out, "\n{seq} · ended: {} {}", code(reason), code(text("detail")))
        }
        kind => writeln!(out, "\n{seq} · {}", code(kind)),
    }
}

/// Writes a piece of a reply: words, or a call.
fn part(out: &mut impl Write, part: &Value) -> io::Result<()> {
    let Some((kind, value)) = part.as_object().and_then(|fields| fields.iter().next()) else {
        return Ok(());
    };
    match (kind.as_str(), value) {
        ("text", Value::String(text)) => block(out, text),
        ("call", Value::Object(call)) => {
            let word = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
            writeln!(out, "calls {}\n", code(word("name")))?;
            block(out, word("arguments"))
        }
        _ => {
            writeln!(out, "{}\n", code(kind))?;
            block(out, value["text"].as_str().unwrap_or_default())
        }
    }
}

/// Writes a text so that nothing in it is markup, or draws.
fn block(out: &mut impl Write, text: &str) -> io::Result<()> {
    let text = visible(text);
    let fence = "~".repeat(longest_run(&text, '~').max(2) + 1);
    writeln!(out, "{fence}text\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// Writes a few words so that nothing in them is markup, or draws.
fn code(text: &str) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    let text = visible_line(text);
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    format!("{fence} {text} {fence}")
}

fn longest_run(text: &str, letter: char) -> usize {
    let runs = text.split(|other| other != letter);
    runs.map(|run| run.chars().count()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_closes_its_own_block() {
        for text in ["plain", "~~~\n# I am markup", "~~~~~~", "a\u{1b}[2Jb", "x\r<script>"] {
            let mut out = Vec::new();
            block(&mut out, text).expect("a block");
            let out = String::from_utf8(out).expect("text");
            let fence = out.split("text\n").next().expect("a fence");
            assert_eq!(out.lines().filter(|line| line.starts_with(fence)).count(), 2, "{out}");
            assert!(!out.contains('\u{1b}') && !out.contains('\r'), "{out:?}");
        }
        assert_eq!(code("a``b"), "``` a``b ```");
        assert_eq!(code("a\nb"), "` a\\nb `");
    }
}
