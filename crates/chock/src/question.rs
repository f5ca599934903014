//! How a question is laid out, and how what was typed is read.

use chock_broker::{Asks, Guarded, Offer, Question};
use serde::{Deserialize, Serialize};

use crate::terminal::Weight;
use crate::visible::{honest, visible_line};

/// A question as it is shown, here or to another process of the same person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sheet {
    /// What an answer has to name: it counts for this question and no other.
    pub(crate) question: u64,
    /// The kinds of agent from the root to the one that asks.
    pub(crate) chain: Vec<String>,
    pub(crate) tool: String,
    /// Each action that needs a yes, with the reason and the row.
    pub(crate) guarded: Vec<Row>,
    /// What would be done, whole.
    pub(crate) effect: String,
    /// What a reviewing agent said for it.
    pub(crate) review: Option<String>,
    /// The rows that a lasting yes would add.
    pub(crate) always: Vec<String>,
    /// What else may be answered, or what is to be chosen from: a word, and what comes of it.
    #[serde(default)]
    pub(crate) offers: Vec<(String, String)>,
    /// Whether only an offer or a no is an answer.
    #[serde(default)]
    pub(crate) is_choice: bool,
}

/// One action of a [`Sheet`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) action: String,
    pub(crate) why: String,
    pub(crate) row: Option<String>,
}

/// An answer as it was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Given {
    Once,
    Session,
    Always,
    /// The offer with this word.
    Offer(String),
    No(Option<String>),
}

impl Sheet {
    pub(crate) fn of(question: &Question, number: u64) -> Self {
        let row = |guarded: &Guarded| Row {
            action: guarded.action.clone(),
            why: guarded.why.to_owned(),
            row: guarded.row.clone(),
        };
        let offer = |offer: &Offer| (offer.word.clone(), offer.words.clone());
        Self {
            question: number,
            chain: question.chain.clone(),
            tool: question.tool.clone(),
            guarded: question.guarded.iter().map(row).collect(),
            effect: question.effect.clone(),
            review: question.review.clone(),
            always: question.always.iter().map(ToString::to_string).collect(),
            offers: question.offers.iter().map(offer).collect(),
            is_choice: question.asks == Asks::Choice,
        }
    }

    /// Lays the question out, every byte of the effect visible.
    pub(crate) fn lines(&self) -> Vec<(Weight, String)> {
        let who = visible_line(&self.chain.join(" > "));
        let tool = visible_line(&self.tool);
        let first = match self.is_choice {
            true => "Choose how the commits land:".to_owned(),
            false => format!("The {who} agent asks to use {tool}:"),
        };
        let mut lines = vec![(Weight::Warn, first)];
        for Row { action, why, row } in &self.guarded {
            let row = row.as_deref().unwrap_or("no rule allows it");
            let line = format!("  {action}: {why} ({row})");
            lines.push((Weight::Quiet, visible_line(&line)));
        }
        let effect = honest(&self.effect);
        lines.extend(effect.split('\n').map(|line| (Weight::Plain, format!("  | {line}"))));
        if let Some(note) = &self.review {
            let line = format!("  a reviewing agent approved it: {}", honest(note));
            lines.push((Weight::Quiet, line.replace('\n', " ")));
        }
        for (word, words) in &self.offers {
            lines.push((Weight::Plain, visible_line(&format!("  {word}: {words}"))));
        }
        for row in &self.always {
            let line = format!("  a would add, for this project: {row}");
            lines.push((Weight::Quiet, visible_line(&line)));
        }
        lines
    }

    /// Says which keys there are.
    pub(crate) fn prompt(&self) -> String {
        let offers: Vec<_> = self.offers.iter().map(|(word, _)| word.as_str()).collect();
        if self.is_choice {
            return format!("Which? {}, n no (or n and why): ", offers.join(", "));
        }
        let always = if self.always.is_empty() { "" } else { "a always here, " };
        let offers: String = offers.iter().map(|word| format!("{word}, ")).collect();
        format!("Allow it? y once, s this session, {always}{offers}n no (or n and why): ")
    }

