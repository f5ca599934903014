//! `chock login`: stores what lets a person in at a provider, once it was seen to work.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::str::FromStr;

use chock_auth::{Place, Store, Stored, TOKEN_BYTES_MAX};
use chock_config::{Person, Provider, ProviderKind, Token};
use chock_provider::Cancel;
use secrecy::{ExposeSecret, SecretString};

use crate::exit::{Exit, Failure, causes};
use crate::first_row;
use crate::program::Program;
use crate::settings::Settings;
use crate::sign_in::{self, Way};
use crate::speaker;
use crate::terminal::{Terminal, Weight};
use crate::unseen;
use crate::visible::visible_line;

/// Sign in at a provider, or store its key
///
/// What is stored is for you alone, and is used by every later run. The kind
/// openai signs in with an account, in a browser. A key is tried before it is
/// stored, and is never an argument: it is asked for, or read from standard input
/// or a file.
#[derive(Debug, clap::Args)]
pub(crate) struct LoginArgs {
    /// The provider, by its name in config.zon or by its kind; the default one if there is none
    provider: Option<String>,

    /// Sign in with a code that is typed in a browser elsewhere
    #[arg(long, conflicts_with = "password_method")]
    device: bool,

    /// How the key comes: prompt, stdin or file=PATH
    #[arg(long, value_name = "METHOD")]
    password_method: Option<Method>,
}

/// How a key comes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Method {
    Prompt,
    Stdin,
    File(PathBuf),
}

impl FromStr for Method {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "prompt" => Ok(Self::Prompt),
            "stdin" => Ok(Self::Stdin),
            _ => match text.strip_prefix("file=") {
                Some(path) if !path.is_empty() => Ok(Self::File(PathBuf::from(path))),
                Some(_) | None => Err("prompt, stdin or file=PATH"),
            },
        }
    }
}

/// What people may take for the option that takes the key.
const SECRET_OPTIONS: &[&str] =
    &["api-key", "apikey", "key", "password", "secret", "token", "access-token"];

/// Refuses a key among the words, without repeating it: behind `chock login` there is at most one
/// word, and no option takes a secret.
pub(crate) fn refuse_secrets(words: &[OsString]) -> Result<(), Failure> {
    let mut plain = 0;
    let mut words = words.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            let short = word.starts_with("-p") || word.starts_with("-w") || word.starts_with("-k");
            plain += usize::from(!word.starts_with('-'));
            if short || plain > 1 {
                return Err(never_an_argument());
            }
            continue;
        };
        let (name, value) = option
            .split_once('=')
            .map_or((option, None), |(name, value)| (name, Some(value.to_owned())));
        if SECRET_OPTIONS.contains(&name) {
            return Err(never_an_argument());
        }
        if name == "password-method" {
            let value = value.or_else(|| words.next().map(std::borrow::Cow::into_owned));
            if value.is_some_and(|value| value.parse::<Method>().is_err()) {
                return Err(Failure::start(
                    "--password-method takes prompt, stdin or file=PATH, and never the key itself",
                ));
            }
        }
    }
    Ok(())
}

