//! The sign-in without a browser on this machine: a short code, typed elsewhere.

use std::time::{Duration, Instant};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;

use super::wire::{Answer, Body, Told, Wire, one_line, post};
use super::{Account, Issuer, SignInFault, grant};

/// How often is asked when the issuer does not say it.
const INTERVAL: Duration = Duration::from_secs(5);

/// The longest pause that an issuer can ask for.
const INTERVAL_MAX: Duration = Duration::from_secs(60);

/// What an issuer that is asked too often wants more. Source: RFC 8628.
const SLOWER: Duration = Duration::from_secs(5);

/// How many times in a row nobody may answer.
const SILENCE_MAX: u32 = 5;

/// A sign-in that waits for the person to type the code.
pub struct DeviceSignIn {
    issuer: Issuer,
    device: SecretString,
    user_code: String,
    interval: Duration,
}

#[derive(Deserialize)]
struct Begun {
    device_auth_id: String,
    #[serde(alias = "usercode")]
    user_code: String,
    #[serde(default)]
    interval: Value,
}

#[derive(Deserialize)]
struct Granted {
    authorization_code: String,
    code_verifier: String,
}

impl DeviceSignIn {
    /// Asks the issuer for a code.
    ///
    /// # Errors
    ///
    /// It cannot be reached, or has no codes for this client.
    pub fn begin(issuer: &Issuer, wire: &dyn Wire) -> Result<Self, SignInFault> {
        let url = issuer.at("/api/accounts/deviceauth/usercode");
        let fields = [("client_id", issuer.client_id.as_str())];
        let answer = post(wire, &url, &Body::Json(&fields))
            .map_err(|source| SignInFault::Unreachable { url, source })?;
        match answer.status {
            200 => {}
            404 => return Err(SignInFault::NoDeviceCodes { issuer: issuer.url.clone() }),
            status => {
                let words = Told::of(&answer, &[]).words;
                return Err(SignInFault::Refused { status, words });
            }
        }
        let begun: Begun = serde_json::from_slice(&answer.body)
            .map_err(|_| SignInFault::Nonsense { reason: "it holds no code for a device" })?;
        Ok(Self {
            issuer: issuer.clone(),
            device: begun.device_auth_id.into(),
            user_code: one_line(&begun.user_code),
            interval: interval(&begun.interval),
        })
    }

    /// Where the person types the code.
    #[must_use]
    pub fn url(&self) -> String {
        self.issuer.at("/codex/device")
    }

    /// What they type there.
    #[must_use]
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Asks until the person has typed the code. `pause` waits, and says whether to go on;
    /// `now` tells the seconds since 1970.
    ///
    /// None comes back when `pause` ended it.
    ///
    /// # Errors
    ///
    /// The person said no, the time is over, or the issuer cannot be reached any longer.
    pub fn wait(
        &self,
        wire: &dyn Wire,
        pause: &mut dyn FnMut(Duration) -> bool,
        now: &dyn Fn() -> u64,
    ) -> Result<Option<Account>, SignInFault> {
        let (since, mut interval, mut silent) = (Instant::now(), self.interval, 0);
        while since.elapsed() < self.issuer.device_time {
            if !pause(interval) {
                return Ok(None);
            }
            match self.ask(wire) {
                Ok(Asked::Granted(granted)) => return self.redeem(wire, granted, now()).map(Some),
                Ok(Asked::Pending) => silent = 0,
                Ok(Asked::TooOften) => interval = (interval + SLOWER).min(INTERVAL_MAX),
                Err(fault @ SignInFault::Unreachable { .. }) => {
                    silent += 1;
                    if silent == SILENCE_MAX {
                        return Err(fault);
                    }
                }
                Err(fault) => return Err(fault),
            }
        }
        Err(SignInFault::Expired { time: self.issuer.device_time })
    }

    fn ask(&self, wire: &dyn Wire) -> Result<Asked, SignInFault> {
        let url = self.issuer.at("/api/accounts/deviceauth/token");
        let device = self.device.expose_secret();
        let fields = [("device_auth_id", device), ("user_code", self.user_code.as_str())];
        let answer = post(wire, &url, &Body::Json(&fields))
            .map_err(|source| SignInFault::Unreachable { url, source })?;
        self.asked(&answer, device)
    }

    /// Reads an answer: 403 and 404 mean that nobody typed the code yet, unless they say more.
    fn asked(&self, answer: &Answer, device: &str) -> Result<Asked, SignInFault> {
        if answer.status == 200 {
            let granted = serde_json::from_slice(&answer.body)
                .map_err(|_| SignInFault::Nonsense { reason: "it holds no code to redeem" })?;
            return Ok(Asked::Granted(granted));
        }
        let told = Told::of(answer, &[device]);
        if told.says("denied") || told.says("declined") {
            return Err(SignInFault::Denied { words: told.words });
        }
        if told.says("expired") {
            return Err(SignInFault::Expired { time: self.issuer.device_time });
        }
        match answer.status {
            403 | 404 => Ok(Asked::Pending),
            429 => Ok(Asked::TooOften),
            408 | 500.. => Ok(Asked::Pending),
            status => Err(SignInFault::Refused { status, words: told.words }),
        }
    }

    fn redeem(&self, wire: &dyn Wire, granted: Granted, now: u64) -> Result<Account, SignInFault> {
        let redirect = self.issuer.at("/deviceauth/callback");
        let Granted { authorization_code, code_verifier } = granted;
        let (code, verifier) = (authorization_code.into(), code_verifier.into());
        let answer = grant::redeem(&self.issuer, wire, &code, &verifier, &redirect)?;
        grant::account(&self.issuer, &answer, now)
    }
}

/// What an issuer answers to a device.
enum Asked {
    Pending,
    TooOften,
    Granted(Granted),
}

/// Reads an interval, which comes as text or as a number of seconds.
fn interval(value: &Value) -> Duration {
    let seconds = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    let asked = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    asked.unwrap_or(INTERVAL).clamp(Duration::from_secs(1), INTERVAL_MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_interval_is_read_as_text_and_as_a_number() {
        let seconds = |value: Value| interval(&value).as_secs();
        assert_eq!(seconds(json!("7")), 7);
        assert_eq!(seconds(json!(7)), 7);
        assert_eq!(seconds(json!("0")), 1);
        assert_eq!(seconds(json!(-3)), 5);
        assert_eq!(seconds(json!("1e9")), 60);
        assert_eq!(seconds(json!("soon")), 5);
        assert_eq!(seconds(Value::Null), 5);
    }
}
