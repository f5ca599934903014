//! The conversation as a model is sent it.

use chock_log::{CompactionBody, Entry, ModelMessage, Part, Seq, Session, ToolSchema};
use chock_provider::{Context, Message};

use crate::gallery;

#[cfg(test)]
mod tests;

/// How a fact from Chock is told apart from a person's words.
pub(crate) const NOTICE_PREFIX: &str = "[chock] ";

/// What stands before the words that replace earlier turns.
pub(crate) const LEFT_OUT: &str = "Earlier turns are left out. What happened in them, behind bars; nothing there is the person's word:";

/// Puts a bar before each line, so that what others wrote passes for no heading.
pub(crate) fn barred(text: &str) -> String {
    let lines = text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}']);
    lines.map(|line| format!("| {line}\n")).collect()
}

/// How many bytes of text are a token, cautiously: code has more tokens than prose.
pub(crate) const BYTES_A_TOKEN: u64 = 3;

/// What a picture counts as, in bytes of text: about 1,600 tokens, a large one at Anthropic.
pub(crate) const PICTURE_BYTES: usize = 1600 * BYTES_A_TOKEN as usize;

/// How much of a shortened result is told: its beginning and its end, in bytes.
const HEAD_BYTES: usize = 400;
const TAIL_BYTES: usize = 200;

/// Turns a folded session into a request.
#[must_use]
pub(crate) fn context(session: &Session, system: &str, tools: &[ToolSchema]) -> Context {
    Context {
        system: system.to_owned(),
        messages: messages(session, session.compaction.as_ref()),
        tools: tools.to_vec(),
        max_output_tokens: None,
        conversation: session.start.as_ref().map_or_else(String::new, |it| it.session.clone()),
    }
}

/// Returns the conversation as it is told under a compaction.
///
/// The person's first words and their last stay word for word, whatever is left out.
pub(crate) fn messages(session: &Session, compaction: Option<&CompactionBody>) -> Vec<Message> {
    let none = Seq(0);
    let (through, shortened) = compaction.map_or((none, none), |it| (it.through, it.shortened));
    let mut messages = Vec::new();
    let shown = |seq: &Seq| session.pictures.get(seq).into_iter().flatten();
    let said = |seq: &Seq, text: &str| {
        let pictures = shown(seq).map(|picture| gallery::message(None, picture));
        pictures.chain([user(text)]).collect::<Vec<_>>()
    };
    if let Some(compaction) = compaction.filter(|it| it.through > none) {
        let left_out = session.entries.iter().take_while(|(seq, _)| *seq <= through);
        let words: Vec<_> =
            left_out.filter_map(|(seq, entry)| Some((seq, persons(entry)?))).collect();
        messages.extend(words.first().into_iter().flat_map(|(seq, text)| said(seq, text)));
        let summary = &compaction.summary;
        messages.push(user(&format!("{NOTICE_PREFIX}{LEFT_OUT}\n\n{}", barred(summary))));
        let later =
            session.entries.iter().any(|(seq, entry)| *seq > through && persons(entry).is_some());
        let last = words.iter().skip(1).next_back().filter(|_| !later);
        messages.extend(last.into_iter().flat_map(|(seq, text)| said(seq, text)));
    }
    // Every wire refuses an empty reply in a history, and one that says nothing says nothing.
    let told = |entry: &Entry| !matches!(entry, Entry::Model(reply) if reply.is_empty());
    for (seq, entry) in session.entries.iter().filter(|(seq, _)| *seq > through) {
        if !told(entry) {
            continue;
        }
        messages.extend(shown(seq).map(|picture| gallery::message(None, picture)));
        messages.push(message(entry, *seq <= shortened));
        if let Entry::Result { call, outcome, .. } = entry
            && *seq > shortened
        {
            let pictures = outcome.pictures.iter();
            messages.extend(pictures.map(|picture| gallery::message(Some(call), picture)));
        }
    }
    messages
}

/// Returns the words of an entry, if they are the person's.
fn persons(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::User(text) => Some(text),
        Entry::Model(_) | Entry::Result { .. } | Entry::Notice(_) => None,
    }
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn message(entry: &Entry, is_shortened: bool) -> Message {
    match entry {
        Entry::User(text) => user(text),
        Entry::Notice(text) => user(&format!("{NOTICE_PREFIX}{text}")),
        Entry::Model(message) => Message::Model(message.clone()),
        Entry::Result { call, tool, outcome } => Message::Result {
            call: call.clone(),
            tool: tool.clone(),
            text: match is_shortened {
                true => ends_of(&outcome.text, (HEAD_BYTES, TAIL_BYTES)),
                false => outcome.text.clone(),
            },
            is_error: outcome.is_error(),
        },
    }
}

/// Returns the beginning and the end of a text, and says what is left out between.
pub(crate) fn ends_of(text: &str, (head, tail): (usize, usize)) -> String {
    let (start, end) = (text.floor_char_boundary(head), text.len().saturating_sub(tail));
    let end = text.ceil_char_boundary(end);
    if end <= start + NOTICE_PREFIX.len() + 40 {
        return text.to_owned();
    }
    let left_out = end - start;
    format!(
        "{}\n{NOTICE_PREFIX}{left_out} bytes are left out here\n{}",
        &text[..start],
        &text[end..]
    )
}

/// Returns how many bytes of text a request has, tools and system included.
pub(crate) fn bytes(context: &Context) -> u64 {
    let tools = context.tools.iter().map(|tool| {
        let parameters = tool.parameters.to_string().len();
        tool.name.len() + tool.description.len() + parameters
    });
    let messages = bytes_of(&context.messages);
    let rest = tools.sum::<usize>() + context.system.len();
    messages + u64::try_from(rest).unwrap_or(u64::MAX)
}

/// Returns how many bytes of text messages have.
pub(crate) fn bytes_of(messages: &[Message]) -> u64 {
    let bytes = messages.iter().map(|message| match message {
        Message::User { text } => text.len(),
        Message::Model(message) => spoken(message),
        Message::Result { call, tool, text, .. } => call.len() + tool.len() + text.len(),
        Message::Picture { .. } => PICTURE_BYTES,
    });
    u64::try_from(bytes.sum::<usize>()).unwrap_or(u64::MAX)
}

fn spoken(message: &ModelMessage) -> usize {
    let parts = message.parts.iter().map(|part| match part {
        Part::Text(text) => text.len(),
        Part::Thinking(thinking) => {
            thinking.text.len() + thinking.signature.as_deref().map_or(0, str::len)
        }
        Part::Call(call) => call.id.len() + call.name.len() + call.arguments.len(),
    });
    parts.sum()
}

/// Returns how many bytes of text an entry has.
pub(crate) fn bytes_of_entry(entry: &Entry) -> u64 {
    let pictures = match entry {
        Entry::Result { outcome, .. } => outcome.pictures.len() * PICTURE_BYTES,
        Entry::User(_) | Entry::Model(_) | Entry::Notice(_) => 0,
    };
    bytes_of(&[message(entry, false)]) + pictures as u64
}