fn never_an_argument() -> Failure {
    Failure::start(
        "a key is no argument: it would stand in the shell's history, and every user of this \
         machine could read it; chock login asks for it, or takes it with --password-method stdin \
         or file=PATH. If this one was real, replace it at its provider",
    )
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &LoginArgs,
) -> Result<Exit, Failure> {
    let person = Settings::everywhere(program, terminal)?.effective.person;
    let (row, is_new) = row(&person, args.provider.as_deref())?;
    if matches!(row.kind, ProviderKind::Scripted { .. }) {
        return Err(Failure::start(format!("`{}` is a script, and lets everybody in", row.name)));
    }
    let way = if args.device { Way::Device } else { Way::Browser };
    let credential = match &row.kind {
        // An account has no key; who brings one has no account.
        ProviderKind::Openai(responses) if args.password_method.is_none() => {
            Stored::Account(sign_in::sign_in(program, terminal, responses, way)?)
        }
        _ if args.device => {
            return Err(Failure::start(format!("`{}` takes a key, and no device code", row.name)));
        }
        _ => match key(program, terminal, &row, args.password_method.as_ref())? {
            Some(key) => Stored::Key(key),
            None => {
                terminal.say(Weight::Plain, "nothing was stored");
                return Ok(Exit::Refused);
            }
        },
    };
    let models = tried(terminal, &row, &credential)?;
    let place = match store(program, &row.name, &credential)? {
        Place::File(_) => "",
        Place::Keyring => " in your keyring",
    };
    let line = match &credential {
        Stored::Key(_) => {
            let count = models.len();
            format!("the key for `{}` works ({count} models) and is stored{place}", row.name)
        }
        Stored::Account(account) => format!("signed in as {}", sign_in::whose(account)),
    };
    terminal.say(Weight::Good, &line);
    warn_of_another(program, terminal, &row, &credential);
    if is_new {
        let model = models.first().map_or("", String::as_str);
        first_row::offer(program, terminal, &hosted_row(&row.name, model))?;
    }
    Ok(Exit::Finished)
}

/// Finds the row of a provider. The name of a kind stands for a row that is not written yet.
pub(crate) fn row(person: &Person, named: Option<&str>) -> Result<(Provider, bool), Failure> {
    let names: Vec<_> = person.providers.iter().map(|row| row.name.as_str()).collect();
    let default = person.defaults.provider.as_ref().map(|name| name.value.as_str());
    let name = match (named.or(default), names.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => {
            return Err(Failure::start(format!("say where: chock login {}", HOSTED.join(" | "))));
        }
        (None, [_, _, ..]) => {
            return Err(Failure::start(format!("say which one: {}", names.join(", "))));
        }
    };
    if let Some(row) = person.provider(name) {
        return Ok((row.clone(), false));
    }
    if HOSTED.contains(&name) {
        let made = Person::read("config.zon", &hosted_row(name, ""));
        let made = made.map_err(|faults| Failure::start(faults.to_string()))?;
        let row = made.providers.into_iter().next().expect("invariant: the text has one row");
        return Ok((row, true));
    }
    // The name is not repeated: people paste keys into any place.
    Err(Failure::start(format!(
        "config.zon has no provider of that name; there are: {}",
        names.into_iter().chain(HOSTED.iter().copied()).collect::<Vec<_>>().join(", ")
    )))
}

/// The kinds that need no address.
const HOSTED: &[&str] = &["anthropic", "openai", "aiand"];

/// Writes a row for a kind that needs no address.
fn hosted_row(kind: &str, model: &str) -> String {
    let model = if model.is_empty() {
        String::new()
    } else {
        format!(", .model = {}", first_row::quoted(model))
    };
    format!(".{{ .providers = .{{ .{{ .name = \"{kind}\", .kind = \"{kind}\"{model} }} }} }}")
}

/// Gets the key; none when the person would not.
fn key(
    program: &Program,
    terminal: &mut Terminal,
    row: &Provider,
    method: Option<&Method>,
) -> Result<Option<SecretString>, Failure> {
    let text = match method {
        Some(Method::File(path)) => {
            let path = program.directory.join(path);
            let key = chock_auth::token_in(&path).map_err(|fault| Failure::because(&fault))?;
            return Ok(Some(key));
        }
        Some(Method::Stdin) => from_input()?,
        Some(Method::Prompt) | None if terminal.can_ask => {
            let prompt = format!("Key for {} (it is not shown): ", visible_line(&row.name));
            match unseen::line(terminal, &prompt)? {
                Some(text) => text,
                None => return Ok(None),
            }
        }
        Some(Method::Prompt) | None => {
            return Err(Failure::start(
                "there is no terminal to ask for the key at; use --password-method stdin or \
                 file=PATH",
            ));
        }
    };
    let token =
        Token::new(text.expose_secret().trim()).map_err(|fault| Failure::because(&fault))?;
    Ok(Some(token.reveal().into()))
}

