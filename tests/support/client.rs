//! A client that sends requests with an idempotency key.

use ureq::http::{Request, Response};
use ureq::{Agent, Body};

/// A request of a client. It may be sent again unchanged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) idempotency_key: Option<&'a str>,
    /// The body as JSON.
    pub(crate) body: Option<&'a str>,
}

impl Wanted<'_> {
    /// Sends it to the server at `base` (`http://HOST:PORT`).
    pub(crate) fn send(&self, agent: &Agent, base: &str, key: &str) -> Result<Response<Body>, ureq::Error> {
        let mut request = Request::builder().method(self.method).uri(format!("{base}{}", self.path));
        request = request.header("Authorization", format!("Bearer {key}"));
        if let Some(key) = self.idempotency_key {
            request = request.header("Idempotency-Key", key);
        }
        match self.body {
            Some(body) => {
                let request = request.header("Content-Type", "application/json");
                agent.run(request.body(body.to_owned()).unwrap())
            }
            None => agent.run(request.body(()).unwrap()),
        }
    }
}
