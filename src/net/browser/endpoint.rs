//! Where sessions come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use serde_json::Value;

use super::capabilities::Wish;
use super::client::{Client, Fault};
use super::crew::Crew;
use super::driver::Driver;
use super::egress::OwnPorts;
use super::roster::Roster;
use super::sandbox::Sandbox;
use super::session::{Holding, Session};

/// For a browser to start; on a busy machine that takes its time. Longer than a driver's own patience (chromedriver's
/// is a minute): a browser that starts after we have hung up would be nobody's.
pub(super) const OPENING: Duration = Duration::from_secs(90);
/// For an endpoint to say how it is.
const STATUS: Duration = Duration::from_secs(3);
/// How often in a row an endpoint that is at work for us may leave that unanswered.
const PATIENCE: usize = 5;

/// Before an endpoint that was full is asked again, if no session of ours ends meanwhile.
const AGAIN: Duration = Duration::from_secs(2);

/// A driver or a grid.
pub(super) struct Endpoint {
    source: Source,
    is_up: AtomicBool,
    /// Looks in a row that it kept waiting.
    lates: AtomicUsize,
    /// Found out: it does not understand whoever asks for WebDriver BiDi.
    knows_no_bidi: AtomicBool,
    sandbox: Sandbox,
}

pub(super) enum Source {
    /// The operator's.
    Given(Arc<Client>),
    /// Our own.
    Own(Driver),
}

/// Why an endpoint opens no session.
enum Trouble {
    /// It has others of ours: a geckodriver has one at a time, a grid as many as it has machines for.
    Full,
    /// Says why.
    Failed(String),
}

impl Endpoint {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            is_up: AtomicBool::new(true),
            lates: AtomicUsize::new(0),
            knows_no_bidi: AtomicBool::new(false),
            sandbox: Sandbox::new(),
        }
    }

    fn client(&self) -> Result<Arc<Client>, String> {
        match &self.source {
            Source::Given(client) => Ok(Arc::clone(client)),
            Source::Own(driver) => driver.client(),
        }
    }

    /// Whether it answers as an endpoint of WebDriver does. That it is `ready` for one more session is not
    /// asked: geckodriver is not once it has ours. While it is `at_work` for us, one that keeps us waiting is what it was
    /// before: geckodriver does one thing at a time.
    fn look(&self, at_work: bool) -> bool {
        let status = self.client().map_err(Fault::Gone).and_then(|client| client.get("/status", STATUS));
        let is_late = status == Err(Fault::Late);
        let lates = if is_late { self.lates.load(Ordering::Relaxed) + 1 } else { 0 };
        self.lates.store(lates, Ordering::Relaxed);
        if !is_late || !at_work || lates > PATIENCE {
            self.is_up.store(status.is_ok(), Ordering::Relaxed);
        }
        self.is_up.load(Ordering::Relaxed)
    }

    fn open(&self, proxy: &str, holding: Holding) -> Result<Session, Trouble> {
        let client = self.client().map_err(Trouble::Failed)?;
        let begun = self.begin(&client, proxy).map_err(|fault| match fault {
            fault if fault.is_refused_start() && holding.claim.has_company() => Trouble::Full,
            // A grid lets wait whom it has no room for.
            Fault::Late if holding.claim.has_company() => Trouble::Full,
            fault => Trouble::Failed(fault.to_string()),
        })?;
        Session::take_over(client, &begun, proxy, holding).map_err(|fault| Trouble::Failed(fault.to_string()))
    }

    /// Has the endpoint begin a session. A Selenium Grid of version 3 reads no wish with a word that it does not know.
    fn begin(&self, client: &Client, proxy: &str) -> Result<Value, Fault> {
        let with_bidi = !self.knows_no_bidi.load(Ordering::Relaxed);
        match self.begin_like(client, Wish { proxy, with_bidi, without_sandbox: false }) {
            Err(fault) if with_bidi && fault.is_misunderstanding() => {
                let begun = self.begin_like(client, Wish { proxy, with_bidi: false, without_sandbox: false });
                self.knows_no_bidi.store(begun.is_ok(), Ordering::Relaxed);
                begun
            }
            begun => begun,
        }
    }

    /// The same, without the browser's own sandbox where it does not start with it.
    fn begin_like(&self, client: &Client, wish: Wish<'_>) -> Result<Value, Fault> {
        let begin = |without_sandbox| {
            let begun = client.post("/session", &Wish { without_sandbox, ..wish }.capabilities(), OPENING);
            begun.inspect(|_| self.sandbox.note_start(without_sandbox))
        };
        if client.is_local() && self.sandbox.is_left_out() {
            return begin(true);
        }
        match begin(false) {
            Err(fault) if client.is_local() && self.sandbox.may_be_why(&fault) => begin(true),
            begun => begun,
        }
    }
}

