//! To each request who carries it.

use std::sync::Arc;
use std::time::Instant;

use crate::modules::definition::Via;
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};

/// Sends requests for a browser through `browser`, all others through `http`.
pub struct Carriers {
    /// Without a browser.
    pub http: Arc<dyn Prober>,
    /// With one.
    pub browser: Arc<dyn Prober>,
}

impl Prober for Carriers {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        match request.via {
            Via::Http => self.http.send(request, jar, deadline),
            Via::Browser => self.browser.send(request, jar, deadline),
        }
    }

    fn keep_house(&self, now: Instant) {
        self.http.keep_house(now);
        self.browser.keep_house(now);
    }
}
