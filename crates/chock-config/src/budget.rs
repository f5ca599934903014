//! What a session may spend.

use std::fmt;

use chock_zon::{Place, Spanned};
use serde::Deserialize;

use crate::source::Source;

/// What a session may spend at most; at least one of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// Money.
    pub cost: Option<Cost>,
    /// Tokens of all kinds together, at least 1.
    pub tokens: Option<u64>,
    /// Where it stands.
    pub place: Place,
}

/// An amount of money.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    /// More than zero and finite, in the currency's unit.
    pub amount: f64,
    /// Three letters, upper case.
    pub currency: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BudgetBlock {
    max_cost: Option<Spanned<f64>>,
    currency: Option<Spanned<String>>,
    max_tokens: Option<Spanned<u64>>,
}

impl BudgetBlock {
    /// The budget that the block says, with its faults noted.
    pub(crate) fn check(self, place: Place, source: &mut Source<'_>) -> Option<Budget> {
        let Self { max_cost, currency, max_tokens } = self;
        if max_cost.is_none() && max_tokens.is_none() {
            let message = "a budget has `.max_cost` with `.currency`, or `.max_tokens`";
            source.refuse(currency.map_or(place, |currency| currency.place), message);
            return None;
        }
        if let Some(tokens) = max_tokens.as_ref().filter(|tokens| tokens.value == 0) {
            source.refuse(tokens.place, "a budget of no tokens would end every session at once");
        }
        let cost = match (max_cost, currency) {
            (Some(amount), Some(currency)) => Some(cost(&amount, &currency, source)),
            (Some(amount), None) => {
                source.refuse(amount.place, "a cost needs its `.currency`, as in \"USD\"");
                None
            }
            (None, Some(currency)) => {
                source.refuse(currency.place, "a currency needs its `.max_cost`");
                None
            }
            (None, None) => None,
        };
        Some(Budget { cost, tokens: max_tokens.map(|tokens| tokens.value), place })
    }
}

fn cost(amount: &Spanned<f64>, currency: &Spanned<String>, source: &mut Source<'_>) -> Cost {
    if !amount.value.is_finite() || amount.value <= 0.0 {
        source.refuse(amount.place, "a cost is a number above zero");
    }
    if !is_currency(&currency.value) {
        source.refuse(currency.place, "a currency has three letters, as in \"USD\"");
    }
    Cost { amount: amount.value, currency: currency.value.to_ascii_uppercase() }
}

pub(crate) fn is_currency(text: &str) -> bool {
    text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

impl fmt::Display for Budget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cost, self.tokens) {
            (Some(cost), Some(tokens)) => write!(out, "{cost}, {tokens} tokens"),
            (Some(cost), None) => cost.fmt(out),
            (None, Some(tokens)) => write!(out, "{tokens} tokens"),
            (None, None) => out.write_str("nothing"),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.amount, self.currency)
    }
}
