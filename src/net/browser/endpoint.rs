//! Where sessions come from.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SendError, channel};
use std::thread;
use std::time::Duration;

use log::warn;
use parking_lot::Mutex;

use super::capabilities::Wish;
use super::client::{Client, Fault};
use super::driver::Driver;
use super::egress::OwnPorts;
use super::session::Session;

/// For a browser to start; on a busy machine that takes its time. Longer than a driver's own patience (chromedriver's
/// is a minute): a browser that starts after we have hung up would be nobody's.
const OPENING: Duration = Duration::from_secs(90);
/// For an endpoint to say how it is.
const STATUS: Duration = Duration::from_secs(3);
const STACK_BYTES: usize = 256 * 1024;

/// A driver or a grid.
pub(super) struct Endpoint {
    source: Source,
    sessions: Arc<AtomicUsize>,
    is_up: AtomicBool,
    /// Found out: its browser starts without its own sandbox only.
    without_sandbox: AtomicBool,
    /// It has started with its sandbox: if it ever fails to, that is not why.
    sandbox_works: AtomicBool,
}

pub(super) enum Source {
    /// The operator's.
    Given(Arc<Client>),
    /// Our own.
    Own(Driver),
}

impl Endpoint {
    pub(super) fn new(source: Source) -> Self {
        Self {
            source,
            sessions: Arc::default(),
            is_up: AtomicBool::new(true),
            without_sandbox: AtomicBool::new(false),
            sandbox_works: AtomicBool::new(false),
        }
    }

    fn client(&self) -> Result<Arc<Client>, String> {
        match &self.source {
            Source::Given(client) => Ok(Arc::clone(client)),
            Source::Own(driver) => driver.client(),
        }
    }

    /// Whether it answers as an endpoint of WebDriver does. That it is `ready` for one more session is not
    /// asked: geckodriver is not once it has ours.
    fn look(&self) -> bool {
        let is_up = self.client().is_ok_and(|client| client.get("/status", STATUS).is_ok());
        self.is_up.store(is_up, Ordering::Relaxed);
        is_up
    }

    fn open(&self, proxy: &str, opener: &Opener) -> Result<Session, String> {
        let client = self.client()?;
        let mut without_sandbox =
            client.is_local() && (is_root() || self.without_sandbox.load(Ordering::Relaxed));
        loop {
            let wish = Wish { proxy, without_sandbox };
            let counts = [Arc::clone(&opener.open), Arc::clone(&self.sessions)];
            match Session::open(Arc::clone(&client), &wish, Arc::clone(&opener.own), counts, OPENING) {
                Ok(session) => {
                    if without_sandbox && !is_root() && !self.without_sandbox.swap(true, Ordering::Relaxed) {
                        warn!("the browser starts without its own sandbox only, as in many containers");
                    }
                    self.sandbox_works.fetch_or(!without_sandbox, Ordering::Relaxed);
                    return Ok(session);
                }
                Err(Fault::Refused { code, .. })
                    if code == "session not created"
                        && client.is_local()
                        && !without_sandbox
                        && !self.sandbox_works.load(Ordering::Relaxed) =>
                {
                    without_sandbox = true;
                }
                Err(fault) => return Err(fault.to_string()),
            }
        }
    }
}

/// Chromium has no sandbox for root.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Opens sessions, each on a thread of its own: who waits for one may give up, and the next has it.
pub(super) struct Opener {
    endpoints: Vec<Endpoint>,
    own: Arc<OwnPorts>,
    open: Arc<AtomicUsize>,
    /// Why the last attempt failed, if it did.
    failure: Mutex<Option<String>>,
    is_closed: AtomicBool,
}

/// What comes of an opening.
pub(super) type Opening = Receiver<Result<Session, String>>;

impl Opener {
    pub(super) fn new(endpoints: Vec<Endpoint>, own: Arc<OwnPorts>) -> Self {
        Self {
            endpoints,
            own,
            open: Arc::default(),
            failure: Mutex::default(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Begins to open a session whose traffic goes through `proxy`.
    pub(super) fn begin(self: &Arc<Self>, proxy: &str) -> Opening {
        let (tell, told) = channel();
        let (opener, proxy, by_thread) = (Arc::clone(self), proxy.to_owned(), tell.clone());
        let opening = move || {
            // Nobody is there any more: it must not stay open.
            if let Err(SendError(Ok(unwanted))) = by_thread.send(opener.open(&proxy)) {
                unwanted.close();
            }
        };
        let name = "browser-open".to_owned();
        if let Err(error) = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(opening) {
            let _ = tell.send(Err(format!("no thread to start a browser: {error}")));
        }
        told
    }

    fn open(&self, proxy: &str) -> Result<Session, String> {
        // Those that answer, the one with the fewest sessions first.
        let mut endpoints: Vec<&Endpoint> = self.endpoints.iter().collect();
        endpoints.sort_by_key(|endpoint| {
            (!endpoint.is_up.load(Ordering::Relaxed), endpoint.sessions.load(Ordering::Relaxed))
        });
        let mut why = "there is no endpoint".to_owned();
        for endpoint in endpoints {
            if self.is_closed() {
                return Err("the service is ending".into());
            }
            match endpoint.open(proxy, self) {
                Ok(session) => {
                    *self.failure.lock() = None;
                    return Ok(session);
                }
                Err(error) => why = error,
            }
        }
        let before = self.failure.lock().replace(why.clone());
        if before.as_ref() != Some(&why) {
            warn!("no browser: {why}");
        }
        Err(why)
    }

    /// Asks all endpoints how they are; whether any answers.
    pub(super) fn look(&self) -> bool {
        self.endpoints.iter().filter(|endpoint| endpoint.look()).count() > 0
    }

    /// Sessions there are.
    pub(super) fn open_sessions(&self) -> usize {
        self.open.load(Ordering::Relaxed)
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

/// Ends a session, on a thread of its own: a browser that hangs takes long to end.
pub(super) fn retire(session: Session) {
    let close = move || session.close();
    let name = "browser-close".to_owned();
    if let Err(error) = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(close) {
        warn!("no thread to end a browser: {error}");
    }
}
