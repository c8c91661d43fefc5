//! W3C WebDriver over HTTP and JSON (<https://www.w3.org/TR/webdriver2/>): commands out, answers or errors in.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use ureq::Agent;
use url::Url;

use crate::base::secret::Secret;

/// The most bytes of an answer: a page's HTML, escaped.
const MAX_ANSWER_BYTES: u64 = 32 * 1024 * 1024;

/// What drivers say when their browser is gone: chromedriver, then geckodriver.
const END_OF_SESSION: [&str; 6] = [
    "disconnected",
    "not reachable",
    "session deleted",
    "has closed the connection",
    "Failed to decode response from marionette",
    "without establishing a connection",
];

/// Why a command did not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nobody answers there, or not in WebDriver's way, or the connection broke.
    Gone(String),
    /// No answer in time.
    Late,
    /// The driver's own error: its code (section 6.6) and its explanation.
    Refused {
        /// `no such window`, `unknown error`, …
        code: String,
        /// For people.
        message: String,
    },
}

impl Fault {
    /// What may be told of it: explanations of a driver may show an address that was opened.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Gone(_) => "its driver does not answer",
            Self::Late => "its driver does not answer in time",
            Self::Refused { code, .. } => code,
        }
    }

    /// Whether the session that was asked is of no use any more.
    pub(super) fn is_end_of_session(&self) -> bool {
        match self {
            Self::Gone(_) | Self::Late => true,
            Self::Refused { code, message } => {
                code == "invalid session id" || END_OF_SESSION.iter().any(|sign| message.contains(sign))
            }
        }
    }

    /// Whether no browser was started, or there was no room for one.
    pub(super) fn is_refused_start(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "session not created")
    }

    /// Whether a wish was not understood, or nobody is there who could.
    pub(super) fn is_misunderstanding(&self) -> bool {
        match self {
            Self::Gone(_) => true,
            Self::Refused { code, .. } => code == "invalid argument",
            Self::Late => false,
        }
    }

    /// Whether the page's own process died.
    pub(super) fn is_crash(&self) -> bool {
        matches!(self, Self::Refused { message, .. } if message.contains("tab crashed"))
    }

    /// Whether the page left no time for a script.
    pub(super) fn is_hang(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "script timeout" || code == "timeout")
    }

    /// Whether the window that was asked is closed.
    pub(super) fn is_closed_window(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "no such window")
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Gone(why) => write!(f, "the driver is gone: {why}"),
            Self::Late => f.write_str("the driver does not answer in time"),
            // The explanation's first line; stack traces follow.
            Self::Refused { code, message } => {
                write!(f, "{code}: {}", message.lines().next().unwrap_or_default())
            }
        }
    }
}

/// An endpoint: chromedriver, geckodriver, a Selenium Grid.
pub(super) struct Client {
    agent: Agent,
    /// Without a slash at its end.
    base: String,
    authorization: Option<Secret<String>>,
    is_local: bool,
    port: u16,
}

impl Client {
    /// One for the endpoint at `url`, whose user and password are sent as Basic authentication.
    pub(super) fn new(url: &Url) -> Self {
        let config = Agent::config_builder()
            // Else one would be taken from the environment.
            .proxy(None)
            .http_status_as_error(false)
            // A driver that was started anew on the same port must not meet an old connection.
            .max_idle_connections(0);
        let mut bare = url.clone();
        // Cannot fail for web addresses.
        let _ = (bare.set_username(""), bare.set_password(None));
        Self {
            agent: config.build().new_agent(),
            base: bare.as_str().trim_end_matches('/').to_owned(),
            authorization: authorization(url),
            is_local: is_local(url),
            port: url.port_or_known_default().unwrap_or(80),
        }
    }

