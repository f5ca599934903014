//! Reads the list of models that a server offers, in the fields of several servers.

use chock_log::Price;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::http::{Bearer, Refusal, Server};
use crate::model::Listed;
use crate::prices::{self, PRICES_DAY};
use crate::wired::Wire;

/// The most bytes of a list of models. The longest seen, of 400 models, has 700 KB.
const MODELS_BYTES_MAX: usize = 8 << 20;
/// The most models that are read.
const MODELS_MAX: usize = 4096;
/// The most efforts of one model that are read; the longest list has 7.
const EFFORTS_MAX: usize = 16;

/// The answer to `GET /models`.
#[derive(Debug, Deserialize)]
struct Models {
    #[serde(alias = "models")]
    data: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct Row {
    #[serde(alias = "slug")]
    id: String,
    #[serde(default, deserialize_with = "if_it_fits")]
    context_window: Option<u64>,
    #[serde(default, deserialize_with = "if_it_fits")]
    context_length: Option<u64>,
    #[serde(default, deserialize_with = "if_it_fits")]
    max_model_len: Option<u64>,
    #[serde(default, deserialize_with = "if_it_fits")]
    max_input_tokens: Option<u64>,
    /// Words; or objects with the word in `effort`.
    #[serde(default, alias = "supported_reasoning_levels", deserialize_with = "if_it_fits")]
    reasoning_efforts: Option<Vec<Value>>,
    /// Of llama.cpp.
    #[serde(default)]
    meta: Option<Value>,
    /// Of Anthropic, an object; of others, a list of words.
    #[serde(default)]
    capabilities: Option<Value>,
    #[serde(default, deserialize_with = "if_it_fits")]
    currency: Option<String>,
    /// Prices are texts or numbers, for a million tokens.
    #[serde(default)]
    input_per_1m: Option<Value>,
    #[serde(default)]
    output_per_1m: Option<Value>,
    #[serde(default)]
    cached_input_per_1m: Option<Value>,
    /// Of OpenRouter.
    #[serde(default)]
    pricing: Option<Value>,
}

/// Asks a server for its models, at most 4096 of them.
pub(crate) async fn list<W: Wire>(
    server: &Server,
    endpoint: &Endpoint,
    bearer: &Bearer,
) -> Result<Vec<Listed>, Refusal> {
    let body = server.get(W::models(endpoint), bearer, MODELS_BYTES_MAX).await?;
    let listed = read(&body).ok_or_else(|| server.malformed("its list of models is none"))?;
    Ok(listed.into_iter().map(|listed| with_price(listed, &endpoint.base_url)).collect())
}

/// Reads a list. A row without a name is passed over; `None` where there are no others.
fn read(body: &[u8]) -> Option<Vec<Listed>> {
    let models: Models = serde_json::from_slice(body).ok()?;
    let is_empty = models.data.is_empty();
    let rows = models.data.into_iter().filter_map(|row| serde_json::from_value::<Row>(row).ok());
    let listed: Vec<_> = rows.take(MODELS_MAX).map(Row::listed).collect();
    (is_empty || !listed.is_empty()).then_some(listed)
}

/// Reads a field of which the server says something else as one that it leaves out.
fn if_it_fits<'de, D, T>(input: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = Value::deserialize(input)?;
    Ok(serde_json::from_value(value).ok())
}

/// Takes a price that the server does not say from our table.
fn with_price(mut listed: Listed, base_url: &str) -> Listed {
    if listed.price.is_none() {
        listed.price = prices::of(base_url, &listed.name);
        listed.price_day = listed.price.as_ref().map(|_| PRICES_DAY.to_owned());
    }
    listed
}

impl Row {
    fn listed(self) -> Listed {
        let price = self.price();
        let context_tokens = self
            .context_window
            .or(self.context_length)
            .or(self.max_model_len)
            .or(self.max_input_tokens)
            .or_else(|| self.meta.as_ref()?.get("n_ctx")?.as_u64());
        let effort = |value: &Value| {
            let word = value.as_str().or_else(|| value.get("effort")?.as_str());
            word.map(str::to_owned)
        };
        let efforts = match &self.reasoning_efforts {
            Some(efforts) => efforts.iter().filter_map(effort).take(EFFORTS_MAX).collect(),
            None => self.supported_efforts(),
        };
        Listed { name: self.id, context_tokens, efforts, price, price_day: None }
    }

    /// Reads the efforts among the capabilities, each as a word and whether it is supported.
    fn supported_efforts(&self) -> Vec<String> {
        let efforts = self.capabilities.as_ref().and_then(|it| it.get("effort")?.as_object());
        let is_supported = |value: &Value| value.get("supported") == Some(&Value::Bool(true));
        let efforts = efforts.into_iter().flatten().filter(|(_, value)| is_supported(value));
        efforts.map(|(word, _)| word.clone()).take(EFFORTS_MAX).collect()
    }

    /// Reads a price, if all of it is there. What is cached costs no more than what is not.
    fn price(&self) -> Option<Price> {
        self.price_by_the_million().or_else(|| self.price_by_the_token())
    }

