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
use egress::{EgressProxy, OwnPorts, PageLoad};
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

/// The browser and its pages. Dropping it ends a browser that this process has started.
pub struct RealBrowsers(Arc<Pool>);

impl RealBrowsers {
    /// Prepares the places for pages, and starts the browser in the background.
    ///
    /// # Errors
    /// Returns an error if a port of the egress proxy cannot be opened, or a thread cannot be started.
    pub fn start(config: &BrowserConfig) -> io::Result<Self> {
        let BrowserConfig { source, pages, egress_proxy: EgressProxyAddress { listen, announced }, net } =
            config;
        let (wire, own) = (Wire::new(net), Arc::new(OwnPorts::default()));
        let host = announced.clone().unwrap_or_else(|| match listen.ip() {
            IpAddr::V6(ip) => format!("[{ip}]"),
            IpAddr::V4(ip) => ip.to_string(),
        });
        let open = |index: usize| {
            let mut listen = *listen;
            if listen.port() != 0 {
                listen.set_port(listen.port().saturating_add(u16::try_from(index).unwrap_or(u16::MAX)));
            }
            EgressProxy::open(listen, &host, &wire, &own).map_err(|error| {
                io::Error::other(format!("the browsers' egress proxy cannot listen on {listen}: {error}"))
            })
        };
        let proxies = (0..*pages).map(open).collect::<io::Result<Vec<_>>>()?;
        Ok(Self(Pool::start(Launcher::new(source.clone(), host.clone(), own), proxies)?))
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
            Ok(()) => page::wait_for(&mut page, request, &page_load, until),
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
            if !matches!(fault, Fault::Gone | Fault::Late) {
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