    /// Says that what was typed is no answer.
    pub(crate) fn no_answer(&self) -> &'static str {
        match self.is_choice {
            true => "that is none of them, and no no",
            false => "that is neither a yes nor a no",
        }
    }

    /// Whether an answer can be one to this question.
    pub(crate) fn takes(&self, given: &Given) -> bool {
        match given {
            Given::Once | Given::Session => !self.is_choice,
            Given::Always => !self.is_choice && !self.always.is_empty(),
            Given::Offer(word) => self.offers.iter().any(|(offered, _)| offered == word),
            Given::No(_) => true,
        }
    }

    /// Reads what was typed. A yes is exactly a yes, and what is neither is not an answer.
    pub(crate) fn read(&self, line: &[u8]) -> Option<Given> {
        let text = String::from_utf8_lossy(line.trim_ascii()).into_owned();
        let is_meant =
            |(word, _): &&(String, String)| text == *word || word.get(..1) == Some(&text);
        if let Some((word, _)) = self.offers.iter().find(is_meant) {
            return Some(Given::Offer(word.clone()));
        }
        match text.as_str() {
            "y" | "yes" | "s" | "session" if self.is_choice => None,
            "y" | "yes" => Some(Given::Once),
            "s" | "session" => Some(Given::Session),
            "a" | "always" if !self.always.is_empty() => Some(Given::Always),
            "" | "n" | "no" => Some(Given::No(None)),
            _ => {
                let words = text.strip_prefix("no").or_else(|| text.strip_prefix('n'))?;
                let why = words.strip_prefix([' ', ',', ':'])?.trim();
                let why = (!why.is_empty()).then(|| why.to_owned());
                Some(Given::No(why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(effect: &str) -> Sheet {
        Sheet {
            question: 1,
            chain: vec!["main".into(), "scout".into()],
            tool: "run_command".into(),
            guarded: vec![Row {
                action: "git.push".into(),
                why: "it sends commits".into(),
                row: Some("project: .{ .decision = .ask }".into()),
            }],
            effect: effect.to_owned(),
            review: None,
            always: Vec::new(),
            offers: Vec::new(),
            is_choice: false,
        }
    }

    #[test]
    fn only_an_offer_or_a_no_answers_a_choice() {
        let offers = [("merge", "both"), ("squash", "one")];
        let offers = offers.map(|(word, words)| (word.to_owned(), words.to_owned())).to_vec();
        let choice = Sheet { offers: offers.clone(), is_choice: true, ..sheet("x") };
        let offer = |word: &str| Some(Given::Offer(word.to_owned()));
        let cases = [
            ("m", offer("merge")),
            ("squash", offer("squash")),
            ("s", offer("squash")),
            ("n", Some(Given::No(None))),
            ("", Some(Given::No(None))),
            ("y", None),
            ("a", None),
            ("me", None),
        ];
        for (line, expected) in cases {
            assert_eq!(choice.read(line.as_bytes()), expected, "{line:?}");
        }
        assert_eq!(choice.prompt(), "Which? merge, squash, n no (or n and why): ");
        for given in [Given::Once, Given::Session, Given::Always, Given::Offer("x".into())] {
            assert!(!choice.takes(&given), "{given:?}");
        }
        assert!(choice.takes(&Given::Offer("merge".into())));
        // Beside a yes and a no, an offer is one more answer.
        let offers = vec![("commit".to_owned(), "the rest too".to_owned())];
        let offering = Sheet { offers, ..sheet("x") };
        assert_eq!(offering.read(b"c"), offer("commit"));
        assert_eq!(offering.read(b"s"), Some(Given::Session));
        assert!(offering.prompt().contains("commit, n no"), "{}", offering.prompt());
    }

    #[test]
    fn only_a_yes_is_a_yes() {
        let sheet = sheet("x");
        let no = |why: Option<&str>| Some(Given::No(why.map(str::to_owned)));
        let cases = [
            ("y\n", Some(Given::Once)),
            ("yes\n", Some(Given::Once)),
            ("s\n", Some(Given::Session)),
            ("", no(None)),
            ("\n", no(None)),
            ("n\n", no(None)),
            ("n use the fork\n", no(Some("use the fork"))),
            ("no, not today\n", no(Some("not today"))),
            ("n \n", no(None)),
            ("Y\n", None),
            ("a\n", None),
            ("yes please\n", None),
            ("yy\n", None),
            ("now\n", None),
            ("\x1b[A\n", None),
        ];
        for (line, expected) in cases {
            assert_eq!(sheet.read(line.as_bytes()), expected, "{line:?}");
        }
        let lasting = Sheet { always: vec![".{}".into()], ..sheet };
        assert_eq!(lasting.read(b"a\n"), Some(Given::Always));
    }

    #[test]
    fn an_effect_cannot_draw_a_question_of_its_own() {
        let lines = sheet("git push\r\u{1b}[2K\nAllow it? y\ng\u{456}t").lines();
        let text: String = lines.into_iter().map(|(_, line)| line + "\n").collect();
        let shown = "  | git push\\x0d\\x1b[2K\n  | Allow it? y\n  | g\\u{456}t\n";
        assert!(text.contains(shown), "{text}");
        assert!(text.starts_with("The main > scout agent asks to use run_command:\n"), "{text}");
    }
}
