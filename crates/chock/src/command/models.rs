//! `chock models`: what the servers of the person's providers offer.

use std::thread;

use chock_config::{ChoiceFault, Person, Provider, ProviderKind, nearest};
use chock_log::Price;
use chock_provider::{Cancel, Listed};
use serde_json::{Value, json};

use crate::exit::{Exit, Failure, causes};
use crate::program::Program;
use crate::settings::Settings;
use crate::show::thousands;
use crate::speaker;
use crate::terminal::{Terminal, Weight};
use crate::visible::{escaped_json, visible_line};

/// Show the models that can be chosen, with their context and price
///
/// Each provider's server is asked. What config.zon says of a model counts more than what its
/// server says.
#[derive(Debug, clap::Args)]
pub(crate) struct ModelsArgs {
    /// Ask this provider only, by its name in config.zon
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,

    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    program: &Program,
    terminal: &mut Terminal,
    args: &ModelsArgs,
) -> Result<Exit, Failure> {
    let person = Settings::everywhere(program, terminal)?.effective.person;
    let rows = rows(&person, args.provider.as_deref())?;
    // All at once: one that does not answer holds nobody else up.
    let asked: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let (places, person, of_thread) = (program.places.clone(), person.clone(), row.clone());
            let ask = move || {
                let model = speaker::of_row(&places, &person, &of_thread)?;
                model.models(&Cancel::new()).map_err(|fault| Failure::fault(causes(&fault)))
            };
            (row, thread::spawn(ask))
        })
        .collect();
    let mut exit = Exit::Fault;
    for (row, asked) in asked {
        match asked.join().expect("invariant: asking does not panic") {
            Ok(listed) => {
                exit = Exit::Finished;
                tell(terminal, args.json, &row, listed)?;
            }
            Err(failure) => {
                let line = format!("{} cannot be asked: {}", row.name, failure.message);
                terminal.say(Weight::Warn, &visible_line(&line));
                if args.json {
                    let line = json!({ "provider": row.name, "error": failure.message });
                    terminal.answer(&escaped_json(&line.to_string()))?;
                }
            }
        }
    }
    Ok(exit)
}

/// Finds whom to ask.
fn rows(person: &Person, named: Option<&str>) -> Result<Vec<Provider>, Failure> {
    let known: Vec<_> = person.providers.iter().map(|row| row.name.as_str()).collect();
    match named {
        _ if known.is_empty() => {
            Err(Failure::start("no provider is configured; chock login says how to begin"))
        }
        None => Ok(person.providers.clone()),
        Some(name) => match person.provider(name) {
            Some(row) => Ok(vec![row.clone()]),
            None => {
                let nearest = nearest(name, known.iter().copied()).map(str::to_owned);
                let (name, known) = (visible_line(name), known.join(", "));
                let fault = ChoiceFault::UnknownProvider { name, known, nearest };
                Err(Failure::because(&fault))
            }
        },
    }
}

fn tell(
    terminal: &mut Terminal,
    as_json: bool,
    row: &Provider,
    listed: Vec<Listed>,
) -> Result<(), Failure> {
    let is_chosen = |name: &str| row.models.is_empty() || row.models.iter().any(|it| it == name);
    let listed: Vec<_> = listed.into_iter().filter(|model| is_chosen(&model.name)).collect();
    if listed.is_empty() {
        let words = match row.models.as_slice() {
            _ if matches!(row.kind, ProviderKind::Scripted { .. }) => "a script has no models",
            [] => "its server lists no models",
            [_, ..] => "its server lists none of the models of its row",
        };
        terminal.say(Weight::Warn, &format!("{}: {words}", row.name));
        return Ok(());
    }
    if !as_json {
        terminal.answer(&row.name)?;
    }
    for mut model in listed {
        model.context_tokens = row.context_tokens.or(model.context_tokens);
        if let Some(price) = row.price() {
            (model.price, model.price_day) = (Some(speaker::price(price)), None);
        }
        let line = if as_json { line(row, &model) } else { words(row, &model) };
        terminal.answer(&line)?;
    }
    Ok(())
}

/// One model as a person reads it.
fn words(row: &Provider, model: &Listed) -> String {
    let mut words = Vec::new();
    words.extend(model.context_tokens.map(|tokens| format!("{} tokens", thousands(tokens))));
    if !model.efforts.is_empty() {
        words.push(format!("efforts {}", model.efforts.join(", ")));
    }
    words.extend(model.price.as_ref().map(price_words));
    words.extend(model.price_day.as_ref().map(|day| format!("a price of {day}")));
    if is_default(row, &model.name) {
        words.push("the row's own".to_owned());
    }
    let line = format!("  {:<40} {}", model.name, words.join(" · "));
    visible_line(line.trim_end())
}

fn price_words(price: &Price) -> String {
    let [input, output] = [price.input, price.output].map(|micros| micros as f64 / 1e6);
    format!("{input} in, {output} out, {} a million tokens", price.currency)
}

fn line(row: &Provider, model: &Listed) -> String {
    let price = model.price.as_ref().map_or(Value::Null, |price| {
        json!({
            "currency": price.currency, "input_micros": price.input, "output_micros": price.output,
            "cache_read_micros": price.cache_read, "cache_write_micros": price.cache_write,
        })
    });
    let line = json!({
        "provider": row.name, "name": model.name, "context_tokens": model.context_tokens,
        "efforts": model.efforts, "price": price, "price_day": model.price_day,
        "default": is_default(row, &model.name),
    });
    escaped_json(&line.to_string())
}

/// Says whether a row names this model where nobody names another.
fn is_default(row: &Provider, name: &str) -> bool {
    row.model.as_ref().is_some_and(|model| model.value == name)
}
