//! Opens sessions at the configured endpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use serde_json::Value;

use super::capabilities::SessionOptions;
use super::client::{Client, Fault};
use super::driver::Driver;
use super::egress::OwnPorts;
use super::sandbox::Sandbox;
use super::session::{Resources, Session};
use super::session_counts::SessionCounts;
use super::wait_group::WaitGroup;

/// The time limit for a browser to start. It is longer than a driver's own limit (a minute for chromedriver), because
/// a browser that starts after the client has disconnected would never be ended.
pub(super) const OPENING: Duration = Duration::from_secs(90);
/// The time limit for the answer to a status request.
const STATUS: Duration = Duration::from_secs(3);
/// The number of status requests in a row that an endpoint with sessions may leave unanswered.
const MAX_LATE_ANSWERS: usize = 5;

/// The pause before a full endpoint is tried again if none of its sessions ends meanwhile.
const RETRY_PAUSE: Duration = Duration::from_secs(2);

/// An endpoint: a driver or a grid.
pub(super) struct Endpoint {
    source: Source,
    is_up: AtomicBool,
    /// The number of late answers in a row.
    lates: AtomicUsize,
    /// Whether the endpoint refused a session with WebDriver BiDi and then opened one without it.
    lacks_bidi: AtomicBool,
    sandbox: Sandbox,
}

pub(super) enum Source {
    /// An endpoint of the operator.
    Given(Arc<Client>),
    /// A driver that this process starts.
    Own(Driver),
}

/// The reason why an endpoint opens no session.
enum OpenError {
    /// The endpoint has its maximum number of sessions. A geckodriver allows one, a grid as many as it has machines
    /// for.
    Full,
    /// The attempt failed for the contained reason.
    Failed(String),
}

impl Endpoint {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            is_up: AtomicBool::new(true),
            lates: AtomicUsize::new(0),
            lacks_bidi: AtomicBool::new(false),
            sandbox: Sandbox::new(),
        }
    }

    fn client(&self) -> Result<Arc<Client>, String> {
        match &self.source {
            Source::Given(client) => Ok(Arc::clone(client)),
            Source::Own(driver) => driver.client(),
        }
    }

    /// Checks whether the endpoint answers as WebDriver. Its `ready` is ignored, because geckodriver is not ready for
    /// a second session. If the endpoint has sessions, a late answer does not change its state, because geckodriver
    /// runs one command at a time.
    fn check(&self, has_sessions: bool) -> bool {
        let status = self.client().map_err(Fault::Gone).and_then(|client| client.get("/status", STATUS));
        let is_late = status == Err(Fault::Late);
        let lates = if is_late { self.lates.load(Ordering::Relaxed) + 1 } else { 0 };
        self.lates.store(lates, Ordering::Relaxed);
        if !is_late || !has_sessions || lates > MAX_LATE_ANSWERS {
            self.is_up.store(status.is_ok(), Ordering::Relaxed);
        }
        self.is_up.load(Ordering::Relaxed)
    }

    fn open(&self, proxy: &str, resources: Resources) -> Result<Session, OpenError> {
        let client = self.client().map_err(OpenError::Failed)?;
        let begun = self.begin(&client, proxy).map_err(|fault| match fault {
            fault if fault.is_refused_start() && resources.claim.is_shared() => OpenError::Full,
            // A full grid delays its answer until a session ends.
            Fault::Late if resources.claim.is_shared() => OpenError::Full,
            fault => OpenError::Failed(fault.to_string()),
        })?;
        Session::from_answer(client, &begun, proxy, resources)
            .map_err(|fault| OpenError::Failed(fault.to_string()))
    }

    /// Requests a session. Version 3 of Selenium Grid refuses capabilities that it does not know.
    fn begin(&self, client: &Client, proxy: &str) -> Result<Value, Fault> {
        let with_bidi = !self.lacks_bidi.load(Ordering::Relaxed);
        match self.begin_with(client, SessionOptions { proxy, with_bidi, without_sandbox: false }) {
            Err(fault) if with_bidi && fault.is_unknown_capability() => {
                let begun = self
                    .begin_with(client, SessionOptions { proxy, with_bidi: false, without_sandbox: false });
                self.lacks_bidi.store(begun.is_ok(), Ordering::Relaxed);
                begun
            }
            begun => begun,
        }
    }

    /// Requests a session with these options. If the browser does not start with its own sandbox, tries again without
    /// it.
    fn begin_with(&self, client: &Client, options: SessionOptions<'_>) -> Result<Value, Fault> {
        let begin = |without_sandbox| {
            let begun = client.post(
                "/session",
                &SessionOptions { without_sandbox, ..options }.capabilities(),
                OPENING,
            );
            begun.inspect(|_| self.sandbox.note_start(without_sandbox))
        };
        if client.is_local() && self.sandbox.is_disabled() {
            return begin(true);
        }
        match begin(false) {
            Err(fault) if client.is_local() && self.sandbox.may_cause(&fault) => begin(true),
            begun => begun,
        }
    }
}

