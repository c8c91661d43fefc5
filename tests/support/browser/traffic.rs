//! Console messages and network requests of pages.

use serde_json::Value;

/// A line of the console.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// `SEVERE`, `WARNING`, `INFO` or `DEBUG`.
    pub(crate) level: String,
    pub(crate) text: String,
}

impl Message {
    pub(crate) fn is_complaint(&self) -> bool {
        self.level == "SEVERE" || self.level == "WARNING"
    }
}

/// A request of a page. Each hop of a redirect is one.
#[derive(Debug, Clone)]
pub(crate) struct WebRequest {
    id: String,
    pub(crate) url: String,
    /// The status, once it was answered.
    pub(crate) status: Option<u16>,
    /// The reason for a failure.
    pub(crate) failure: Option<String>,
    /// The received bytes with the head, once complete; 0 from the browser's cache.
    pub(crate) bytes: Option<u64>,
}

impl WebRequest {
    /// Returns whether it goes to this origin. Inline data does too.
    pub(crate) fn is_of(&self, origin: &str) -> bool {
        let rest = self.url.strip_prefix(origin);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || self.url.starts_with("data:")
            || self.url.starts_with(&format!("blob:{origin}/"))
    }
}

#[derive(Default)]
pub(super) struct Traffic {
    pub(super) console: Vec<Message>,
    pub(super) requests: Vec<WebRequest>,
}

impl Traffic {
    /// Adds the new messages of the console and of the DevTools protocol.
    pub(super) fn add(&mut self, console: &Value, protocol: &Value) {
        for entry in console.as_array().into_iter().flatten() {
            let word = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            self.console.push(Message { level: word("level"), text: word("message") });
        }
        for entry in protocol.as_array().into_iter().flatten() {
            let event: Value = serde_json::from_str(entry["message"].as_str().unwrap_or_default()).unwrap();
            self.note(&event["message"]);
        }
    }

    fn note(&mut self, event: &Value) {
        let of = &event["params"];
        let id = of["requestId"].as_str().unwrap_or_default();
        let status = |response: &Value| response["status"].as_u64().and_then(|status| status.try_into().ok());
        match event["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                // The answer to the previous hop.
                self.settle(id, |request| request.status = status(&of["redirectResponse"]));
                self.begin(id, of["request"]["url"].as_str().unwrap_or_default());
            }
            "Network.webSocketCreated" => {
                self.begin(id, of["url"].as_str().unwrap_or_default());
            }
            "Network.responseReceived" => {
                self.settle(id, |request| request.status = status(&of["response"]));
            }
            "Network.loadingFinished" => {
                let bytes = of["encodedDataLength"].as_f64().map(|bytes| bytes as u64);
                self.settle(id, |request| request.bytes = bytes);
            }
            "Network.loadingFailed" => {
                let reason = of["blockedReason"].as_str().or(of["errorText"].as_str());
                self.settle(id, |request| request.failure = reason.map(str::to_owned));
            }
            _ => {}
        }
    }

    fn begin(&mut self, id: &str, url: &str) {
        let (id, url) = (id.to_owned(), url.to_owned());
        self.requests.push(WebRequest { id, url, status: None, failure: None, bytes: None });
    }

    fn settle(&mut self, id: &str, change: impl FnOnce(&mut WebRequest)) {
        if let Some(request) = self.requests.iter_mut().rev().find(|request| request.id == id) {
            change(request);
        }
    }
}
