//! Sends the requests of one check: with its cookies, inside its deadline.

use std::time::Instant;

use super::probe::{CookieJar, Phase, ProbeError, Prober, Request, Response};

/// Who sends for one check, and how often it did.
#[derive(Clone)]
pub(super) struct Sender<'c> {
    prober: &'c dyn Prober,
    jar: CookieJar,
    deadline: Instant,
    requests: u32,
}

impl<'c> Sender<'c> {
    pub(super) fn new(prober: &'c dyn Prober, deadline: Instant) -> Self {
        Self { prober, jar: CookieJar::default(), deadline, requests: 0 }
    }

    /// One with the same cookies that counts anew.
    pub(super) fn going_on(&self) -> Self {
        Self { requests: 0, ..self.clone() }
    }

    /// Sends a request; once more after a connection error, inside the deadline.
    pub(super) fn send(&mut self, request: &Request) -> Result<Response, ProbeError> {
        let mut answer = self.send_once(request);
        if answer.as_ref().is_err_and(ProbeError::is_connection_error) && Instant::now() < self.deadline {
            answer = self.send_once(request);
        }
        answer
    }

    fn send_once(&mut self, request: &Request) -> Result<Response, ProbeError> {
        if Instant::now() >= self.deadline {
            return Err(ProbeError::Timeout(Phase::Connect));
        }
        self.requests += 1;
        self.prober.send(request, &mut self.jar, self.deadline)
    }

    /// Requests sent, retries included.
    pub(super) fn requests(&self) -> u32 {
        self.requests
    }

    /// Counts requests that were sent elsewhere for this check.
    pub(super) fn count(&mut self, requests: u32) {
        self.requests += requests;
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }
}
