//! The browser, which is started again when it ends or hangs, and the places for pages in it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use log::{info, warn};
use parking_lot::{Condvar, Mutex};
use url::Url;

use super::cdp::{Fault, LOST, Page, SHORT};
use super::egress::{EgressProxy, PageLoad};
use super::page;
use super::process::{Browser, BrowserSource, Launcher, want_of_resources};
use crate::base::threads;
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{Browsers, CookieJar, ProbeError, Prober, Request, Response, Trace};
use crate::modules::reason::Reason;
use crate::net::prober::HttpProber;

/// The time for which a check of the browser holds, and so does a failed start.
const CHECKED_FOR: Duration = Duration::from_secs(2);
/// The time for which callers wait for a browser that is being started.
const STARTING: Duration = Duration::from_secs(10);
/// The time for which callers wait for the answer of a running browser. Until it is known to hang, it counts as running:
/// callers are requests, which must not all wait for it.
const ANSWERING: Duration = Duration::from_secs(1);
/// The number of pages of each place after which a browser is replaced, because it does not free all memory.
const MAX_PAGES: usize = 100;
/// The part of a deadline that is reserved for closing the page.
const CLOSING: Duration = Duration::from_millis(150);
/// The time limit for closing a page, even after the deadline. If closing takes longer, the browser is replaced, or
/// checked if it is the operator's.
const CLOSING_AT_MOST: Duration = Duration::from_secs(1);
/// The error if waiting for a place or a browser takes longer than the deadline.
const LATE: ProbeError = ProbeError::late(Reason::TimeoutConnect);

/// The address of the egress proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressProxyAddress {
    /// The port of the first place. The other places have the next ports. With port 0, each place takes a free port.
    pub listen: SocketAddr,
    /// The name or address by which browsers reach the proxy, as in a URL.
    pub host: String,
}

impl Default for EgressProxyAddress {
    /// Returns free ports on the loopback address.
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), host: Ipv4Addr::LOCALHOST.to_string() }
    }
}

/// The browser and the places for its pages. It works until it is stopped. A browser that this process has started ends with
/// the process in any case.
pub struct RealBrowsers {
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

impl RealBrowsers {
    /// Prepares the places for `pages` pages, and starts the browser in the background. Their requests take the ways of
    /// `http`.
    ///
    /// # Errors
    /// Returns an error if a port of the egress proxy cannot be opened, or a thread cannot be started.
    pub fn start(
        source: BrowserSource,
        pages: usize,
        egress_proxy: EgressProxyAddress,
        http: &HttpProber,
    ) -> io::Result<Arc<Self>> {
        let EgressProxyAddress { listen, host } = egress_proxy;
        let open = |index: usize| {
            let mut listen = listen;
            if listen.port() != 0 {
                listen.set_port(listen.port().saturating_add(u16::try_from(index).unwrap_or(u16::MAX)));
            }
            EgressProxy::open(listen, &host, &http.wire).map_err(|error| {
                io::Error::other(format!("the browsers' egress proxy cannot listen on {listen}: {error}"))
            })
        };
        let free = (0..pages).map(open).collect::<io::Result<Vec<_>>>()?;
        let browsers = Arc::new(Self {
            launcher: Launcher::new(source, host),
            size: free.len(),
            state: Mutex::new(State { free, ..State::default() }),
            changed: Condvar::new(),
            is_closed: AtomicBool::new(false),
        });
        let kept = Arc::clone(&browsers);
        thread::Builder::new().name("browser".into()).spawn(move || kept.check_when_wanted())?;
        Ok(browsers)
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// Waits until `find` returns something, the deadline passes or the browser is stopped.
    fn wait_for<T>(
        &self,
        deadline: Instant,
        mut find: impl FnMut(&mut State) -> Option<Result<T, ProbeError>>,
    ) -> Result<T, ProbeError> {
        let mut state = self.state.lock();
        loop {
            if self.is_closed() {
                return Err(no_browser("the service is shutting down"));
            }
            if let Some(found) = find(&mut state) {
                return found;
            }
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return find(&mut state).unwrap_or(Err(LATE));
            }
        }
    }

    /// Waits for a free place until `deadline`.
    fn take(&self, deadline: Instant) -> Result<Lease<'_>, ProbeError> {
        let egress = self.wait_for(deadline, |state| state.free.pop().map(Ok))?;
        Ok(Lease { browsers: self, egress })
    }

