//! Reads how long a server asks to wait, in every spelling.

use std::time::{Duration, UNIX_EPOCH};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The longest wait that is believed; a monthly limit resets within it.
const WAIT_MAX: Duration = Duration::from_secs(32 * 24 * 3600);

/// Phrases that a span follows in the words of known servers.
const PHRASES: [&str; 4] = ["try again in ", "retry in ", "retry after ", "reset after "];

/// Returns the longest wait that the headers or the words ask for.
pub(crate) fn asked(headers: &HeaderMap, words: &str) -> Option<Duration> {
    let waits = [
        number(headers, "retry-after-ms").and_then(|ms| seconds(ms / 1000.0)),
        number(headers, RETRY_AFTER.as_str()).and_then(seconds),
        until_date(headers),
        in_words(words),
    ];
    waits.into_iter().flatten().max()
}

/// Returns the server's own time, in seconds since 1970.
pub(crate) fn server_time(headers: &HeaderMap) -> Option<u64> {
    headers.get(DATE)?.to_str().ok().and_then(http_date)
}

/// Makes a span of seconds, if it is one that can be believed.
pub(crate) fn seconds(seconds: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(seconds).ok().map(|wait| wait.min(WAIT_MAX))
}

fn number(headers: &HeaderMap, name: &str) -> Option<f64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Reads a date against the server's own clock, since ours may differ.
fn until_date(headers: &HeaderMap) -> Option<Duration> {
    let until = http_date(headers.get(RETRY_AFTER)?.to_str().ok()?)?;
    let wait = until.saturating_sub(server_time(headers)?);
    Some(Duration::from_secs(wait).min(WAIT_MAX))
}

fn in_words(words: &str) -> Option<Duration> {
    let words = words.to_ascii_lowercase();
    let spans = PHRASES.iter().filter_map(|phrase| {
        let (_, rest) = words.split_once(phrase)?;
        span(rest)
    });
    spans.max()
}

/// Reads `17s`, `1.5s`, `500ms`, `6m0s`, `1 hour 5 minutes`, `5`.
fn span(mut words: &str) -> Option<Duration> {
    let mut total = None::<f64>;
    loop {
        words = words.trim_start();
        let digits = words.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(words.len());
        let Ok(amount) = words[..digits].trim_end_matches('.').parse::<f64>() else { break };
        words = words[digits..].trim_start();
        let letters = words.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(words.len());
        let Some(scale) = scale(&words[..letters]) else {
            total = Some(total.unwrap_or(0.0) + amount);
            break;
        };
        total = Some(total.unwrap_or(0.0) + amount * scale);
        words = &words[letters..];
    }
    seconds(total?)
}

fn scale(unit: &str) -> Option<f64> {
    match unit {
        "ms" | "millisecond" | "milliseconds" => Some(0.001),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1.0),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(60.0),
        "h" | "hr" | "hrs" | "hour" | "hours" => Some(3600.0),
        "d" | "day" | "days" => Some(86400.0),
        _ => None,
    }
}

/// Reads a date in each of the three forms of HTTP as seconds since 1970.
fn http_date(text: &str) -> Option<u64> {
    let date = httpdate::parse_http_date(text.trim()).ok()?;
    Some(date.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn check(headers: &[(&str, &str)], words: &str, expected: Option<u64>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                let name: HeaderName = name.parse().unwrap();
                (name, HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let wait = asked(&headers, words).map(|wait| wait.as_millis());
        assert_eq!(wait, expected.map(u128::from), "{headers:?} {words}");
    }

    #[test]
    fn every_spelling_is_read() {
        check(&[], "", None);
        check(&[("retry-after", "7")], "", Some(7000));
        check(&[("retry-after", "1.5")], "", Some(1500));
        check(&[("retry-after-ms", "250")], "", Some(250));
        check(&[("retry-after-ms", "250"), ("retry-after", "1")], "", Some(1000));
        check(&[("retry-after", "soon")], "", None);
        check(&[("retry-after", "-4")], "", None);
        check(&[("retry-after", "nan")], "", None);
        check(&[("retry-after", "1e30")], "", None);
        check(&[("retry-after", "99999999")], "", Some(32 * 24 * 3600 * 1000));
        check(&[("retry-after", "0")], "Please try again in 17s.", Some(17_000));
    }

    #[test]
    fn a_date_counts_from_the_servers_clock() {
        let at = |second: &str| format!("Sun, 29 Nov 2026 17:52:{second} GMT");
        check(&[("date", &at("01")), ("retry-after", &at("31"))], "", Some(30_000));
        check(&[("date", &at("31")), ("retry-after", &at("01"))], "", Some(0));
        check(&[("retry-after", &at("31"))], "", None);
    }

    #[test]
    fn words_are_read() {
        for (words, expected) in [
            ("Rate limit reached. Please try again in 17s.", Some(17_000)),
            ("please try again in 1.5s", Some(1500)),
            ("Please try again in 500ms. Visit", Some(500)),
            ("Try again in 6m0s.", Some(360_000)),
            ("try again in 1h2m3s", Some(3_723_000)),
            ("try again in 2 minutes", Some(120_000)),
            ("Please retry in 17.366021s.", Some(17_366)),
            ("Please retry after 5 seconds.", Some(5000)),
            ("retry after 5", Some(5000)),
            ("quota will reset after 1 hour 5 minutes.", Some(3_900_000)),
            ("try again in a moment", None),
            ("try again later", None),
        ] {
            check(&[], words, expected);
        }
    }

    #[test]
    fn dates_are_counted() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2000 23:59:59 GMT", Some(951_868_799)),
            ("Sun, 29 Nov 2026 17:52:47 GMT", Some(1_795_974_767)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("yesterday", None),
        ] {
            assert_eq!(http_date(text), expected, "{text}");
        }
    }
}
