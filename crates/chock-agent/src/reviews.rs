//! Tells the model what the person did with its work.

use chock_log::{CarriedBody, DiffReviewedBody, Event, NoticeBody, ReviewedFile, Unheard};

use crate::agent::{Agent, Finish};

/// The most paths of one list that the model is told. More are counted.
const TOLD_MAX: usize = 50;

impl Agent<'_> {
    /// Tells the model of every review and undo that it does not know of.
    pub(crate) fn tell_reviews(&mut self) -> Result<(), Finish> {
        let notice = self.house.pen.session(|session| {
            let words = session.unheard.iter().map(|(_, unheard)| match unheard {
                Unheard::Reviewed(body) => reviewed(body),
                Unheard::Undone(body) => undone(body),
            });
            let text: Vec<_> = words.filter(|words| !words.is_empty()).collect();
            let reviews = session.unheard.iter().map(|(seq, _)| *seq).collect();
            NoticeBody { text: text.join("\n"), reviews, ..NoticeBody::default() }
        });
        self.record(Event::Notice(notice))?;
        Ok(())
    }
}

fn reviewed(body: &DiffReviewedBody) -> String {
    let mut lines = vec!["The person reviewed your changes.".to_owned()];
    if !body.accepted.is_empty() {
        lines.push(format!("Taken into the project: {}.", listed(&body.accepted)));
    }
    if !body.declined.is_empty() {
        lines.push(format!(
            "Declined, and not in the project: {}. Do not bring it back unless you are asked to.",
            listed(&body.declined)
        ));
    }
    if body.left > 0 {
        lines.push(format!("Not decided yet: {} files.", body.left));
    }
    lines.join(" ")
}

fn listed(files: &[ReviewedFile]) -> String {
    let words = files.iter().take(TOLD_MAX).map(|file| {
        let part = match &file.hunks {
            None => String::new(),
            Some(hunks) if hunks.len() == 1 => " (one change of it)".to_owned(),
            Some(hunks) => format!(" ({} changes of it)", hunks.len()),
        };
        let because = match file.because.as_str() {
            "" => String::new(),
            words => format!(", because: {words}"),
        };
        format!("{}{part}{because}", file.path)
    });
    let words: Vec<_> = words.collect();
    match files.len().saturating_sub(TOLD_MAX) {
        0 => words.join("; "),
        more => format!("{}; and {more} more", words.join("; ")),
    }
}

fn undone(body: &CarriedBody) -> String {
    let paths: Vec<_> = body.paths.iter().take(TOLD_MAX).map(String::as_str).collect();
    let paths = paths.join("; ");
    let what = if body.direction == "redo" {
        "The person put work of yours back into the project"
    } else {
        "The person took work of yours out of the project again"
    };
    format!("{what}: {paths}.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_declined_is_told_with_the_reason() {
        let file = |path: &str, hunks: Option<Vec<String>>, because: &str| ReviewedFile {
            path: path.into(),
            hash: String::new(),
            hunks,
            because: because.into(),
        };
        let body = DiffReviewedBody {
            base: String::new(),
            snapshot: String::new(),
            tree: String::new(),
            accepted: vec![file("a", None, "")],
            declined: vec![file("b", Some(vec!["1".into()]), "too slow")],
            left: 2,
            by: "person".into(),
        };
        assert_eq!(
            reviewed(&body),
            "The person reviewed your changes. Taken into the project: a. Declined, and not in the \
             project: b (one change of it), because: too slow. Do not bring it back unless you are \
             asked to. Not decided yet: 2 files."
        );
    }
}
