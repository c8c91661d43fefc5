//! Pages rendered by real browsers, driven by W3C WebDriver.
//!
//! A request with [`Via::Browser`](crate::modules::definition::Via) leases a slot of the `pool` with its session,
//! opens a page in an empty context (`session`), and checks the page again and again until one of the request's marks
//! matches (`page`, `page_state.js`). The page's HTML is then the answer. All traffic of the browser goes through the
//! `egress` proxy. A failure affects only that request: a session that may be broken is replaced.
//!
//! | file | holds |
//! |---|---|
//! | `config` | the configuration |
//! | `client` | WebDriver commands over HTTP |
//! | `capabilities` | the capabilities of a session, for Chromium and Firefox |
//! | `session` | a session, which is one browser |
//! | `contexts`, `socket` | empty contexts, by the Chrome DevTools Protocol or WebDriver BiDi |
//! | `page`, `page_state.js` | waiting for a page |
//! | `pool` | sessions that are used again |
//! | `endpoint`, `driver` | the endpoints that open sessions, and a chromedriver that this process starts |
//! | `sandbox` | whether a browser starts with its own sandbox |
//! | `session_counts`, `wait_group` | the number of sessions, and waiting for the threads that open and end them |
//! | `availability` | whether a browser is available |
//! | `egress/` | the egress proxy, through which all traffic of the browsers goes |
//!
//! The headers of a request are ignored: a browser sends its own.

mod availability;
mod capabilities;
mod client;
mod config;
mod contexts;
mod driver;
mod egress;
mod endpoint;
mod page;
mod pool;
mod sandbox;
mod session;
mod session_counts;
mod socket;
mod wait_group;

use std::fs::File;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Url;

pub use config::{BrowserConfig, BrowserError, EgressProxyAddress, Webdriver};

use super::failure::out_of_resources;
use crate::modules::probe::{Browsers, CookieJar, Phase, ProbeError, Prober, Request, Response};
use availability::Availability;
use client::Fault;
use egress::{Destination, PageLoad};
use endpoint::Opener;
use page::Task;
use pool::{Lease, NoSession, Pool};
use session::Page;

/// The part of a deadline that is reserved for closing the page.
const CLOSING: Duration = Duration::from_millis(150);
/// The time limit for closing a page, even after the deadline. If closing takes longer, the session is ended without
/// waiting.
const CLOSING_AT_MOST: Duration = Duration::from_secs(1);
/// The time limit for ending all sessions.
const ENDING: Duration = Duration::from_secs(3);

/// The current number of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrowserLoad {
    /// The maximum number of sessions.
    pub sessions: usize,
    /// The number of open sessions.
    pub open: usize,
    /// The number of sessions that are used by a check.
    pub busy: usize,
}

/// The browsers. Dropping them ends all sessions and the drivers that this process has started.
pub struct RealBrowsers {
    shared: Arc<Shared>,
    checking: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    pool: Arc<Pool>,
    opener: Arc<Opener>,
    availability: Arc<Availability>,
    destination: Arc<Destination>,
    is_simulated: bool,
}

impl RealBrowsers {
    /// Prepares browsers with this configuration. The first one is started in the background.
    ///
    /// # Errors
    /// Returns an error if a value of the configuration is invalid, or if a port of the egress proxy cannot be
    /// opened.
    pub fn start(config: &BrowserConfig) -> Result<Self, BrowserError> {
        let is_simulated = config.simulated.is_some();
        let (pool, opener, destination) = config::build(config)?;
        let (pool, availability) = (Arc::new(pool), Arc::new(Availability::default()));
        let checking = availability::start(Arc::clone(&availability), Arc::clone(&opener), Arc::clone(&pool))
            .map_err(BrowserError::Failed)?;
        let shared = Arc::new(Shared { pool, opener, availability, destination, is_simulated });
        Ok(Self { shared, checking: Mutex::new(Some(checking)) })
    }

    /// Returns the prober that opens pages in these browsers.
    pub fn prober(&self) -> Arc<dyn Prober> {
        Arc::clone(&self.shared) as _
    }

    /// Returns the current number of sessions.
    pub fn load(&self) -> BrowserLoad {
        let pool = &self.shared.pool;
        BrowserLoad { sessions: pool.size(), open: self.shared.opener.open_sessions(), busy: pool.busy() }
    }

    /// Ends all browsers, and waits for that up to a time limit.
    pub fn stop(&self) {
        self.shared.opener.close();
        self.shared.availability.stop();
        let checking = self.checking.lock().take();
        if let Some(checking) = checking {
            let until = Instant::now() + ENDING;
            self.shared.pool.close(until);
            self.shared.opener.wait_idle(until);
            self.shared.opener.stop_drivers();
            // A panic of that thread is already logged.
            let _ = checking.join();
        }
    }
}

impl Browsers for RealBrowsers {
    fn sessions(&self) -> usize {
        self.shared.pool.size()
    }

    /// Returns the result of the last background check. Right after the start, waits for the first check.
    fn is_available(&self) -> bool {
        self.shared.availability.is_available()
    }

    fn prints(&self) -> bool {
        true
    }