fn from_input() -> Result<SecretString, Failure> {
    let mut bytes = Vec::new();
    let most = TOKEN_BYTES_MAX as u64 + 2;
    let read = io::stdin().lock().take(most).read_to_end(&mut bytes);
    read.map_err(|fault| Failure::start(format!("cannot read the key: {fault}")))?;
    let text = String::from_utf8(bytes);
    text.map(SecretString::from).map_err(|_| Failure::start("what came is no key"))
}

/// Tries a credential: its provider has to list its models for it. Returns their names.
///
/// The tokens of an account were made a moment ago: they are tried for the names only.
fn tried(
    terminal: &mut Terminal,
    row: &Provider,
    credential: &Stored,
) -> Result<Vec<String>, Failure> {
    match (speaker::listed(row, credential, &Cancel::new()), credential) {
        (Ok(listed), _) => Ok(listed.into_iter().map(|model| model.name).collect()),
        (Err(fault), Stored::Key(_)) => {
            Err(Failure::start(format!("nothing was stored: {}", causes(&fault))))
        }
        (Err(fault), Stored::Account(_)) => {
            let line = format!("its models cannot be listed: {}", causes(&fault));
            terminal.say(Weight::Warn, &visible_line(&line));
            Ok(Vec::new())
        }
    }
}

/// Stores a credential in the place of the one that was there.
pub(crate) fn store(program: &Program, provider: &str, what: &Stored) -> Result<Place, Failure> {
    crate::house::make_private(&program.places.data)?;
    let store = Store::at(&program.places.data);
    let held = store.hold(provider).map_err(|fault| Failure::because(&fault))?;
    store.keep(&held, what).map_err(|fault| Failure::because(&fault))
}

/// Says so when something else than what was stored will be used.
fn warn_of_another(
    program: &Program,
    terminal: &mut Terminal,
    row: &Provider,
    credential: &Stored,
) {
    let places = &program.places;
    let store = Store::at(&places.data);
    let lent = chock_auth::lend(row, &places.config, places.home.as_deref(), &store);
    let is_ours = match (&lent, credential) {
        (Ok(Some(Stored::Key(lent))), Stored::Key(key)) => {
            lent.expose_secret() == key.expose_secret()
        }
        (Ok(Some(Stored::Account(_))), Stored::Account(_)) => true,
        (Ok(_) | Err(_), _) => false,
    };
    if !is_ours {
        let line = format!(
            "another token for `{}` comes first: look into its row in config.zon, and into tokens.zon",
            row.name
        );
        terminal.say(Weight::Warn, &line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> Option<String> {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        refuse_secrets(&words).err().map(|failure| failure.message)
    }

    #[test]
    fn a_key_among_the_words_is_refused_and_not_repeated() {
        let secret = "hunter2hunter2";
        let joined = |option: &str| format!("{option}={secret}");
        let cases: [&[&str]; 10] = [
            &["a", secret],
            &["--token", secret],
            &["a", "--api-key", secret],
            &[&joined("--key"), "a"],
            &[&joined("--password")],
            &["--secret", secret, "a"],
            &["-p", secret],
            &["a", &format!("-p{secret}")],
            &["a", "--password-method", secret],
            &[&joined("--password-method"), "a"],
        ];
        for words in cases {
            let message = refused(words).unwrap_or_else(|| panic!("{words:?} was taken"));
            assert!(!message.contains("hunter2"), "{message}");
            assert!(message.contains("stdin or file=PATH"), "{message}");
        }
        for words in [
            &["a"][..],
            &[],
            &["--device", "a"],
            &["a", "--password-method", "stdin"],
            &["--password-method", "file=/x", "a"],
            &["--password-method=prompt", "--verbose", "a"],
        ] {
            assert_eq!(refused(words), None, "{words:?}");
        }
    }
}
