//! What a session may use, and how far it is used.

use chock_log::Session;

/// What a session may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budget {
    /// Millionths of a currency's unit, and its three letters.
    pub money: Option<(u64, String)>,
    /// Tokens in and out together.
    pub tokens: Option<u64>,
}

impl Budget {
    /// Says why nothing more may be used, if that is so.
    ///
    /// A budget that cannot be held is reached: when a price, or a count of tokens, is not known
    /// of a request that was made, nobody knows how much is left.
    #[must_use]
    pub fn reached(&self, session: &Session) -> Option<String> {
        self.money_reached(session).or_else(|| self.tokens_reached(session))
    }

    fn money_reached(&self, session: &Session) -> Option<String> {
        let (most, currency) = self.money.as_ref()?;
        let budget = money(*most, currency);
        let others =
            session.spent.iter().find(|(other, micros)| *other != currency && **micros > 0);
        if let Some((other, micros)) = others {
            let spent = money(*micros, other);
            return Some(format!("{spent} were spent, which the budget of {budget} cannot count"));
        }
        let spent = session.spent.get(currency).copied().unwrap_or_default();
        if spent >= *most {
            return Some(format!("{} of {budget} are spent", money(spent, currency)));
        }
        (session.unpriced > 0).then(|| {
            format!(
                "the cost of {} is not known, so the budget of {budget} cannot be held; give the \
                 provider a `price` in config.zon, or the budget `max_tokens`",
                requests(session.unpriced)
            )
        })
    }

    fn tokens_reached(&self, session: &Session) -> Option<String> {
        let most = self.tokens?;
        let used = session.tokens.total();
        if used >= most {
            return Some(format!("{used} of {most} tokens are used"));
        }
        (session.uncounted > 0).then(|| {
            format!(
                "the server did not count the tokens of {}, so the budget of {most} tokens cannot \
                 be held",
                requests(session.uncounted)
            )
        })
    }

    /// Returns how much of the budget is used, in percent, with words for it: of money or of
    /// tokens, whichever is nearer to its end. `None` without a budget that can be held.
    pub(crate) fn used(&self, session: &Session) -> Option<(u64, String)> {
        let of_money = self.money.as_ref().and_then(|(most, currency)| {
            let spent = session.spent.get(currency).copied().unwrap_or_default();
            let words = format!("{} of {}", money(spent, currency), money(*most, currency));
            (session.unpriced == 0).then(|| (part(spent, *most), words))
        });
        let of_tokens = self.tokens.and_then(|most| {
            let used = session.tokens.total();
            let words = format!("{used} of {most} tokens");
            (session.uncounted == 0).then(|| (part(used, most), words))
        });
        of_money.into_iter().chain(of_tokens).max_by_key(|(percent, _)| *percent)
    }
}

fn part(used: u64, most: u64) -> u64 {
    u64::try_from(u128::from(used) * 100 / u128::from(most.max(1))).unwrap_or(u64::MAX)
}

/// Writes an amount of money with at least two and at most six places.
fn money(micros: u64, currency: &str) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    let places = format!("{rest:06}");
    let places = format!("{:0<2}", places.trim_end_matches('0'));
    format!("{whole}.{places} {currency}")
}

fn requests(count: u64) -> String {
    if count == 1 { "1 request".to_owned() } else { format!("{count} requests") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(budget: &Budget, session: &Session, expected: Option<&str>) {
        assert_eq!(budget.reached(session).as_deref(), expected);
    }

    #[test]
    fn priced_free_and_unknown_are_three_answers() {
        let money = |most, currency: &str| Budget {
            money: Some((most, currency.into())),
            ..Budget::default()
        };
        let mut session = Session::default();
        // Nothing is spent, as with a model that is free.
        check(&money(5, "EUR"), &session, None);
        session.spent.insert("EUR".into(), 2_500_000);
        check(&money(2_500_000, "EUR"), &session, Some("2.50 EUR of 2.50 EUR are spent"));
        check(&money(2_500_001, "EUR"), &session, None);
        let foreign = "2.50 EUR were spent, which the budget of 9.00 USD cannot count";
        check(&money(9_000_000, "USD"), &session, Some(foreign));
        session.unpriced = 1;
        let unknown = money(2_500_001, "EUR").reached(&session).expect("an end");
        assert!(unknown.starts_with("the cost of 1 request is not known"), "{unknown}");
        // What is not known is not known to be too much for a budget of another kind.
        check(&Budget { money: None, tokens: Some(10) }, &session, None);
        check(&Budget::default(), &session, None);
    }

    #[test]
    fn tokens_of_all_kinds_count_and_uncounted_ones_end_it() {
        let budget = Budget { money: None, tokens: Some(10) };
        let mut session = Session::default();
        session.tokens.input = 4;
        session.tokens.cache_read = 3;
        session.tokens.output = 2;
        check(&budget, &session, None);
        assert_eq!(budget.used(&session), Some((90, "9 of 10 tokens".into())));
        session.uncounted = 2;
        assert!(budget.reached(&session).is_some_and(|words| words.contains("of 2 requests")));
        assert_eq!(budget.used(&session), None);
        session.tokens.output = 3;
        check(&budget, &session, Some("10 of 10 tokens are used"));
    }

    #[test]
    fn the_nearer_end_is_told() {
        let budget = Budget { money: Some((1_000_000, "USD".into())), tokens: Some(100) };
        let mut session = Session::default();
        session.spent.insert("USD".into(), 123_450);
        session.tokens.input = 12;
        assert_eq!(budget.used(&session), Some((12, "12 of 100 tokens".into())));
        session.spent.insert("USD".into(), 250_000);
        assert_eq!(budget.used(&session), Some((25, "0.25 USD of 1.00 USD".into())));
        assert_eq!(Budget::default().used(&session), None);
    }
}