    fn print(&self, page: &str, deadline: Instant) -> Result<Vec<u8>, ProbeError> {
        self.shared.print(page, deadline)
    }
}

impl Drop for RealBrowsers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Prober for Shared {
    fn send(&self, request: &Request, _: &mut CookieJar, deadline: Instant) -> Result<Response, ProbeError> {
        let url = self.address(&request.url)?;
        let mut lease = self.pool.take(deadline).ok_or(ProbeError::Timeout(Phase::Connect))?;
        let page_load = || Arc::new(PageLoad::new(request.trace.clone(), deadline));
        let (page, page_load) = self.open(&mut lease, &url, page_load, deadline)?;
        let until = deadline.checked_sub(CLOSING).unwrap_or(deadline);
        let is_simulated = self.is_simulated;
        let task =
            Task { request, page_load: &page_load, began: Instant::now(), deadline: until, is_simulated };
        let session = lease.session().ok_or_else(|| ProbeError::Browser("the browser was lost".into()))?;
        let seen = page::wait_for_page(session, &task);
        let is_session_broken = matches!(&seen, Err(failure) if failure.is_session_broken);
        self.close(&mut lease, page, deadline, is_session_broken);
        seen.map_err(|failure| failure.error)
    }

    fn evict_expired(&self, now: Instant) {
        self.destination.evict_expired(now);
    }
}

impl Shared {
    /// Returns the URL to open. URLs of files and of the browser itself are refused.
    fn address(&self, url: &Url) -> Result<Url, ProbeError> {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(ProbeError::Protocol("the URL of a request must be http or https".into()));
        }
        let address = if self.is_simulated { egress::simulated_url(url) } else { Some(url.clone()) };
        address.ok_or_else(|| ProbeError::Protocol("the URL of the request cannot be simulated".into()))
    }

    /// Starts loading a page. Each attempt has its own page load, so that requests of an earlier attempt end with its page
    /// load.
    fn open(
        &self,
        lease: &mut Lease<'_>,
        url: &Url,
        page_load: impl Fn() -> Arc<PageLoad>,
        deadline: Instant,
    ) -> Result<(Page, Arc<PageLoad>), ProbeError> {
        self.begin(lease, deadline, |lease| {
            let page_load = page_load();
            lease.egress().begin(Arc::clone(&page_load));
            Some(lease.session()?.open_page(url, deadline).map(|page| (page, page_load)))
        })
    }

    /// Prints a page that loads nothing: its slot has no page load, so its egress proxy would refuse every request.
    fn print(&self, html: &str, deadline: Instant) -> Result<Vec<u8>, ProbeError> {
        let mut lease = self.pool.take(deadline).ok_or(ProbeError::Timeout(Phase::Connect))?;
        let blank = |lease: &mut Lease<'_>| Some(lease.session()?.blank_page(deadline));
        let page = self.begin(&mut lease, deadline, blank)?;
        let session = lease.session().ok_or_else(|| ProbeError::Browser("the browser was lost".into()))?;
        let printed = session.print(html, deadline);
        let is_session_broken = matches!(&printed, Err(fault) if fault.is_end_of_session());
        self.close(&mut lease, page, deadline, is_session_broken);
        printed.map_err(|fault| ProbeError::Browser(format!("cannot print: {}", fault.kind())))
    }

    /// Begins something in the session of a lease. A session that ended while it was idle is replaced, because this caller
    /// has not caused that.
    fn begin<T>(
        &self,
        lease: &mut Lease<'_>,
        deadline: Instant,
        attempt: impl Fn(&mut Lease<'_>) -> Option<Result<T, Fault>>,
    ) -> Result<T, ProbeError> {
        loop {
            lease.fill(deadline).map_err(|none| self.no_session(none))?;
            let Some(is_new) = lease.session().map(|session| session.is_new()) else { continue };
            let fault = match attempt(lease) {
                Some(Ok(begun)) => return Ok(begun),
                Some(Err(fault)) => fault,
                None => continue,
            };
            lease.retire();
            self.availability.recheck();
            if Instant::now() >= deadline {
                return Err(ProbeError::Timeout(Phase::Connect));
            }
            if is_new {
                return Err(ProbeError::Browser(format!("the browser was lost: {}", fault.kind())));
            }
        }
    }

    fn no_session(&self, none: NoSession) -> ProbeError {
        match none {
            NoSession::Late => ProbeError::Timeout(Phase::Connect),
            NoSession::Failed(why) => {
                self.availability.recheck();
                // The error does not say why the driver could not be reached.
                if let Some(want) = File::open("/dev/null").err().as_ref().and_then(out_of_resources) {
                    return want;
                }
                ProbeError::Browser(format!("no browser: {why}"))
            }
        }
    }

    /// Closes the page. Also ends the session if it may be broken.
    fn close(&self, lease: &mut Lease<'_>, page: Page, deadline: Instant, is_session_broken: bool) {
        lease.egress().end();
        let until = deadline.max(Instant::now() + CLOSING_AT_MOST);
        let is_closed = lease.session().is_some_and(|session| {
            (!is_session_broken || session.survives_hung_pages()) && session.close_page(page, until).is_ok()
        });
        if !is_closed {
            lease.retire();
            self.availability.recheck();
        }
    }
}