/// A component that opens sessions, each on its own thread. If a check stops waiting for a session, another check
/// gets it.
pub(super) struct Opener {
    endpoints: Vec<Endpoint>,
    own: Arc<OwnPorts>,
    counts: Arc<SessionCounts>,
    threads: Arc<WaitGroup>,
    /// The reason why the last attempt failed, if it did.
    failure: Mutex<Option<String>>,
    is_closed: AtomicBool,
}

/// Receives the result of opening a session.
pub(super) type Opening = Receiver<Result<Session, String>>;

impl Opener {
    pub(super) fn new(endpoints: Vec<Endpoint>, own: Arc<OwnPorts>) -> Self {
        Self {
            counts: Arc::new(SessionCounts::new(endpoints.len())),
            endpoints,
            own,
            threads: Arc::default(),
            failure: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Starts opening a session whose traffic goes through `proxy`.
    pub(super) fn begin(self: &Arc<Self>, proxy: &str) -> Opening {
        let (tell, told) = channel();
        let (opener, proxy, by_thread) = (Arc::clone(self), proxy.to_owned(), tell.clone());
        let opening = move || {
            // If the receiver has been dropped, the session is dropped and thereby ended.
            let _ = by_thread.send(opener.open(&proxy));
        };
        if let Err(error) = self.threads.start("browser-open", opening) {
            let _ = tell.send(Err(format!("cannot start a thread to open a browser: {error}")));
        }
        told
    }

    fn open(&self, proxy: &str) -> Result<Session, String> {
        let until = Instant::now() + OPENING;
        loop {
            let ended = self.counts.ended();
            match self.try_all(proxy) {
                Ok(session) => {
                    *self.failure.lock() = None;
                    return Ok(session);
                }
                Err(OpenError::Failed(why)) => {
                    self.note_failure(&why);
                    return Err(why);
                }
                Err(OpenError::Full) if self.is_closed() || Instant::now() >= until => {
                    return Err("all endpoints are full".into());
                }
                Err(OpenError::Full) => {
                    self.counts.wait_for_end(ended, until.min(Instant::now() + RETRY_PAUSE));
                }
            }
        }
    }

    /// Tries all endpoints. Those that answer come first, ordered by their number of sessions.
    fn try_all(&self, proxy: &str) -> Result<Session, OpenError> {
        let (mut tried, mut is_full) = (Vec::new(), false);
        let mut why = "no endpoint is configured".to_owned();
        let is_down = |index: usize| !self.endpoints[index].is_up.load(Ordering::Relaxed);
        while let Some(claim) = self.counts.claim(|index| (!tried.contains(&index)).then(|| is_down(index))) {
            if self.is_closed() {
                return Err(OpenError::Failed("the service is shutting down".into()));
            }
            let endpoint = &self.endpoints[claim.endpoint()];
            tried.push(claim.endpoint());
            let (threads, own) = (Arc::clone(&self.threads), Arc::clone(&self.own));
            match endpoint.open(proxy, Resources { claim, threads, own, port: None }) {
                Ok(session) => return Ok(session),
                Err(OpenError::Full) => is_full = true,
                Err(OpenError::Failed(error)) => why = error,
            }
        }
        Err(if is_full { OpenError::Full } else { OpenError::Failed(why) })
    }

    fn note_failure(&self, why: &str) {
        if self.is_closed() {
            return;
        }
        let before = self.failure.lock().replace(why.to_owned());
        if before.is_none_or(|before| before != why) {
            warn!("no browser: {why}");
        }
    }

    /// Checks all endpoints. Returns whether any of them answers.
    pub(super) fn check_endpoints(&self) -> bool {
        let endpoints = self.endpoints.iter().enumerate();
        endpoints.filter(|(index, endpoint)| endpoint.check(self.counts.claimed(*index) > 0)).count() > 0
    }

    /// Returns the number of open sessions.
    pub(super) fn open_sessions(&self) -> usize {
        self.counts.open()
    }

    /// Returns whether the last attempt to open a session failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.lock().is_some()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Stops opening sessions.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.counts.wake();
    }

    /// Waits until no session is being opened or ended, at most until `until`.
    pub(super) fn wait_idle(&self, until: Instant) {
        self.threads.wait(until);
    }

    /// Ends the drivers that this process has started.
    pub(super) fn stop_drivers(&self) {
        for endpoint in &self.endpoints {
            if let Source::Own(driver) = &endpoint.source {
                driver.stop();
            }
        }
    }
}
