//! Small requests outside of every conversation: to an issuer, or to see who answers.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Client, RequestBuilder};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::fault::{Cause, ProviderFault};
use crate::http::{base_url, client, is_loopback, trouble};

/// What sends small requests to the server of one URL, as models are asked.
///
/// No redirect is followed, nothing is tried twice, and on this machine's own address no proxy is
/// asked.
#[derive(Debug)]
pub struct Plain {
    client: Client,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    time: Duration,
    max: usize,
}

/// An answer, whatever its status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainAnswer {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Plain {
    /// Prepares requests to the server of `url`. Each may take `time`, and its answer have `max`
    /// bytes.
    ///
    /// # Errors
    ///
    /// The URL is none, or the client cannot be built.
    pub fn new(url: &str, time: Duration, max: usize) -> Result<Self, ProviderFault> {
        let base = base_url(url)?;
        let fault = |source: Cause| ProviderFault::Client { provider: url.to_owned(), source };
        let client = client(&base, is_loopback(&base), &time);
        let runtime = Builder::new_current_thread().enable_all().build();
        Ok(Self {
            client: client.map_err(|source| fault(source.into()))?,
            runtime: Some(runtime.map_err(|source| fault(source.into()))?),
            time,
            max,
        })
    }

    /// Posts a body.
    ///
    /// # Errors
    ///
    /// There is no whole answer in time, or it is too large. No fault holds any of the body.
    pub fn post(
        &self,
        url: &str,
        content_type: &str,
        body: Vec<u8>,
    ) -> Result<PlainAnswer, ProviderFault> {
        let request = self.client.post(url).header(CONTENT_TYPE, content_type).body(body);
        self.exchange(url, request)
    }

    /// Fetches a document.
    ///
    /// # Errors
    ///
    /// As [`Plain::post`].
    pub fn get(&self, url: &str) -> Result<PlainAnswer, ProviderFault> {
        self.exchange(url, self.client.get(url))
    }

    fn exchange(&self, url: &str, request: RequestBuilder) -> Result<PlainAnswer, ProviderFault> {
        let runtime = self.runtime.as_ref().expect("invariant: taken only by drop");
        let request = request.header(ACCEPT, "application/json");
        let answered =
            runtime.block_on(async { timeout(self.time, self.answer(url, request)).await });
        let silent = |_| ProviderFault::Silent { provider: url.to_owned(), idle: self.time };
        answered.map_err(silent)?
    }

    async fn answer(
        &self,
        url: &str,
        request: RequestBuilder,
    ) -> Result<PlainAnswer, ProviderFault> {
        let unreachable = |source: reqwest::Error| {
            let (url, reason) = (url.to_owned(), trouble(&source).reason);
            ProviderFault::Unreachable { url, reason, source: source.without_url().into() }
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let (status, mut body) = (response.status().as_u16(), Vec::new());
        while let Some(bytes) = response.chunk().await.map_err(unreachable)? {
            if body.len() + bytes.len() > self.max {
                let (provider, max) = (url.to_owned(), self.max);
                return Err(ProviderFault::TooLarge { provider, what: "bytes", max });
            }
            body.extend_from_slice(&bytes);
        }
        Ok(PlainAnswer { status, body })
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // A name that is still being looked up must not hold the program.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
