//! What models cost whose servers do not say it: a table of one day.
//!
//! A model whose price follows the length of a prompt is not in it, for one price would be wrong.

use chock_log::Price;
use url::Url;

/// The day to which the table was checked. Sources: the pages on pricing at
/// `platform.claude.com/docs` and on models at `developers.openai.com/api/docs/models`.
pub(crate) const PRICES_DAY: &str = "2026-10-24";

/// A model, and thousandths of a dollar for a million tokens of input, of input from the cache, of
/// input written to the cache for five minutes, and of output.
type Row = (&'static str, [u64; 4]);

const ANTHROPIC: [Row; 12] = [
    ("claude-fable-5-1", [10_000, 250, 12_500, 50_000]),
    ("claude-fable-5", [10_000, 1_000, 12_500, 50_000]),
    ("claude-opus-5-5", [4_000, 200, 5_000, 20_000]),
    ("claude-opus-5", [5_000, 500, 6_250, 25_000]),
    ("claude-opus-4-8", [5_000, 500, 6_250, 25_000]),
    ("claude-opus-4-7", [5_000, 500, 6_250, 25_000]),
    ("claude-opus-4-6", [5_000, 500, 6_250, 25_000]),
    ("claude-opus-4-5", [5_000, 500, 6_250, 25_000]),
    ("claude-sonnet-5-5", [2_000, 100, 2_500, 10_000]),
    ("claude-sonnet-5", [2_000, 200, 2_500, 10_000]),
    ("claude-sonnet-4-5", [3_000, 300, 3_750, 15_000]),
    ("claude-haiku-4-5", [1_000, 100, 1_250, 5_000]),
];

const OPENAI: [Row; 9] = [
    ("gpt-5.4-mini", [750, 75, 750, 4_500]),
    ("gpt-5.3-codex", [1_750, 175, 1_750, 14_000]),
    ("gpt-5.2-codex", [1_750, 175, 1_750, 14_000]),
    ("gpt-5.2", [1_750, 175, 1_750, 14_000]),
    ("gpt-5.1", [1_250, 125, 1_250, 10_000]),
    ("gpt-5-codex", [1_250, 125, 1_250, 10_000]),
    ("gpt-5", [1_250, 125, 1_250, 10_000]),
    ("gpt-5-mini", [250, 25, 250, 2_000]),
    ("gpt-4.1", [2_000, 500, 2_000, 8_000]),
];

/// Finds what a model costs at its vendor's own address, and nowhere else: who sells it on may
/// ask what he likes.
pub(crate) fn of(base_url: &str, model: &str) -> Option<Price> {
    let url = Url::parse(base_url).ok()?;
    let table: &[Row] = match url.host_str()? {
        "api.anthropic.com" => &ANTHROPIC,
        "api.openai.com" => &OPENAI,
        _ => return None,
    };
    let (_, prices) = table.iter().find(|(name, _)| is_that(model, name))?;
    let [input, cache_read, cache_write, output] = prices.map(|thousandths| thousandths * 1000);
    Some(Price { currency: "USD".to_owned(), input, cache_read, cache_write, output })
}

/// Whether `model` is `name`, or one of its versions, with a date behind it.
fn is_that(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else { return false };
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let is_date = rest.starts_with('-')
        && digits == 8
        && rest.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
    rest.is_empty() || is_date
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAUDE: &str = "https://api.anthropic.com/v1";

    #[test]
    fn a_price_is_of_the_model_at_its_own_vendor() {
        let input = |base, model| of(base, model).map(|price| price.input);
        assert_eq!(input(CLAUDE, "claude-opus-5-5"), Some(4_000_000));
        assert_eq!(input(CLAUDE, "claude-opus-5"), Some(5_000_000));
        assert_eq!(input(CLAUDE, "claude-haiku-4-5-20251001"), Some(1_000_000));
        assert_eq!(input("https://api.openai.com/v1", "gpt-5-2025-08-07"), Some(1_250_000));
        assert_eq!(input("https://api.openai.com/v1", "gpt-5-mini"), Some(250_000));
        for (base, model) in [
            (CLAUDE, "gpt-5"),
            (CLAUDE, "claude-opus-5-5-preview"),
            (CLAUDE, "claude-haiku-5-5"),
            ("https://gateway.example/api.anthropic.com", "claude-opus-5"),
            ("https://api.anthropic.com.example/v1", "claude-opus-5"),
            ("http://127.0.0.1:8080/v1", "claude-opus-5"),
            ("no address", "claude-opus-5"),
        ] {
            assert_eq!(input(base, model), None, "{base} {model}");
        }
    }

    #[test]
    fn what_a_cache_serves_costs_less_and_output_more() {
        for (name, [input, read, write, output]) in ANTHROPIC.into_iter().chain(OPENAI) {
            assert!(read < input && input <= write && write < output, "{name}");
        }
    }
}
