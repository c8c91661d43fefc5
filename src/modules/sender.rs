//! Sends the requests of one check, with its cookies and before its deadline.

use std::time::Instant;

use super::probe::{CookieJar, Phase, ProbeError, Prober, Request, Response};

/// The sender of one check's requests. It counts them.
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
    /// Sends a request. After a connection error it is sent once more, if the deadline has not passed.
    pub(super) fn send(&mut self, request: &Request) -> Result<Response, ProbeError> {
        self.send_until(request, self.deadline)
    }

    /// Sends a request as [`Self::send`] does, with a deadline of its own that is not after that of the check.
    pub(super) fn send_until(
        &mut self,
        request: &Request,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        let mut answer = self.send_once(request, deadline);
        if answer.as_ref().is_err_and(ProbeError::is_connection_error) && Instant::now() < deadline {
            answer = self.send_once(request, deadline);
        }
        answer
    }

    fn send_once(&mut self, request: &Request, deadline: Instant) -> Result<Response, ProbeError> {
        if Instant::now() >= deadline {
            return Err(ProbeError::Timeout(Phase::Connect));
        }
        self.requests += 1;
        self.prober.send(request, &mut self.jar, deadline)
    }

    /// Returns the number of requests that were sent, retries included.
    pub(super) fn requests(&self) -> u32 {
        self.requests
    }

    /// Adds requests that were sent elsewhere for this check to the count.
    pub(super) fn count(&mut self, requests: u32) {
        self.requests += requests;
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }
}