/// Opens sessions, each on a thread of its own: who waits for one may give up, and the next has it.
pub(super) struct Opener {
    endpoints: Vec<Endpoint>,
    own: Arc<OwnPorts>,
    roster: Arc<Roster>,
    crew: Arc<Crew>,
    /// Why the last attempt failed, if it did.
    failure: Mutex<Option<String>>,
    is_closed: AtomicBool,
}

/// What comes of an opening.
pub(super) type Opening = Receiver<Result<Session, String>>;

impl Opener {
    pub(super) fn new(endpoints: Vec<Endpoint>, own: Arc<OwnPorts>) -> Self {
        Self {
            roster: Arc::new(Roster::new(endpoints.len())),
            endpoints,
            own,
            crew: Arc::default(),
            failure: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Begins to open a session whose traffic goes through `proxy`.
    pub(super) fn begin(self: &Arc<Self>, proxy: &str) -> Opening {
        let (tell, told) = channel();
        let (opener, proxy, by_thread) = (Arc::clone(self), proxy.to_owned(), tell.clone());
        let opening = move || {
            // Where nobody is there any more, it ends again.
            let _ = by_thread.send(opener.open(&proxy));
        };
        if let Err(error) = self.crew.start("browser-open", opening) {
            let _ = tell.send(Err(format!("no thread to start a browser: {error}")));
        }
        told
    }

    fn open(&self, proxy: &str) -> Result<Session, String> {
        let until = Instant::now() + OPENING;
        loop {
            let ended = self.roster.ended();
            match self.try_all(proxy) {
                Ok(session) => {
                    *self.failure.lock() = None;
                    return Ok(session);
                }
                Err(Trouble::Failed(why)) => {
                    self.note_failure(&why);
                    return Err(why);
                }
                Err(Trouble::Full) if self.is_closed() || Instant::now() >= until => {
                    return Err("the endpoints have no room for one more".into());
                }
                Err(Trouble::Full) => self.roster.wait_for_end(ended, until.min(Instant::now() + AGAIN)),
            }
        }
    }

    /// Asks those that answer first, of them the one with the fewest sessions.
    fn try_all(&self, proxy: &str) -> Result<Session, Trouble> {
        let (mut tried, mut is_full) = (Vec::new(), false);
        let mut why = "there is no endpoint".to_owned();
        let is_down = |index: usize| !self.endpoints[index].is_up.load(Ordering::Relaxed);
        while let Some(claim) = self.roster.claim(|index| (!tried.contains(&index)).then(|| is_down(index))) {
            if self.is_closed() {
                return Err(Trouble::Failed("the service is ending".into()));
            }
            let endpoint = &self.endpoints[claim.endpoint()];
            tried.push(claim.endpoint());
            let (crew, own) = (Arc::clone(&self.crew), Arc::clone(&self.own));
            match endpoint.open(proxy, Holding { claim, crew, own, port: None }) {
                Ok(session) => return Ok(session),
                Err(Trouble::Full) => is_full = true,
                Err(Trouble::Failed(error)) => why = error,
            }
        }
        Err(if is_full { Trouble::Full } else { Trouble::Failed(why) })
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

    /// Asks all endpoints how they are; whether any answers.
    pub(super) fn look(&self) -> bool {
        let looked = self.endpoints.iter().enumerate();
        looked.filter(|(index, endpoint)| endpoint.look(self.roster.claimed(*index) > 0)).count() > 0
    }

    /// Sessions there are.
    pub(super) fn open_sessions(&self) -> usize {
        self.roster.open()
    }

    /// Whether no session could be opened, the last time one was wanted.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.lock().is_some()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Opens nothing from here on.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.roster.wake();
    }

    /// Waits until no session is being opened or ended, at the latest until then.
    pub(super) fn settle(&self, until: Instant) {
        self.crew.wait(until);
    }

    /// Ends the drivers that are our own.
    pub(super) fn stop_drivers(&self) {
        for endpoint in &self.endpoints {
            if let Source::Own(driver) = &endpoint.source {
                driver.stop();
            }
        }
    }
}
