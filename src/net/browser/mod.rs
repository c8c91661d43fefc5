//! Pages rendered by real browsers, driven by W3C WebDriver.
//!
//! A request with [`Via::Browser`](crate::modules::definition::Via) goes this way: a place in the `pool` with its session; an empty context
//! and a page in it (`session`); the address opened; looks at the page until one of the request's marks
//! fits (`page`, `look.js`); what the page shows then is the answer. All traffic of the browser goes
//! through the `egress` guard. Whatever goes wrong costs that one request: a session that is in doubt is
//! replaced.
//!
//! | file | holds |
//! |---|---|
//! | `config` | settings |
//! | `client` | commands of WebDriver over HTTP |
//! | `capabilities` | what a session is to be like: Chromium, Firefox |
//! | `session` | a browser |
//! | `contexts`, `socket` | its empty contexts, by the Chrome DevTools Protocol or WebDriver BiDi |
//! | `page`, `look.js` | waiting, by looking |
//! | `pool` | sessions used again |
//! | `endpoint`, `driver` | where sessions come from; a chromedriver of our own |
//! | `sandbox` | whether a browser starts with its own sandbox |
//! | `roster`, `crew` | how many sessions there are; threads that open and end them |
//! | `watch` | whether a browser answers |
//! | `egress/` | the guard |
//!
//! What a browser sends is the browser's: the headers of a request are not.

mod capabilities;
mod client;
mod config;
mod contexts;
mod crew;
mod driver;
mod egress;
mod endpoint;
mod page;
mod pool;
mod roster;
mod sandbox;
mod session;
mod socket;
mod watch;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Url;

pub use config::{BrowserConfig, BrowserError, Guard, Webdriver};

use crate::modules::probe::{Browsers, CookieJar, Phase, ProbeError, Prober, Request, Response};
use egress::{Visit, Way};
use endpoint::Opener;
use page::Task;
use pool::{Lease, NoSession, Pool};
use session::Page;
use watch::Watch;

/// What is left of a deadline for closing a page.
const CLOSING: Duration = Duration::from_millis(150);
/// For a page to close, beyond the deadline if need be; what takes longer ends with its session, and nobody waits.
const CLOSING_AT_MOST: Duration = Duration::from_secs(1);
/// For all sessions to end.
const ENDING: Duration = Duration::from_secs(3);

/// Numbers of the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BrowserLoad {
    /// Sessions that there may be.
    pub sessions: usize,
    /// Sessions that are open.
    pub open: usize,
    /// Sessions in which a page is looked at.
    pub busy: usize,
}

/// The browsers. All of them, and the drivers that are our own, end with it.
pub struct RealBrowsers {
    shared: Arc<Shared>,
    watching: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    pool: Arc<Pool>,
    opener: Arc<Opener>,
    watch: Arc<Watch>,
    way: Arc<Way>,
    is_played: bool,
}

impl RealBrowsers {
    /// Browsers with these settings. The first is started in the background.
    ///
    /// # Errors
    /// A setting is of no use, or a port of the egress guard cannot be had.
    pub fn start(config: &BrowserConfig) -> Result<Self, BrowserError> {
        let is_played = config.simulated.is_some();
        let (pool, opener, way) = config::build(config)?;
        let (pool, watch) = (Arc::new(pool), Arc::new(Watch::default()));
        let watching = watch::start(Arc::clone(&watch), Arc::clone(&opener), Arc::clone(&pool))
            .map_err(BrowserError::Failed)?;
        let shared = Arc::new(Shared { pool, opener, watch, way, is_played });
        Ok(Self { shared, watching: Mutex::new(Some(watching)) })
    }

    /// Who opens pages in them.
    pub fn prober(&self) -> Arc<dyn Prober> {
        Arc::clone(&self.shared) as _
    }

    /// How much they have to do.
    pub fn load(&self) -> BrowserLoad {
        let pool = &self.shared.pool;
        BrowserLoad { sessions: pool.size(), open: self.shared.opener.open_sessions(), busy: pool.busy() }
    }

    /// Ends them all.
    pub fn stop(&self) {
        self.shared.opener.close();
        self.shared.watch.stop();
        let watching = self.watching.lock().take();
        if let Some(watching) = watching {
            let until = Instant::now() + ENDING;
            self.shared.pool.close(until);
            self.shared.opener.settle(until);
            self.shared.opener.stop_drivers();
            // A panic there was logged.
            let _ = watching.join();
        }
    }
}

impl Browsers for RealBrowsers {
    fn sessions(&self) -> usize {
        self.shared.pool.size()
    }

    /// Looked after in the background; only before the first look, right after the start, it waits for that.
    fn is_available(&self) -> bool {
        self.shared.watch.is_available()
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
        let began = Instant::now();
        let visit = || Arc::new(Visit::new(request.trace.clone(), deadline));
        let (page, visit) = self.open(&mut lease, &url, visit, deadline)?;
        let until = deadline.checked_sub(CLOSING).unwrap_or(deadline);
        let is_played = self.is_played;
        let task = Task { request, visit: &visit, began: Instant::now(), deadline: until, is_played };
        let session = lease.session().ok_or_else(|| ProbeError::Browser("the browser was lost".into()))?;
        let seen = page::look(session, &task);
        let is_doubtful = matches!(&seen, Err(failure) if failure.is_session_doubtful);
        self.close(&mut lease, page, deadline, is_doubtful);
        let mut response = seen.map_err(|failure| failure.error)?;
        response.timing.connect = task.began.saturating_duration_since(began);
        Ok(response)
    }

    fn keep_house(&self, now: Instant) {
        self.way.keep_house(now);
    }
}

impl Shared {
    /// Where a page is opened; never an address of the browser's own, or of a file.
    fn address(&self, url: &Url) -> Result<Url, ProbeError> {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(ProbeError::Protocol("the request's address is not one of http or https".into()));
        }
        let address = if self.is_played { egress::staged(url) } else { Some(url.clone()) };
        address.ok_or_else(|| ProbeError::Protocol("the request's address cannot be simulated".into()))
    }

    /// Has the page begun to load. A session that died while nobody used it is replaced: that is not the
    /// check's fault. Each attempt is a visit of its own, for what the session before it left under way ends with that.
    fn open(
        &self,
        lease: &mut Lease<'_>,
        url: &Url,
        visit: impl Fn() -> Arc<Visit>,
        deadline: Instant,
    ) -> Result<(Page, Arc<Visit>), ProbeError> {
        loop {
            lease.fill(deadline).map_err(|none| self.no_session(none))?;
            let visit = visit();
            lease.gate().begin(Arc::clone(&visit));
            let Some(session) = lease.session() else { continue };
            let is_new = session.is_new();
            let fault = match session.open_page(url, deadline) {
                Ok(page) => return Ok((page, visit)),
                Err(fault) => fault,
            };
            lease.retire();
            self.watch.doubt();
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
                self.watch.doubt();
                ProbeError::Browser(format!("no browser: {why}"))
            }
        }
    }

    /// Closes the page; a session that is in doubt with it.
    fn close(&self, lease: &mut Lease<'_>, page: Page, deadline: Instant, is_doubtful: bool) {
        lease.gate().end();
        let until = deadline.max(Instant::now() + CLOSING_AT_MOST);
        let is_closed = lease.session().is_some_and(|session| {
            (!is_doubtful || session.outlives_a_hung_page()) && session.close_page(page, until).is_ok()
        });
        if !is_closed {
            lease.retire();
            self.watch.doubt();
        }
    }
}
