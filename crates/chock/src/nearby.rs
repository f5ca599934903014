//! What a person with nothing configured can do: sign in, or take a server that runs here.

use std::thread;
use std::time::Duration;

use chock_provider::Plain;
use serde::Deserialize;

use crate::exit::Failure;
use crate::first_row::{self, quoted};
use crate::program::Program;
use crate::terminal::{Terminal, Weight};
use crate::visible::{shortened, visible_line};

/// Servers of models, the name for a row, and the port that each usually has.
const USUAL: [(&str, &str, u16); 4] = [
    ("Ollama", "ollama", 11434),
    ("llama.cpp", "llama-cpp", 8080),
    ("LM Studio", "lm-studio", 1234),
    ("vLLM", "vllm", 8000),
];

/// How long one may take to list its models. It is this machine: who is there answers at once.
const TIME: Duration = Duration::from_millis(700);

/// The most bytes of a list of models.
const LIST_BYTES_MAX: usize = 1 << 20;

/// How many models of one server are named.
const NAMED_MAX: usize = 5;

/// The longest name of a model that a row takes, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// The least context that a row takes, in tokens.
const CONTEXT_TOKENS_MIN: u64 = 1024;

/// A server that answered.
#[derive(Debug, PartialEq, Eq)]
struct Nearby {
    usual: (&'static str, &'static str, u16),
    models: Vec<Listed>,
}

/// A model as a server lists it. What else a server says of it differs from one to the other.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Listed {
    id: String,
    #[serde(default)]
    max_model_len: Option<u64>,
    #[serde(default)]
    meta: Option<Meta>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Meta {
    #[serde(default)]
    n_ctx: Option<u64>,
}

#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

/// Says how to sign in, and offers a server that answers at a usual port of this machine. Says
/// whether a configuration was written.
pub(crate) fn offer(program: &Program, terminal: &mut Terminal) -> Result<bool, Failure> {
    let lines = [
        "No provider is configured. One of these lets you in:",
        "  chock login anthropic   with a key for Anthropic's API",
        "  chock login openai      with a ChatGPT account, in a browser",
        "  chock login aiand       with a key for ai&",
        "  a server on this machine or elsewhere, as docs/providers.md tells",
    ];
    for line in lines {
        terminal.say(Weight::Plain, line);
    }
    let found = look();
    for nearby in &found {
        let (what, _, port) = nearby.usual;
        let names = nearby.models.iter().take(NAMED_MAX).map(|model| model.id.as_str());
        let names = shortened(&visible_line(&names.collect::<Vec<_>>().join(", ")), 100);
        let line = format!("Where {what} usually is, port {port}, a server answers with: {names}");
        terminal.say(Weight::Good, &line);
    }
    if found.is_empty() { Ok(false) } else { first_row::offer(program, terminal, &rows(&found)) }
}

/// Asks at each usual port, all at once, and at this machine's own address only.
fn look() -> Vec<Nearby> {
    let asked = USUAL.map(|usual| thread::spawn(move || ask(usual)));
    asked.into_iter().filter_map(|asked| asked.join().ok().flatten()).collect()
}

fn ask(usual: (&'static str, &'static str, u16)) -> Option<Nearby> {
    let base = format!("http://127.0.0.1:{}", usual.2);
    let answer = Plain::new(&base, TIME, LIST_BYTES_MAX).ok()?.get(&format!("{base}/v1/models"));
    let answer = answer.ok().filter(|answer| answer.status == 200)?;
    let models = models(&answer.body)?;
    Some(Nearby { usual, models })
}

/// Reads a list; none when there is no model with a name that a row takes.
fn models(body: &[u8]) -> Option<Vec<Listed>> {
    let list: List = serde_json::from_slice(body).ok()?;
    let fits = |model: &Listed| {
        let visible = |letter: char| !letter.is_control() && !letter.is_whitespace();
        (1..=NAME_BYTES_MAX).contains(&model.id.len()) && model.id.chars().all(visible)
    };
    let models: Vec<_> = list.data.into_iter().filter(fits).collect();
    (!models.is_empty()).then_some(models)
}

/// Writes the configuration with a row for each server and its first model.
fn rows(found: &[Nearby]) -> String {
    let row = |nearby: &Nearby| {
        let (_, name, port) = nearby.usual;
        let model = nearby.models.first().expect("invariant: a server has a model");
        let tokens = model.meta.as_ref().and_then(|meta| meta.n_ctx).or(model.max_model_len);
        let tokens = tokens.filter(|tokens| *tokens >= CONTEXT_TOKENS_MIN);
        let tokens = tokens.map(|tokens| format!(", .context_tokens = {tokens}"));
        format!(
            ".{{ .name = \"{name}\", .kind = \"openai-compat\", .base_url = \
             \"http://127.0.0.1:{port}/v1\", .model = {}{} }}",
            quoted(&model.id),
            tokens.unwrap_or_default()
        )
    };
    let rows: Vec<_> = found.iter().map(row).collect();
    let default = match found {
        [first, _, ..] => format!(", .defaults = .{{ .provider = \"{}\" }}", first.usual.1),
        [] | [_] => String::new(),
    };
    format!(".{{ .providers = .{{ {} }}{default} }}", rows.join(", "))
}

#[cfg(test)]
mod tests {
    use chock_config::Person;

    use super::*;

    #[test]
    fn what_servers_list_becomes_rows_that_are_read() {
        let lists = [
            r#"{"object":"list","data":[{"id":"qwen3:30b","object":"model"},{"id":"x"}]}"#,
            r#"{"data":[{"id":"smol","meta":{"n_ctx":8192,"n_vocab":1}}],"models":[]}"#,
            r#"{"data":[{"id":"a b"},{"id":""},{"id":"org/\"model\\","max_model_len":32768}]}"#,
            r#"{"data":[{"id":"tiny","max_model_len":64,"meta":null}]}"#,
        ];
        let found: Vec<_> = USUAL
            .into_iter()
            .zip(lists)
            .map(|(usual, list)| Nearby { usual, models: models(list.as_bytes()).expect("models") })
            .collect();
        let person = Person::read("config.zon", &rows(&found)).expect("a configuration");
        let read: Vec<_> = person
            .providers
            .iter()
            .map(|row| {
                let model = row.model.as_ref().map_or("", |model| model.value.as_str());
                (row.name.as_str(), model, row.context_tokens)
            })
            .collect();
        assert_eq!(
            read,
            [
                ("ollama", "qwen3:30b", None),
                ("llama-cpp", "smol", Some(8192)),
                ("lm-studio", "org/\"model\\", Some(32768)),
                ("vllm", "tiny", None),
            ]
        );
        assert_eq!(person.defaults.provider.map(|name| name.value).as_deref(), Some("ollama"));
        assert!(Person::read("config.zon", &rows(&found[..1])).is_ok());
    }

    #[test]
    fn what_is_no_list_is_no_server() {
        for body in ["", "<html>", "{}", r#"{"data":[]}"#, r#"{"data":[{"id":"\u001b"}]}"#] {
            assert_eq!(models(body.as_bytes()), None, "{body}");
        }
    }
}