    /// Waits for the browser until `deadline`. If none runs, one is started, unless that has just failed.
    fn browser(&self, deadline: Instant) -> Result<Arc<Browser>, ProbeError> {
        let asked = Instant::now();
        self.wait_for(deadline, |state| match (&state.running, &state.failure) {
            (Some(browser), _) => Some(Ok(Arc::clone(browser))),
            (None, Some(why)) if state.is_checked_since(asked) => Some(Err(no_browser(why))),
            _ => {
                self.want(state);
                None
            }
        })
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

impl Browsers for RealBrowsers {
    fn sessions(&self) -> usize {
        self.size
    }

    /// Has the browser checked, or one started, unless that was just done, and waits for the outcome, unless the last start
    /// has failed.
    fn is_available(&self) -> bool {
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

    fn was_available(&self) -> bool {
        let mut state = self.state.lock();
        if !state.is_checked_since(Instant::now()) {
            self.want(&mut state);
        }
        state.running.is_some() && !self.is_closed()
    }

    /// Ends the browser without waiting. Pages that are open keep it until they are closed.
    fn stop(&self) {
        let mut state = self.state.lock();
        self.is_closed.store(true, Ordering::Relaxed);
        state.running = None;
        self.changed.notify_all();
    }

    fn prints(&self) -> bool {
        true
    }

    /// The place of the page has no page load, so its egress proxy would refuse every request.
    fn print(&self, html: &str, deadline: Instant) -> Result<Vec<u8>, ProbeError> {
        let place = self.take(deadline)?;
        let mut page = self.open(&place, deadline)?;
        let printed = page.print(html, deadline);
        self.end(page);
        printed.map_err(|fault| fault.error("cannot print"))
    }

    fn screenshot(&self, address: &Url, deadline: Instant) -> Result<(u16, Vec<u8>), ProbeError> {
        let trace = Trace { module: "screenshot".into(), probe: 0, query: "".into(), control: false };
        let request = Request {
            method: Method::Get,
            via: Via::Browser,
            url: address.clone(),
            headers: Vec::new(),
            body: None,
            max_redirects: 0,
            body_limit: 0,
            marks: Vec::new(),
            trace,
        };
        self.visit(&request, true, deadline, |page, answer, until| {
            let file = page.screenshot(until).map_err(|fault| fault.error("cannot take a screenshot"))?;
            Ok((answer.status, file))
        })
    }
}

impl RealBrowsers {
    /// Loads the page of a request, and calls `see` when it is ready.
    fn visit<T>(
        &self,
        request: &Request,
        with_images: bool,
        deadline: Instant,
        see: impl FnOnce(&mut Page, Response, Instant) -> Result<T, ProbeError>,
    ) -> Result<T, ProbeError> {
        // URLs of files and of the browser itself are refused.
        if !matches!(request.url.scheme(), "http" | "https") || !request.url.has_host() {
            return Err(Reason::Protocol.because("the URL of a request must be http or https"));
        }
        let place = self.take(deadline)?;
        let mut page = self.open(&place, deadline)?;
        let page_load = Arc::new(PageLoad::new(deadline, &page.browser));
        place.egress.load(Some(Arc::clone(&page_load)));
        let until = deadline.checked_sub(CLOSING).unwrap_or(deadline);
        let seen = match page.navigate(&request.url, with_images, until) {
            Ok(()) => page::wait_for(&mut page, request, &page_load, until)
                .and_then(|answer| see(&mut page, answer, until)),
            Err(Fault::Late) => Err(ProbeError::late(Reason::TimeoutFirstByte)),
            Err(fault) => Err(fault.error(LOST)),
        };
        place.egress.load(None);
        self.end(page);
        seen
    }
}

impl Prober for RealBrowsers {
    fn send(&self, request: &Request, _: &mut CookieJar, deadline: Instant) -> Result<Response, ProbeError> {
        self.visit(request, false, deadline, |_, answer, _| Ok(answer))
    }
}

fn no_browser(why: &str) -> ProbeError {
    want_of_resources().unwrap_or_else(|| Reason::Browser.because(format!("no browser: {why}")))
}

/// Returns whether the browser answers, or cannot be asked because this process is out of descriptors.
fn answers(browser: &Arc<Browser>) -> bool {
    let until = Instant::now() + SHORT;
    let asked = Page::connect(browser, until).and_then(|mut page| page.version(until));
    asked.is_ok() || want_of_resources().is_some()
}

/// A leased place for a page. Dropping it returns the place.
struct Lease<'p> {
    browsers: &'p RealBrowsers,
    egress: Arc<EgressProxy>,
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        self.egress.load(None);
        self.browsers.state.lock().free.push(Arc::clone(&self.egress));
        self.browsers.changed.notify_all();
    }
}
