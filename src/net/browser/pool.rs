//! The browser, which is started again when it ends or hangs, and the places for pages in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use log::{info, warn};
use parking_lot::{Condvar, Mutex};

use super::cdp::{Fault, LOST, Page};
use super::egress::{EgressProxy, PageLoad};
use super::page;
use super::process::{Browser, Launcher, want_of_resources};
use crate::base::threads;
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::modules::reason::Reason;

/// The time for which a check of the browser holds, and so does a failed start.
const CHECKED_FOR: Duration = Duration::from_secs(2);
/// The time for which callers wait for a browser that is being started.
const STARTING: Duration = Duration::from_secs(10);
/// The time for which callers wait for the answer of a running browser. Until it is known to hang, it counts as running:
/// callers are requests, which must not all wait for it.
const ANSWERING: Duration = Duration::from_secs(1);
/// The time limit for the answer of a browser that is checked. Busy machines take seconds.
const ANSWER: Duration = Duration::from_secs(10);
/// The number of pages of each place after which a browser is replaced, because it does not free all memory.
const MAX_PAGES: usize = 100;
/// The part of a deadline that is reserved for closing the page.
const CLOSING: Duration = Duration::from_millis(150);
/// The time limit for closing a page, even after the deadline. If closing takes longer, the browser is replaced, or
/// checked if it is the operator's.
const CLOSING_AT_MOST: Duration = Duration::from_secs(1);
/// The error if waiting for a place or a browser takes longer than the deadline.
const LATE: ProbeError = ProbeError::late(Reason::TimeoutConnect);

/// The browser and the places.
pub(super) struct Pool {
    launcher: Launcher,
    pub(super) size: usize,
    state: Mutex<State>,
    changed: Condvar,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The egress proxies of the free places for pages.
    free: Vec<Arc<EgressProxy>>,
    running: Option<Arc<Browser>>,
    /// The time when the last check or start ended.
    checked: Option<Instant>,
    /// The reason of the last failed start, if no later one has succeeded.
    failure: Option<String>,
    /// Whether the browser is to be checked, or one to be started.
    is_wanted: bool,
}

impl State {
    fn is_checked_since(&self, moment: Instant) -> bool {
        self.checked.is_some_and(|checked| checked + CHECKED_FOR > moment)
    }
}

impl Pool {
    /// Creates a pool, and starts the browser in the background.
    ///
    /// # Errors
    /// Returns an error if the thread that starts browsers cannot be started.
    pub(super) fn start(launcher: Launcher, free: Vec<Arc<EgressProxy>>) -> io::Result<Arc<Self>> {
        let (size, changed, is_closed) = (free.len(), Condvar::new(), AtomicBool::new(false));
        let state = Mutex::new(State { free, ..State::default() });
        let pool = Arc::new(Self { launcher, size, state, changed, is_closed });
        let kept = Arc::clone(&pool);
        thread::Builder::new().name("browser".into()).spawn(move || kept.check_when_wanted())?;
        Ok(pool)
    }

    /// Returns whether the browser answers. Has it checked, or one started, unless that was just done, and waits for the
    /// outcome, unless the last start has failed.
    pub(super) fn is_available(&self) -> bool {
        let (asked, mut state) = (Instant::now(), self.state.lock());
        while !state.is_checked_since(asked) && !self.is_closed() {
            self.want(&mut state);
            let patience = if state.running.is_some() { ANSWERING } else { STARTING };
            if state.failure.is_some() || self.changed.wait_until(&mut state, asked + patience).timed_out() {
                break;
            }
        }
        state.running.is_some() && !self.is_closed()
    }

    /// Prints a page that loads nothing: its place has no page load, so its egress proxy would refuse every request.
    pub(super) fn print(&self, html: &str, deadline: Instant) -> Result<Vec<u8>, ProbeError> {
        let place = self.take(deadline)?;
        let mut page = self.open(&place, deadline)?;
        let printed = page.print(html, deadline);
        self.end(page);
        printed.map_err(|fault| fault.error("cannot print"))
    }

    /// Ends the browser without waiting. Pages that are open keep it until they are closed.
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        self.is_closed.store(true, Ordering::Relaxed);
        state.running = None;
        self.changed.notify_all();
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Waits for a free place until `deadline`.
    fn take(&self, deadline: Instant) -> Result<Lease<'_>, ProbeError> {
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
    fn browser(&self, deadline: Instant) -> Result<Arc<Browser>, ProbeError> {
        let (asked, mut state) = (Instant::now(), self.state.lock());
        loop {
            if self.is_closed() {
                return Err(no_browser("the service is shutting down"));
            }
            if let Some(browser) = &state.running {
                return Ok(Arc::clone(browser));
            }
            if let Some(why) = state.failure.as_ref().filter(|_| state.is_checked_since(asked)) {
                return Err(no_browser(why));
            }
            if Instant::now() >= deadline {
                return Err(LATE);
            }
            self.want(&mut state);
            self.changed.wait_until(&mut state, deadline);
        }
    }