    /// In OpenRouter's fields: texts, in dollars for a token.
    fn price_by_the_token(&self) -> Option<Price> {
        let field = |name| {
            let text = self.pricing.as_ref()?.get(name)?.as_str()?;
            millionths(&Value::from(text.trim().parse::<f64>().ok()? * 1e6))
        };
        let (input, output) = (field("prompt")?, field("completion")?);
        let (read, write) = (field("input_cache_read"), field("input_cache_write"));
        let (cache_read, cache_write) = (read.unwrap_or(input), write.unwrap_or(input));
        Some(Price { currency: "USD".to_owned(), input, cache_read, cache_write, output })
    }

    fn price_by_the_million(&self) -> Option<Price> {
        let currency = self.currency.as_ref()?.to_ascii_uppercase();
        let is_currency = currency.len() == 3 && currency.bytes().all(|it| it.is_ascii_uppercase());
        let input = millionths(self.input_per_1m.as_ref()?)?;
        let output = millionths(self.output_per_1m.as_ref()?)?;
        let cache_read = self.cached_input_per_1m.as_ref().and_then(millionths).unwrap_or(input);
        is_currency.then_some(Price { currency, input, cache_read, cache_write: input, output })
    }
}

/// Reads an amount of money as millionths; `None` if it is no price.
fn millionths(value: &Value) -> Option<u64> {
    let amount = match value {
        Value::String(text) => text.trim().parse::<f64>().ok()?,
        Value::Number(number) => number.as_f64()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let value = (amount * 1e6).round();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    (0.0..=1e15).contains(&value).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn listed(row: Value) -> Listed {
        serde_json::from_value::<Row>(row).unwrap().listed()
    }

    #[test]
    fn the_fields_of_known_servers_are_read() {
        let aiand = listed(json!({"id": "a", "context_window": 131_072, "currency": "usd",
            "reasoning_efforts": ["low", "high"], "input_per_1m": "0.50", "output_per_1m": "2.00",
            "cached_input_per_1m": "0.05"}));
        let currency = "USD".to_owned();
        let price = Price {
            currency,
            input: 500_000,
            cache_read: 50_000,
            cache_write: 500_000,
            output: 2_000_000,
        };
        assert_eq!((aiand.context_tokens, aiand.price), (Some(131_072), Some(price)));
        assert_eq!(aiand.efforts, ["low", "high"]);
        let account = listed(json!({"slug": "b", "context_window": 272_000,
            "supported_reasoning_levels": [{"effort": "low"}, {"effort": "medium"}]}));
        assert_eq!((account.name.as_str(), account.price), ("b", None));
        assert_eq!(account.efforts, ["low", "medium"]);
        let efforts =
            json!({"supported": true, "low": {"supported": true}, "max": {"supported": false}});
        let anthropic = listed(json!({"id": "c", "max_input_tokens": 200_000,
            "capabilities": {"effort": efforts, "image_input": {"supported": true}}}));
        assert_eq!((anthropic.context_tokens, anthropic.price), (Some(200_000), None));
        assert_eq!(anthropic.efforts, ["low"]);
        let router = listed(json!({"id": "e", "context_length": 1_000_000, "pricing":
            {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003",
            "input_cache_write": "0.00000375", "image": "0.0048"}}));
        let currency = "USD".to_owned();
        let price = Price {
            currency,
            input: 3_000_000,
            cache_read: 300_000,
            cache_write: 3_750_000,
            output: 15_000_000,
        };
        assert_eq!((router.context_tokens, router.price), (Some(1_000_000), Some(price)));
        let words = listed(json!({"id": "d", "capabilities": ["effort"], "meta": {"n_ctx": 8192}}));
        assert_eq!((words.context_tokens, words.efforts), (Some(8192), Vec::new()));
    }

    #[test]
    fn a_row_or_a_field_that_is_odd_hides_no_other_model() {
        let body = json!({"data": [
            {"id": "a", "context_length": -1, "reasoning_efforts": "low", "currency": 7},
            {"id": 7},
            {"id": "b", "max_model_len": 8192, "currency": "usd"},
        ]});
        let listed = read(body.to_string().as_bytes()).expect("a list");
        let facts: Vec<_> = listed.iter().map(|it| (it.name.as_str(), it.context_tokens)).collect();
        assert_eq!(facts, [("a", None), ("b", Some(8192))]);
        assert_eq!(read(br#"{"data": []}"#).expect("a list"), []);
        for none in [&br#"{"data": [{"id": 7}]}"#[..], br#"{"data": {}}"#, b"[]", b"<html>"] {
            assert_eq!(read(none), None, "{none:?}");
        }
    }

    #[test]
    fn half_a_price_is_none() {
        for fields in [
            json!({"currency": "usd", "input_per_1m": "1"}),
            json!({"input_per_1m": "1", "output_per_1m": "1"}),
            json!({"currency": "usd", "input_per_1m": "-1", "output_per_1m": "1"}),
            json!({"currency": "usd", "input_per_1m": "nan", "output_per_1m": "1"}),
            json!({"currency": "tokens", "input_per_1m": 1, "output_per_1m": 1}),
            json!({"pricing": {"prompt": "0.000001"}}),
            json!({"pricing": {"prompt": "-1", "completion": "-1"}}),
            json!({"pricing": {"input": 3, "output": 15}}),
            json!({"pricing": "free"}),
        ] {
            let mut row = json!({"id": "x"});
            row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            assert_eq!(listed(row.clone()).price, None, "{row}");
        }
    }
}
