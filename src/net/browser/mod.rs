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
//! | `pool` | the browser, the places for pages, and the way of a request |
//! | `cdp` | a page: its connection, its context, commands and events |
//! | `page`, `page_state.js` | waiting for a page |
//! | `egress` | the egress proxy, through which all traffic of the pages goes |
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
use std::time::Instant;

pub use process::BrowserSource;

use super::config::NetConfig;
use super::wire::Wire;
use crate::modules::probe::{Browsers, ProbeError, Prober};
use egress::EgressProxy;
use pool::Pool;
use process::Launcher;

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
        let EgressProxyAddress { listen, announced } = &config.egress_proxy;
        let wire = Wire::new(config.net.clone());
        let host = announced.clone().unwrap_or_else(|| match listen.ip() {
            IpAddr::V6(ip) => format!("[{ip}]"),
            IpAddr::V4(ip) => ip.to_string(),
        });
        let open = |index: usize| {
            let mut listen = *listen;
            if listen.port() != 0 {
                listen.set_port(listen.port().saturating_add(u16::try_from(index).unwrap_or(u16::MAX)));
            }
            EgressProxy::open(listen, &host, &wire).map_err(|error| {
                io::Error::other(format!("the browsers' egress proxy cannot listen on {listen}: {error}"))
            })
        };
        let places = (0..config.pages).map(open).collect::<io::Result<Vec<_>>>()?;
        Ok(Self(Pool::start(Launcher::new(config.source.clone(), host), places)?))
    }

    /// Returns the prober that opens pages in this browser.
    pub fn prober(&self) -> Arc<dyn Prober> {
        Arc::clone(&self.0) as _
    }
}

impl Browsers for RealBrowsers {
    fn sessions(&self) -> usize {
        self.0.size
    }

    fn is_available(&self) -> bool {
        self.0.is_available()
    }

    /// Does not wait for the end of the browser.
    fn stop(&self) {
        self.0.close();
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