    /// Opens an empty page. A browser that ended or hung while it was idle is replaced once, because this caller has not
    /// caused that.
    fn open(&self, place: &Lease<'_>, deadline: Instant) -> Result<Page, ProbeError> {
        let mut is_second = false;
        loop {
            let browser = self.browser(deadline)?;
            browser.pages.fetch_add(1, Ordering::Relaxed);
            let fault = match Page::open(&browser, &place.egress.announced, deadline) {
                Ok(page) => return Ok(page),
                Err(fault) => fault,
            };
            if let Some(want) = want_of_resources() {
                return Err(want);
            }
            if Instant::now() >= deadline {
                // It may only be slow.
                self.want(&mut self.state.lock());
                return Err(LATE);
            }
            if !matches!(fault, Fault::Gone | Fault::Late) {
                return Err(fault.error("cannot open a page"));
            }
            self.lose(&browser);
            if is_second {
                return Err(fault.error(LOST));
            }
            is_second = true;
        }
    }

    fn end(&self, page: Page) {
        let browser = Arc::clone(&page.browser);
        let closed = page.close(Instant::now() + CLOSING_AT_MOST);
        if closed.is_err() && browser.is_own() {
            // The page may still be alive.
            self.lose(&browser);
        } else if closed.is_err() || self.is_spent(&browser) {
            self.want(&mut self.state.lock());
        }
    }

    /// Returns whether the browser is to be replaced, because it has had its pages.
    fn is_spent(&self, browser: &Browser) -> bool {
        browser.is_own() && browser.pages.load(Ordering::Relaxed) >= self.size * MAX_PAGES
    }

    /// Notes that this browser no longer works.
    fn lose(&self, browser: &Arc<Browser>) {
        let mut state = self.state.lock();
        if state.running.as_ref().is_some_and(|running| Arc::ptr_eq(running, browser)) {
            warn!("the browser was lost; starting another one");
            state.running = None;
        }
        self.want(&mut state);
    }

    /// Has the browser checked, or one started, at once.
    fn want(&self, state: &mut State) {
        // Those who wait would otherwise wake each other for ever.
        if !state.is_wanted {
            state.is_wanted = true;
            self.changed.notify_all();
        }
    }

    /// Checks or starts the browser whenever that is wanted, until the pool is closed.
    fn check_when_wanted(&self) {
        while !self.is_closed() {
            threads::guard("a check of the browser", || self.check_or_start());
            let mut state = self.state.lock();
            // The result answers all who have asked meanwhile.
            (state.checked, state.is_wanted) = (Some(Instant::now()), false);
            self.changed.notify_all();
            while !state.is_wanted && !self.is_closed() {
                self.changed.wait(&mut state);
            }
        }
    }

    /// Checks the browser, and starts one if none answers or the running one is spent.
    fn check_or_start(&self) {
        let running = self.state.lock().running.clone();
        match running {
            Some(browser) if !answers(&browser) => self.lose(&browser),
            Some(browser) if !self.is_spent(&browser) => return,
            _ => {}
        }
        let started = self.launcher.start(&self.is_closed);
        let mut state = self.state.lock();
        match started {
            _ if self.is_closed() => {}
            Ok(browser) => {
                if state.failure.take().is_some() || state.running.is_none() {
                    info!("a browser answers: premium searches are possible");
                }
                state.running = Some(Arc::new(browser));
            }
            Err(why) => {
                if state.failure.as_ref() != Some(&why) {
                    warn!("no browser, so premium searches are refused until one answers: {why}");
                }
                state.failure = Some(why);
            }
        }
    }
}

impl Prober for Pool {
    fn send(&self, request: &Request, _: &mut CookieJar, deadline: Instant) -> Result<Response, ProbeError> {
        // URLs of files and of the browser itself are refused.
        if !matches!(request.url.scheme(), "http" | "https") || !request.url.has_host() {
            return Err(Reason::Protocol.because("the URL of a request must be http or https"));
        }
        let place = self.take(deadline)?;
        let mut page = self.open(&place, deadline)?;
        let page_load = Arc::new(PageLoad::new(deadline, &page.browser));
        place.egress.load(Some(Arc::clone(&page_load)));
        let until = deadline.checked_sub(CLOSING).unwrap_or(deadline);
        let seen = match page.navigate(&request.url, until) {
            Ok(()) => page::wait_for(&mut page, request, &page_load, until),
            Err(Fault::Late) => Err(ProbeError::late(Reason::TimeoutFirstByte)),
            Err(fault) => Err(fault.error(LOST)),
        };
        place.egress.load(None);
        self.end(page);
        seen
    }
}

fn no_browser(why: &str) -> ProbeError {
    want_of_resources().unwrap_or_else(|| Reason::Browser.because(format!("no browser: {why}")))
}

/// Returns whether the browser answers, or cannot be asked because this process is out of descriptors.
fn answers(browser: &Arc<Browser>) -> bool {
    let until = Instant::now() + ANSWER;
    let asked = Page::connect(browser, until).and_then(|mut page| page.version(until));
    asked.is_ok() || want_of_resources().is_some()
}

/// A leased place for a page. Dropping it returns the place.
struct Lease<'p> {
    pool: &'p Pool,
    egress: Arc<EgressProxy>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.egress.load(None);
        self.pool.state.lock().free.push(Arc::clone(&self.egress));
        self.pool.changed.notify_all();
    }
}
