//! The browser, which is kept running, and the places for pages in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::{Condvar, Mutex};

use super::cdp::Page;
use super::egress::EgressProxy;
use super::process::{Browser, Launcher, want_of_resources};
use crate::modules::probe::{Phase, ProbeError};

/// The interval at which the browser is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The longest pause between attempts to start a browser that no check asks for. For checks, a failure holds for the
/// shortest one.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time for which callers wait for a browser that is being started.
const STARTING: Duration = Duration::from_secs(10);
/// The time limit for the answer of a browser that is checked. Busy machines take seconds.
const ANSWER: Duration = Duration::from_secs(10);
/// The number of pages of each place after which a browser is replaced, because it does not free all memory.
const MAX_PAGES: usize = 100;

/// The browser and the places.
pub(super) struct Pool {
    launcher: Launcher,
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The egress proxies of the free places for pages.
    free: Vec<Arc<EgressProxy>>,
    running: Option<Arc<Browser>>,
    /// The time and the reason of the last failed start, if no later one has succeeded.
    failure: Option<(Instant, String)>,
    /// Whether the browser is to be checked, or one to be started, at once.
    is_urgent: bool,
    /// The time since which no browser runs.
    since: Option<Instant>,
}

/// The error if waiting for a place or a browser takes longer than the deadline.
const LATE: ProbeError = ProbeError::Timeout(Phase::Connect);

fn no_browser(why: &str) -> ProbeError {
    want_of_resources().unwrap_or_else(|| ProbeError::Browser(format!("no browser: {why}")))
}

impl Pool {
    /// Creates a pool, and starts the browser in the background.
    ///
    /// # Errors
    /// Returns an error if the thread that keeps the browser running cannot be started.
    pub(super) fn start(launcher: Launcher, free: Vec<Arc<EgressProxy>>) -> std::io::Result<Arc<Self>> {
        let size = free.len();
        let state = Mutex::new(State { free, since: Some(Instant::now()), ..State::default() });
        let is_closed = AtomicBool::new(false);
        let pool = Arc::new(Self { launcher, size, state, changed: Condvar::new(), is_closed });
        let kept = Arc::clone(&pool);
        thread::Builder::new().name("browser".into()).spawn(move || kept.keep())?;
        Ok(pool)
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Waits for a free place until `deadline`.
    pub(super) fn take(&self, deadline: Instant) -> Result<Lease<'_>, ProbeError> {
        let mut state = self.state.lock();
        loop {
            if self.is_closed() {
                return Err(no_browser("the service is shutting down"));
            }
            if let Some(egress) = state.free.pop() {
                return Ok(Lease { pool: self, egress });
            }
            if self.changed.wait_until(&mut state, deadline).timed_out() && state.free.is_empty() {
                return Err(LATE);
            }
        }
    }

    /// Waits for the browser until `deadline`. If none runs, one is started, unless that has just failed.
    pub(super) fn browser(&self, deadline: Instant) -> Result<Arc<Browser>, ProbeError> {
        let asked = Instant::now();
        let mut state = self.state.lock();
        loop {
            if self.is_closed() {
                return Err(no_browser("the service is shutting down"));
            }
            if let Some(browser) = &state.running {
                return Ok(Arc::clone(browser));
            }
            if let Some((at, why)) = &state.failure
                && *at + CHECK_INTERVAL > asked
            {
                return Err(no_browser(why));
            }
            if Instant::now() >= deadline {
                return Err(LATE);
            }
            self.hurry(&mut state);
            self.changed.wait_until(&mut state, deadline);
        }
    }

    /// Notes that this browser no longer works.
    pub(super) fn lose(&self, browser: &Arc<Browser>) {
        let mut state = self.state.lock();
        if state.running.as_ref().is_some_and(|running| Arc::ptr_eq(running, browser)) {
            warn!("the browser was lost; starting another one");
            (state.running, state.since) = (None, Some(Instant::now()));
        }
        self.hurry(&mut state);
    }

    /// Has the browser checked at once, because something with it has failed.
    pub(super) fn check(&self) {
        self.hurry(&mut self.state.lock());
    }

    fn hurry(&self, state: &mut State) {
        // Those who wait would otherwise wake each other for ever.
        if !state.is_urgent {
            state.is_urgent = true;
            self.changed.notify_all();
        }
    }

    /// Returns whether the browser runs. Waits for one that is being started, unless that has failed before.
    pub(super) fn is_available(&self) -> bool {
        let mut state = self.state.lock();
        let until = state.since.unwrap_or_else(Instant::now) + STARTING;
        while state.running.is_none() && state.failure.is_none() && !self.is_closed() {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.running.is_some() && !self.is_closed()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Ends the browser without waiting. Pages that are open keep it until they are closed.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        self.is_closed.store(true, Ordering::Relaxed);
        state.running = None;
        self.changed.notify_all();
    }

    /// Keeps a browser running until the pool is closed.
    fn keep(&self) {
        let mut pause = CHECK_INTERVAL;
        while !self.is_closed() {
            self.state.lock().is_urgent = false;
            self.check_or_start();
            let mut state = self.state.lock();
            pause = if state.failure.is_some() { (pause * 2).min(LONGEST_PAUSE) } else { CHECK_INTERVAL };
            let until = Instant::now() + pause;
            while !state.is_urgent && !self.is_closed() {
                if self.changed.wait_until(&mut state, until).timed_out() {
                    break;
                }
            }
        }
    }

    /// Checks the browser, and starts one if none runs or the running one has had its pages.
    fn check_or_start(&self) {
        let running = self.state.lock().running.clone();
        let running = match running {
            Some(browser) if !answers(&browser) => {
                self.lose(&browser);
                None
            }
            found => found,
        };
        let most = self.size * MAX_PAGES;
        let is_spent = |browser: &Arc<Browser>| {
            browser.is_own() && browser.pages.load(Ordering::Relaxed) as usize >= most
        };
        if running.as_ref().is_some_and(|browser| !is_spent(browser)) {
            return;
        }
        drop(running);
        let started = self.launcher.start(&self.is_closed);
        let mut state = self.state.lock();
        // The result answers all who have asked meanwhile.
        state.is_urgent = false;
        match started {
            _ if self.is_closed() => {}
            Ok(browser) => {
                if state.failure.take().is_some() || state.running.is_none() {
                    info!("a browser answers: premium searches are possible");
                }
                state.running = Some(Arc::new(browser));
            }
            Err(why) => {
                if state.failure.as_ref().is_none_or(|(_, before)| *before != why) {
                    warn!("no browser, so premium searches are refused until one answers: {why}");
                }
                state.failure = Some((Instant::now(), why));
            }
        }
        self.changed.notify_all();
    }
}

/// Returns whether the browser answers, or cannot be asked because this process is out of descriptors.
fn answers(browser: &Arc<Browser>) -> bool {
    let asked = Page::connect(browser, Instant::now() + ANSWER).and_then(|mut page| page.version());
    asked.is_ok() || want_of_resources().is_some()
}

/// A leased place for a page. Dropping it returns the place.
pub(super) struct Lease<'p> {
    pool: &'p Pool,
    pub(super) egress: Arc<EgressProxy>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.egress.end();
        self.pool.state.lock().free.push(Arc::clone(&self.egress));
        self.pool.changed.notify_all();
    }
}
