//! Pages rendered by Chromium, driven by the Chrome DevTools Protocol.
//!
//! A request with [`Via::Browser`](crate::modules::definition::Via) leases a place of the `pool`, opens a page in an empty
//! context (`cdp`), and checks the page again and again until one of the request's marks matches (`page`,
//! `page_state.js`). The page's HTML is then the answer. All traffic of a page goes through the `egress` proxy of its
//! place. A failure affects only that request: a browser that no longer answers is replaced, and a broken page takes its
//! context with it.
//!
//! | file | holds |
//! |---|---|
//! | `process` | Chromium: the process and its watchdog, or the operator's |
//! | `pool` | the browser, which is kept running, and the places for pages |
//! | `cdp` | a page: its connection, its context, commands and events |
//! | `page`, `page_state.js` | waiting for a page |
//! | `egress/` | the egress proxy, through which all traffic of the pages goes |
//!
//! The headers of a request are ignored: a browser sends its own.

mod cdp;
mod egress;
mod page;
mod pool;
mod process;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub use process::BrowserSource;

use super::config::NetConfig;
use super::wire::Wire;
use crate::modules::probe::{Browsers, CookieJar, Phase, ProbeError, Prober, Request, Response};
use cdp::{Fault, Page};
use egress::{EgressProxy, OwnPorts, PageLoad, Uplink};
use page::Waiting;
use pool::{Lease, Pool};
use process::{Launcher, want_of_resources};

/// The part of a deadline that is reserved for closing the page.
const CLOSING: Duration = Duration::from_millis(150);
/// The time limit for closing a page, even after the deadline. If closing takes longer, the browser is replaced, or
/// checked if it is the operator's.
const CLOSING_AT_MOST: Duration = Duration::from_secs(1);

/// The address of the egress proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressProxyAddress {
    /// The port of the first place. The other places have the next ports. With port 0, each place takes a free port.
    pub listen: SocketAddr,
    /// The name or address by which browsers reach the proxy, if it differs from the listening address.
    pub announced: Option<String>,
}

impl Default for EgressProxyAddress {
    /// Returns free ports on the loopback address.
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), announced: None }
    }
}

/// The configuration of the browser.
pub struct BrowserConfig {
    /// Where the browser is.
    pub source: BrowserSource,
    /// The number of pages that can be open at once.
    pub pages: usize,
    /// The address of the egress proxy.
    pub egress_proxy: EgressProxyAddress,
    /// The configuration of outgoing requests.
    pub net: NetConfig,
}