    /// Whether the endpoint is on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn get(&self, path: &str, timeout: Duration) -> Result<Value, Fault> {
        let request = self.agent.get(format!("{}{path}", self.base));
        self.read(self.dressed(request).config().timeout_global(Some(timeout)).build().call())
    }

    pub(super) fn post(&self, path: &str, body: &Value, timeout: Duration) -> Result<Value, Fault> {
        let request = self.agent.post(format!("{}{path}", self.base));
        let request = self.dressed(request).header("Content-Type", "application/json; charset=utf-8");
        self.read(request.config().timeout_global(Some(timeout)).build().send(body.to_string()))
    }

    pub(super) fn delete(&self, path: &str, timeout: Duration) -> Result<Value, Fault> {
        let request = self.agent.delete(format!("{}{path}", self.base));
        self.read(self.dressed(request).config().timeout_global(Some(timeout)).build().call())
    }

    /// Reads JSON that is no answer of WebDriver's.
    pub(super) fn json(&self, url: Option<&Url>, timeout: Duration) -> Result<Value, Fault> {
        let url = url.ok_or_else(|| Fault::Gone("no address".into()))?;
        let request = self.agent.get(url.as_str()).config().timeout_global(Some(timeout)).build();
        let mut answer = request.call().map_err(fault)?;
        let body = answer.body_mut().read_to_vec().map_err(fault)?;
        serde_json::from_slice(&body).map_err(|error| Fault::Gone(error.to_string()))
    }

    fn dressed<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.authorization {
            Some(authorization) => request.header("Authorization", authorization.expose()),
            None => request,
        }
    }

    fn read(&self, answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Result<Value, Fault> {
        let mut answer = answer.map_err(fault)?;
        let is_ok = answer.status().is_success();
        let body = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_vec().map_err(fault)?;
        let mut body: Value = serde_json::from_slice(&body)
            .map_err(|_| Fault::Gone(format!("its answer ({}) is no WebDriver", answer.status())))?;
        let value = body.get_mut("value").map_or(Value::Null, Value::take);
        if is_ok {
            return Ok(value);
        }
        let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Err(Fault::Refused { code: word("error"), message: word("message") })
    }
}

fn fault(error: ureq::Error) -> Fault {
    match error {
        ureq::Error::Timeout(_) => Fault::Late,
        other => Fault::Gone(other.to_string()),
    }
}

fn authorization(url: &Url) -> Option<Secret<String>> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| crate::net::config::percent_decode(text).unwrap_or_else(|| text.to_owned());
    let both = format!("{}:{}", decoded(url.username()), decoded(url.password().unwrap_or_default()));
    Some(Secret::new(format!("Basic {}", BASE64_STANDARD.encode(both))))
}

/// Whether an address is one of loopback.
pub(super) fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

/// The body of a command without parameters.
pub(super) fn nothing() -> Value {
    json!({})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_keeps_its_prefix_and_hides_its_password() {
        let client = Client::new(&Url::parse("http://u:p%40ss@grid.example:4444/wd/hub/").unwrap());
        assert_eq!(client.base, "http://grid.example:4444/wd/hub");
        assert_eq!(client.authorization.as_ref().unwrap().expose(), "Basic dTpwQHNz");
        assert!(!client.is_local() && client.port() == 4444);
        for local in ["http://localhost:9515", "http://127.0.0.1:9515/", "http://[::1]:9515"] {
            assert!(Client::new(&Url::parse(local).unwrap()).is_local(), "{local}");
        }
    }

    #[test]
    fn faults_are_told_apart() {
        let refused =
            |code: &str, message: &str| Fault::Refused { code: code.into(), message: message.into() };
        assert!(refused("invalid session id", "").is_end_of_session());
        assert!(refused("unknown error", "disconnected: not connected to DevTools").is_end_of_session());
        assert!(refused("unknown error", "chrome not reachable").is_end_of_session());
        assert!(refused("unknown error", "Failed to decode response from marionette").is_end_of_session());
        assert!(!refused("javascript error", "x is undefined").is_end_of_session());
        assert!(refused("unknown error", "tab crashed\n  (Session info)").is_crash());
        assert!(refused("script timeout", "").is_hang() && refused("no such window", "").is_closed_window());
        assert_eq!(refused("a", "b\nc").to_string(), "a: b");
    }
}
