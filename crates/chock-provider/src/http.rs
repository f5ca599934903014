//! Sends one request and reads a bounded answer.

use std::error::Error;
use std::io;
use std::sync::Once;
use std::time::Duration;

use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, USER_AGENT,
};
use reqwest::{Client, Response, redirect, retry};
use secrecy::{ExposeSecret, SecretString};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use url::{Host, Url};

use crate::cancel::Cancel;
use crate::endpoint::{CredentialsFault, Endpoint};
use crate::fault::{Cause, ProviderFault};
use crate::retry::{Again, Failure};
use crate::told::{Told, one_line};

/// How much of an error's body is read. The longest seen, with a request quoted in it, is 20 KB.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// The longest that reading an error's body may take.
const ERROR_WAIT_MAX: Duration = Duration::from_secs(10);
/// The longest that a server may take to list its models.
const LIST_WAIT_MAX: Duration = Duration::from_secs(15);
/// How often a silent connection is probed, so that one that died is noticed before `idle` is over.
const PROBE: Duration = Duration::from_secs(30);

/// One server, with the connections to it.
#[derive(Debug)]
pub(crate) struct Server {
    client: Client,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    base: String,
    provider: String,
    loopback: bool,
    connect: Duration,
    idle: Duration,
}

/// A request's credential and the wire's own headers; kept out of every text that leaves here.
#[derive(Debug)]
pub(crate) struct Bearer {
    secret: Option<SecretString>,
    header: HeaderName,
    /// What stands before the credential in its header.
    scheme: &'static str,
    /// What else each request says.
    more: HeaderMap,
}

impl Server {
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, ProviderFault> {
        let url = base_url(&endpoint.base_url)?;
        let loopback = is_loopback(&url);
        let fault =
            |source: Cause| ProviderFault::Client { provider: endpoint.provider.clone(), source };
        let runtime = Builder::new_current_thread().enable_all().build();
        let client = client(&url, loopback, &endpoint.patience.connect);
        Ok(Self {
            client: client.map_err(|source| fault(source.into()))?,
            runtime: Some(runtime.map_err(|source| fault(source.into()))?),
            base: endpoint.base_url.trim_end_matches('/').to_owned(),
            provider: endpoint.provider.clone(),
            loopback,
            connect: endpoint.patience.connect,
            idle: endpoint.patience.idle,
        })
    }

    /// Says whether the server is on this machine's own address.
    pub(crate) fn is_loopback(&self) -> bool {
        self.loopback
    }

    /// Runs `work` on this thread until it ends or `cancel` is triggered.
    pub(crate) fn run<T>(
        &self,
        cancel: &Cancel,
        work: impl AsyncFnOnce(&Self) -> T,
    ) -> Result<T, ProviderFault> {
        self.runtime().block_on(async {
            tokio::select! {
                biased;
                () = cancel.triggered() => Err(ProviderFault::Cancelled),
                done = work(self) => Ok(done),
            }
        })
    }

    /// Sends a JSON body and returns an answer with a good status.
    pub(crate) async fn post(
        &self,
        path: &str,
        bearer: &Bearer,
        body: Vec<u8>,
    ) -> Result<Response, Refusal> {
        let url = format!("{}{path}", self.base);
        let request = self.client.post(&url).headers(bearer.headers(&self.provider)?);
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let request = request.header(ACCEPT, "text/event-stream, application/json");
        let sent = timeout(self.connect + self.idle, request.send()).await;
        self.good(url, bearer, sent.map_err(|_| self.silent(self.idle))?).await
    }

    /// Fetches a small document.
    pub(crate) async fn get(
        &self,
        path: &str,
        bearer: &Bearer,
        max: usize,
    ) -> Result<Vec<u8>, Refusal> {
        let url = format!("{}{path}", self.base);
        let request = self.client.get(&url).headers(bearer.headers(&self.provider)?);
        let request = request.header(ACCEPT, "application/json");
        let fetch = async {
            let mut response = self.good(url, bearer, request.send().await).await?;
            let mut body = Vec::new();
            while let Some(bytes) = response.chunk().await.map_err(|source| self.cut(source))? {
                if body.len() + bytes.len() > max {
                    return Err(Refusal::Failure(self.too_large("bytes", max)));
                }
                body.extend_from_slice(&bytes);
            }
            Ok(body)
        };
        timeout(LIST_WAIT_MAX, fetch).await.map_err(|_| self.silent(LIST_WAIT_MAX))?
    }