/// The reason why there is no browser.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The program to be started is not there.
    #[error("--browser: {0}")]
    Program(String),
    /// The egress proxy cannot listen on this address.
    #[error("the browsers' egress proxy cannot listen on {0}: {1}")]
    EgressProxy(SocketAddr, #[source] io::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread for the browser: {0}")]
    Failed(#[source] io::Error),
}

/// The browser and its pages. Dropping it ends a browser that this process has started.
pub struct RealBrowsers(Arc<Pool>);

impl RealBrowsers {
    /// Prepares the places for pages, and starts the browser in the background.
    ///
    /// # Errors
    /// Returns an error if a value of the configuration is invalid, or if a port of the egress proxy cannot be
    /// opened.
    pub fn start(config: &BrowserConfig) -> Result<Self, BrowserError> {
        let own = Arc::new(OwnPorts::default());
        let uplink = Arc::new(Uplink { wire: Wire::new(&config.net), own: Arc::clone(&own) });
        let host =
            config.egress_proxy.announced.clone().unwrap_or_else(|| match config.egress_proxy.listen.ip() {
                IpAddr::V6(ip) => format!("[{ip}]"),
                IpAddr::V4(ip) => ip.to_string(),
            });
        let launcher = Launcher::find(&config.source, host.clone(), own).map_err(BrowserError::Program)?;
        let proxies = (0..config.pages).map(|index| egress_proxy(config, index, &host, &uplink));
        let proxies = proxies.collect::<Result<Vec<_>, _>>()?;
        let pool = Pool::start(launcher, proxies).map_err(BrowserError::Failed)?;
        Ok(Self(pool))
    }

    /// Returns the prober that opens pages in this browser.
    pub fn prober(&self) -> Arc<dyn Prober> {
        Arc::clone(&self.0) as _
    }

    /// Ends the browser without waiting for it.
    pub fn stop(&self) {
        self.0.close();
    }
}

/// Opens the egress proxy of a place.
fn egress_proxy(
    config: &BrowserConfig,
    index: usize,
    host: &str,
    uplink: &Arc<Uplink>,
) -> Result<Arc<EgressProxy>, BrowserError> {
    let mut listen = config.egress_proxy.listen;
    if listen.port() != 0 {
        let port = u16::try_from(index).ok().and_then(|index| listen.port().checked_add(index));
        let none =
            || BrowserError::EgressProxy(listen, io::Error::other("no further port for the next page"));
        listen.set_port(port.ok_or_else(none)?);
    }
    let opened = EgressProxy::open(listen, host, Arc::clone(uplink));
    opened.map_err(|error| BrowserError::EgressProxy(listen, error))
}

impl Browsers for RealBrowsers {
    fn sessions(&self) -> usize {
        self.0.size()
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    fn prints(&self) -> bool {
        true
    }

    fn print(&self, page: &str, deadline: Instant) -> Result<Vec<u8>, ProbeError> {
        self.0.print(page, deadline)
    }
}

impl Drop for RealBrowsers {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Prober for Pool {
    fn send(&self, request: &Request, _: &mut CookieJar, deadline: Instant) -> Result<Response, ProbeError> {
        // URLs of files and of the browser itself are refused.
        if !matches!(request.url.scheme(), "http" | "https") || !request.url.has_host() {
            return Err(ProbeError::Protocol("the URL of a request must be http or https".into()));
        }
        let place = self.take(deadline)?;
        let mut page = self.open(&place, deadline)?;
        let page_load = Arc::new(PageLoad::new(deadline, page.browser.hosts.clone()));
        place.egress.begin(Arc::clone(&page_load));
        let until = deadline.checked_sub(CLOSING).unwrap_or(deadline);
        let seen = match page.navigate(&request.url, until) {
            Ok(()) => Waiting::new(request, &page_load, until).wait_for(&mut page),
            Err(Fault::Late) => Err(ProbeError::Timeout(Phase::FirstByte)),
            Err(fault) => Err(ProbeError::Browser(format!("the browser was lost: {}", fault.kind()))),
        };
        place.egress.end();
        self.end(page);
        seen
    }
}

impl Pool {
    /// Prints a page that loads nothing: its place has no page load, so its egress proxy would refuse every request.
    fn print(&self, html: &str, deadline: Instant) -> Result<Vec<u8>, ProbeError> {
        let place = self.take(deadline)?;
        let mut page = self.open(&place, deadline)?;
        let printed = page.print(html, deadline);
        self.end(page);
        printed.map_err(|fault| ProbeError::Browser(format!("cannot print: {}", fault.kind())))
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
                self.check();
                return Err(ProbeError::Timeout(Phase::Connect));
            }
            if !matches!(fault, Fault::Gone(_) | Fault::Late) {
                return Err(ProbeError::Browser(format!("cannot open a page: {}", fault.kind())));
            }
            self.lose(&browser);
            if is_second {
                return Err(ProbeError::Browser(format!("the browser was lost: {}", fault.kind())));
            }
            is_second = true;
        }
    }

    fn end(&self, page: Page) {
        let browser = Arc::clone(&page.browser);
        match page.close(Instant::now() + CLOSING_AT_MOST) {
            Ok(()) => {}
            // The page may still be alive.
            Err(_) if browser.is_own() => self.lose(&browser),
            Err(_) => self.check(),
        }
    }
}
