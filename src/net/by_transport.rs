//! A prober that chooses another prober by the transport of the request.

use std::sync::Arc;
use std::time::Instant;

use crate::modules::definition::Via;
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};

/// A prober that sends requests for a browser through `browser`, and all others through `http`.
pub struct ByTransport {
    /// The prober without a browser.
    pub http: Arc<dyn Prober>,
    /// The prober with a browser.
    pub browser: Arc<dyn Prober>,
}

impl Prober for ByTransport {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        match request.via {
            Via::Http | Via::Whois => self.http.send(request, jar, deadline),
            Via::Browser => self.browser.send(request, jar, deadline),
        }
    }

    fn evict_expired(&self, now: Instant) {
        self.http.evict_expired(now);
        self.browser.evict_expired(now);
    }
}
