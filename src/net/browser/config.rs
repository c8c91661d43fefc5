//! Settings of the browsers, and the parts that are made of them.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use url::Url;

use super::client::Client;
use super::driver::Driver;
use super::egress::{Clients, Gate, OwnPorts, Uplink, Way};
use super::endpoint::{Endpoint, Opener, Source};
use super::pool::{Pool, Slot};
use crate::base::secret::Secret;
use crate::modules::probe::Prober;
use crate::net::approve::Approver;
use crate::net::config::{NetConfig, NetError, OutboundProxy};

/// Where sessions are had.
#[derive(Debug, Clone)]
pub enum Webdriver {
    /// `chromedriver` from the `PATH`, started and ended by us.
    Auto,
    /// An endpoint of WebDriver: chromedriver, geckodriver, Selenium Grid. It may hold a password.
    At(Secret<Url>),
}

/// Where the egress guard listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The first session's port, the others' behind it; port 0: any free ones.
    pub listen: SocketAddr,
    /// Name or address that browsers reach it by, if it is another.
    pub announced: Option<String>,
}

impl Default for Guard {
    /// Free ports of loopback.
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), announced: None }
    }
}

/// How pages are rendered.
pub struct BrowserConfig {
    /// Where sessions are had: those that answer share them.
    pub endpoints: Vec<Webdriver>,
    /// The most sessions at once, of all endpoints together.
    pub sessions: usize,
    /// Where the egress guard listens.
    pub guard: Guard,
    /// Which clients may use the guard, beside those of this machine.
    pub clients: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// How requests leave this machine.
    pub net: NetConfig,
    /// Answers all that browsers ask, in place of the web.
    pub simulated: Option<Arc<dyn Prober>>,
}

/// Why there are no browsers.
#[derive(Debug)]
pub enum BrowserError {
    /// A driver of our own was asked for, and there is none; says which.
    Driver(String),
    /// The guard cannot listen where it is told to.
    Guard(SocketAddr, io::Error),
    /// The outbound proxy is of no use.
    Net(NetError),
    /// A thread could not be started.
    Failed(io::Error),
}

impl fmt::Display for BrowserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver(why) => write!(f, "--webdriver auto: {why}"),
            Self::Guard(addr, error) => {
                write!(f, "the browsers' egress guard cannot listen on {addr}: {error}")
            }
            Self::Net(error) => error.fmt(f),
            Self::Failed(error) => write!(f, "no thread for the browsers: {error}"),
        }
    }
}

impl std::error::Error for BrowserError {}

/// Places and sessions as configured, and the way out of all of them; nothing is started yet but the guard.
pub(super) fn build(config: &BrowserConfig) -> Result<(Pool, Arc<Opener>, Arc<Way>), BrowserError> {
    let own = Arc::new(OwnPorts::default());
    let endpoints = config.endpoints.iter().map(|webdriver| endpoint(webdriver, &own));
    let endpoints = endpoints.collect::<Result<Vec<_>, _>>()?;
    let way = Arc::new(way(config, &own)?);
    let others = Arc::clone(&config.clients);
    let clients: Arc<Clients> = Arc::new(move |ip| ip.is_loopback() || others(ip));
    let slots = (0..config.sessions).map(|index| slot(&config.guard, index, &way, &clients, &own));
    let slots = slots.collect::<Result<Vec<_>, _>>()?;
    let opener = Arc::new(Opener::new(endpoints, own));
    Ok((Pool::new(slots, Arc::clone(&opener)), opener, way))
}

fn endpoint(webdriver: &Webdriver, own: &Arc<OwnPorts>) -> Result<Endpoint, BrowserError> {
    Ok(Endpoint::new(match webdriver {
        Webdriver::Auto => Source::Own(Driver::find(Arc::clone(own)).map_err(BrowserError::Driver)?),
        Webdriver::At(url) => {
            let client = Client::new(url.expose());
            if client.is_local() {
                own.add(client.port());
            }
            Source::Given(Arc::new(client))
        }
    }))
}

fn way(config: &BrowserConfig, own: &Arc<OwnPorts>) -> Result<Way, BrowserError> {
    if let Some(web) = &config.simulated {
        return Ok(Way::Played(Arc::clone(web)));
    }
    let proxy = config.net.outbound_proxy.as_deref().map(OutboundProxy::parse).transpose();
    Ok(Way::Web(Uplink {
        approver: Approver::new(config.net.allow_private_targets),
        proxy: proxy.map_err(BrowserError::Net)?,
        connect_timeout: config.net.connect_timeout,
        own: Arc::clone(own),
    }))
}

fn slot(
    guard: &Guard,
    index: usize,
    way: &Arc<Way>,
    clients: &Arc<Clients>,
    own: &OwnPorts,
) -> Result<Slot, BrowserError> {
    let mut listen = guard.listen;
    if listen.port() != 0 {
        let port = u16::try_from(index).ok().and_then(|index| listen.port().checked_add(index));
        let taken = || BrowserError::Guard(listen, io::Error::other("there are no more ports behind it"));
        listen.set_port(port.ok_or_else(taken)?);
    }
    let gate = Gate::open(listen, Arc::clone(way), Arc::clone(clients));
    let gate = gate.map_err(|error| BrowserError::Guard(listen, error))?;
    own.add(gate.addr().port());
    let host = guard.announced.clone().unwrap_or_else(|| match gate.addr().ip() {
        IpAddr::V6(ip) => format!("[{ip}]"),
        IpAddr::V4(ip) => ip.to_string(),
    });
    let proxy = format!("{host}:{}", gate.addr().port());
    Ok(Slot::new(gate, proxy))
}