    /// Reads the next bytes of an answer into `bytes`; `false` is its orderly end.
    pub(crate) async fn next(
        &self,
        response: &mut Response,
        bytes: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let chunk = timeout(self.idle, response.chunk()).await;
        let chunk =
            chunk.map_err(|_| self.silent(self.idle))?.map_err(|source| self.cut(source))?;
        bytes.clear();
        bytes.extend_from_slice(chunk.as_deref().unwrap_or_default());
        Ok(chunk.is_some())
    }

    /// Reports a stream that ended too early.
    pub(crate) fn cut_short(&self) -> Failure {
        let fault = ProviderFault::Cut { provider: self.provider.clone(), source: None };
        Failure::new(fault, Again::Once)
    }

    /// Reports an answer that is not what it should be.
    pub(crate) fn malformed(&self, reason: impl Into<String>) -> Failure {
        let (provider, reason) = (self.provider.clone(), reason.into());
        Failure::new(ProviderFault::Malformed { provider, reason }, Again::Never)
    }

    /// Reports an answer that is too large.
    pub(crate) fn too_large(&self, what: &'static str, max: usize) -> Failure {
        let provider = self.provider.clone();
        Failure::new(ProviderFault::TooLarge { provider, what, max }, Again::Never)
    }

    fn silent(&self, idle: Duration) -> Failure {
        let provider = self.provider.clone();
        Failure::new(ProviderFault::Silent { provider, idle }, Again::Never)
    }

    fn cut(&self, source: reqwest::Error) -> Failure {
        let (provider, source) = (self.provider.clone(), Some(source.without_url().into()));
        Failure::new(ProviderFault::Cut { provider, source }, Again::Once)
    }

    async fn good(
        &self,
        url: String,
        bearer: &Bearer,
        sent: reqwest::Result<Response>,
    ) -> Result<Response, Refusal> {
        let response = sent.map_err(|source| self.not_sent(url.clone(), source))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if let Some(to) = response.headers().get(LOCATION).filter(|_| status.is_redirection()) {
            let to = one_line(&String::from_utf8_lossy(to.as_bytes()));
            let fault = ProviderFault::Redirect { url, to };
            return Err(Refusal::Failure(Failure::new(fault, Again::Never)));
        }
        let headers = response.headers().clone();
        let body = beginning(response).await;
        let mut told = Told::from_answer(status.as_u16(), &headers, kind(&headers), &body);
        bearer.hide(&mut told.message);
        told.url = url;
        Err(Refusal::Told(Box::new(told)))
    }

    /// Sorts out why a request got no answer.
    fn not_sent(&self, url: String, source: reqwest::Error) -> Failure {
        if !source.is_connect() && !source.is_timeout() {
            return self.cut(source);
        }
        let Trouble { reason, lasting } = trouble(&source);
        let again = if lasting {
            Again::Never
        } else {
            Again::Reconnect { reason: format!("no connection: {reason}") }
        };
        let source = source.without_url().into();
        Failure::new(ProviderFault::Unreachable { url, reason, source }, again)
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("invariant: taken only by drop")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A name that is still being looked up must not hold the program.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Why there is no answer with a good status.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The server said so.
    Told(Box<Told>),
    /// Something else failed.
    Failure(Failure),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl Bearer {
    pub(crate) fn new(secret: Option<SecretString>) -> Self {
        Self { secret, header: AUTHORIZATION, scheme: "Bearer ", more: HeaderMap::new() }
    }

    /// Puts the credential alone into a header of its own.
    pub(crate) fn in_header(self, header: HeaderName) -> Self {
        Self { header, scheme: "", ..self }
    }

    /// Says more with each request.
    pub(crate) fn with(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.more.insert(name, value);
        self
    }

    /// Replaces the credential in a server's words, should it be quoted there.
    pub(crate) fn hide(&self, words: &mut String) {
        let secret = self.secret.as_ref().map_or("", ExposeSecret::expose_secret);
        if !secret.is_empty() && words.contains(secret) {
            *words = words.replace(secret, "(the credential)");
        }
    }

    fn headers(&self, provider: &str) -> Result<HeaderMap, Failure> {
        let mut headers = self.more.clone();
        let Some(secret) = &self.secret else { return Ok(headers) };
        let value = format!("{}{}", self.scheme, secret.expose_secret());
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            let reason = "it has a line end or another character that no header takes".to_owned();
            let source = CredentialsFault { reason, source: None };
            let provider = provider.to_owned();
            Failure::new(ProviderFault::Credential { provider, source }, Again::Never)
        })?;
        value.set_sensitive(true);
        headers.insert(self.header.clone(), value);
        Ok(headers)
    }
}

