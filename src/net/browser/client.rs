//! A client of W3C WebDriver over HTTP and JSON (<https://www.w3.org/TR/webdriver2/>).

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use ureq::Agent;
use url::Url;

use crate::base::address::is_loopback;
use crate::base::encoding::percent_decode;
use crate::base::secret::Secret;

/// The maximum size of an answer, which may contain a page's HTML, in bytes.
const MAX_ANSWER_BYTES: u64 = 32 * 1024 * 1024;

/// Texts in errors of chromedriver and geckodriver that mean that their browser has ended.
const END_OF_SESSION: [&str; 6] = [
    "disconnected",
    "not reachable",
    "session deleted",
    "has closed the connection",
    "Failed to decode response from marionette",
    "without establishing a connection",
];

/// A failed command.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    /// The endpoint cannot be reached, does not speak WebDriver, or broke the connection.
    #[error("the driver cannot be reached: {0}")]
    Gone(String),
    /// The answer did not arrive in time.
    #[error("the driver does not answer in time")]
    Late,
    /// The driver returned an error (WebDriver, section 6.6).
    // Only the first line of the explanation is kept, because a stack trace follows it.
    #[error("{code}: {}", message.lines().next().unwrap_or_default())]
    Refused {
        /// The error code, for example `no such window`.
        code: String,
        /// The explanation.
        message: String,
    },
}

impl Fault {
    /// Returns a text that may be shown. The explanation of a driver is left out, because it may contain a URL.
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Gone(_) => "the driver does not answer",
            Self::Late => "the driver does not answer in time",
            Self::Refused { code, .. } => code,
        }
    }

    /// Returns whether the error means that the session has ended.
    pub(super) fn is_end_of_session(&self) -> bool {
        match self {
            Self::Gone(_) | Self::Late => true,
            Self::Refused { code, message } => {
                code == "invalid session id" || END_OF_SESSION.iter().any(|sign| message.contains(sign))
            }
        }
    }

    /// Returns whether the error means that the driver refused to start a browser.
    pub(super) fn is_refused_start(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "session not created")
    }

    /// Returns whether the error may mean that the endpoint does not support a requested capability.
    pub(super) fn is_unknown_capability(&self) -> bool {
        match self {
            Self::Gone(_) => true,
            Self::Refused { code, .. } => code == "invalid argument",
            Self::Late => false,
        }
    }

    /// Returns whether the error means that the page's process has crashed.
    pub(super) fn is_crash(&self) -> bool {
        matches!(self, Self::Refused { message, .. } if message.contains("tab crashed"))
    }

    /// Returns whether the error means that the page blocked a script.
    pub(super) fn is_blocked_script(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "script timeout" || code == "timeout")
    }

    /// Returns whether the error means that the window is closed.
    pub(super) fn is_closed_window(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == "no such window")
    }
}

/// A client of one endpoint: chromedriver, geckodriver or a Selenium Grid.
pub(super) struct Client {
    agent: Agent,
    /// The base URL, without a slash at its end.
    base: String,
    authorization: Option<Secret<String>>,
    is_local: bool,
    port: u16,
}

impl Client {
    /// Creates a client for the endpoint at `url`. A user and a password in it are sent as Basic authentication.
    pub(super) fn new(url: &Url) -> Self {
        let config = Agent::config_builder()
            // Otherwise ureq would use a proxy from the environment.
            .proxy(None)
            .http_status_as_error(false)
            // A driver that is restarted on the same port must not get requests on an old connection.
            .max_idle_connections(0);
        let mut bare = url.clone();
        // These cannot fail for http and https.
        let _ = (bare.set_username(""), bare.set_password(None));
        Self {
            agent: config.build().new_agent(),
            base: bare.as_str().trim_end_matches('/').to_owned(),
            authorization: authorization(url),
            is_local: is_loopback(url),
            port: url.port_or_known_default().unwrap_or(80),
        }
    }

    /// Returns whether the endpoint is on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.is_local
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn get(&self, path: &str, timeout: Duration) -> Result<Value, Fault> {
        let request = self.agent.get(format!("{}{path}", self.base));
        self.read(self.with_authorization(request).config().timeout_global(Some(timeout)).build().call())
    }

    pub(super) fn post(&self, path: &str, body: &Value, timeout: Duration) -> Result<Value, Fault> {
        let request = self.agent.post(format!("{}{path}", self.base));
        let request =
            self.with_authorization(request).header("Content-Type", "application/json; charset=utf-8");
        self.read(request.config().timeout_global(Some(timeout)).build().send(body.to_string()))
    }

    pub(super) fn delete(&self, path: &str, timeout: Duration) -> Result<Value, Fault> {
        let request = self.agent.delete(format!("{}{path}", self.base));
        self.read(self.with_authorization(request).config().timeout_global(Some(timeout)).build().call())
    }

    /// Reads JSON that is not in the format of WebDriver answers.
    pub(super) fn json(&self, url: Option<&Url>, timeout: Duration) -> Result<Value, Fault> {
        let url = url.ok_or_else(|| Fault::Gone("no URL".into()))?;
        let request = self.agent.get(url.as_str()).config().timeout_global(Some(timeout)).build();
        let mut answer = request.call().map_err(fault)?;
        let body = answer.body_mut().read_to_vec().map_err(fault)?;
        serde_json::from_slice(&body).map_err(|error| Fault::Gone(error.to_string()))
    }

    fn with_authorization<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
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
            .map_err(|_| Fault::Gone(format!("its answer ({}) is not valid WebDriver", answer.status())))?;
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
    let decoded = |text: &str| percent_decode(text).unwrap_or_else(|| text.to_owned());
    let both = format!("{}:{}", decoded(url.username()), decoded(url.password().unwrap_or_default()));
    Some(Secret::new(format!("Basic {}", BASE64_STANDARD.encode(both))))
}

/// Returns the body of a command without parameters.
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
    fn faults_are_distinguished() {
        let refused =
            |code: &str, message: &str| Fault::Refused { code: code.into(), message: message.into() };
        assert!(refused("invalid session id", "").is_end_of_session());
        assert!(refused("unknown error", "disconnected: not connected to DevTools").is_end_of_session());
        assert!(refused("unknown error", "chrome not reachable").is_end_of_session());
        assert!(refused("unknown error", "Failed to decode response from marionette").is_end_of_session());
        assert!(!refused("javascript error", "x is undefined").is_end_of_session());
        assert!(refused("unknown error", "tab crashed\n  (Session info)").is_crash());
        assert!(
            refused("script timeout", "").is_blocked_script()
                && refused("no such window", "").is_closed_window()
        );
        assert_eq!(refused("a", "b\nc").to_string(), "a: b");
    }
}