/// Returns the content type of an answer, without its parameters.
pub(crate) fn kind(headers: &HeaderMap) -> &str {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    kind.split(';').next().unwrap_or("").trim()
}

pub(crate) fn base_url(text: &str) -> Result<Url, ProviderFault> {
    let fault = |reason| ProviderFault::BaseUrl { url: text.to_owned(), reason };
    let url = Url::parse(text).map_err(|_| fault("it does not parse"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault("it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        let url = "(hidden, as it holds a credential)".to_owned();
        return Err(ProviderFault::BaseUrl { url, reason: "a credential belongs elsewhere" });
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault("it must end with its path, without `?` or `#`"));
    }
    Ok(url)
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

pub(crate) fn client(url: &Url, loopback: bool, connect: &Duration) -> reqwest::Result<Client> {
    static CIPHERS: Once = Once::new();
    CIPHERS.call_once(|| {
        // It fails when the process has chosen already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    let (system, machine) = (std::env::consts::OS, std::env::consts::ARCH);
    let name = format!("chock/{} ({system}; {machine})", env!("CARGO_PKG_VERSION"));
    let name = HeaderValue::try_from(name).expect("invariant: it is plain ASCII");
    let mut builder = Client::builder()
        .default_headers(HeaderMap::from_iter([(USER_AGENT, name)]))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .no_gzip()
        .tcp_nodelay(true)
        .tcp_keepalive(PROBE)
        .http2_keep_alive_interval(PROBE)
        .connect_timeout(*connect);
    if loopback {
        builder = builder.no_proxy();
        if url.scheme() == "http" {
            // Reading the machine's certificates, for nothing, takes longer than a caged call.
            builder = builder.tls_certs_only([]);
        }
    }
    builder.build()
}

/// Reads the beginning of an error's body, as far as it comes.
async fn beginning(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            let room = ERROR_BYTES_MAX - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            if body.len() == ERROR_BYTES_MAX {
                break;
            }
        }
    };
    // What has come by then is what there is.
    let _ = timeout(ERROR_WAIT_MAX, read).await;
    body
}

/// Why a connection failed.
pub(crate) struct Trouble {
    pub(crate) reason: String,
    /// Another try would fail the same way.
    lasting: bool,
}

pub(crate) fn trouble(error: &reqwest::Error) -> Trouble {
    let mut causes = Vec::new();
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        causes.push(error);
        // What an I/O error wraps is not its source.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    if let Some(tls) = causes.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
        return Trouble { reason: one_line(&format!("TLS: {tls}")), lasting: true };
    }
    let passing = |reason: &str| Trouble { reason: reason.to_owned(), lasting: false };
    for cause in causes.iter().filter_map(|cause| cause.downcast_ref::<io::Error>()) {
        match cause.kind() {
            io::ErrorKind::ConnectionRefused => return passing("connection refused"),
            io::ErrorKind::ConnectionReset => return passing("connection reset"),
            io::ErrorKind::TimedOut => return passing("no answer in time"),
            io::ErrorKind::HostUnreachable => return passing("no route to the host"),
            io::ErrorKind::NetworkUnreachable => return passing("no route to the network"),
            _ => {}
        }
    }
    if error.is_timeout() {
        passing("no answer in time")
    } else if error.is_dns() {
        passing("the name is not known")
    } else {
        passing(&one_line(&causes.last().map(ToString::to_string).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_base_url_is_checked_and_its_credential_never_shown() {
        for (url, good) in [
            ("https://api.example.com/v1", true),
            ("http://127.0.0.1:8080/v1/", true),
            ("api.example.com/v1", false),
            ("ftp://example.com", false),
            ("https://example.com/v1?key=x", false),
            ("https://example.com/#x", false),
            ("", false),
        ] {
            assert_eq!(base_url(url).is_ok(), good, "{url}");
        }
        let fault = base_url("https://user:hunter2@example.com").unwrap_err();
        assert!(!format!("{fault} {fault:?}").contains("hunter2"));
    }

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        for (url, expected) in [
            ("http://localhost:1/", true),
            ("http://a.localhost/", true),
            ("http://127.8.0.1/", true),
            ("http://[::1]:80/", true),
            ("http://example.com/", false),
            ("http://10.0.0.1/", false),
            ("http://localhost.example.com/", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
