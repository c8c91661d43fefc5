//! The configuration of the browsers, and the parts that are built from it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use url::Url;

use super::client::Client;
use super::driver::Driver;
use super::egress::{Clients, Destination, EgressProxy, OwnPorts, Uplink};
use super::endpoint::{Endpoint, Opener, Source};
use super::pool::{Pool, Slot};
use crate::base::secret::Secret;
use crate::modules::probe::Prober;
use crate::net::approve::Approver;
use crate::net::config::{NetConfig, NetError, OutboundProxy};

/// An endpoint that opens sessions.
#[derive(Debug, Clone)]
pub enum Webdriver {
    /// The `chromedriver` in the `PATH`. This process starts and ends it.
    Auto,
    /// The URL of a WebDriver endpoint: chromedriver, geckodriver, Selenium Grid. It may contain a password.
    At(Secret<Url>),
}

/// The address of the egress proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EgressProxyAddress {
    /// The port of the first session. The other sessions have the next ports. With port 0, each session takes a free
    /// port.
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

/// The configuration of the browsers.
pub struct BrowserConfig {
    /// The endpoints. Sessions are distributed over those that answer.
    pub endpoints: Vec<Webdriver>,
    /// The maximum number of sessions of all endpoints together.
    pub sessions: usize,
    /// The address of the egress proxy.
    pub egress_proxy: EgressProxyAddress,
    /// A function that decides whether a client on another machine may use the egress proxy.
    pub clients: Arc<dyn Fn(IpAddr) -> bool + Send + Sync>,
    /// The configuration of outgoing requests.
    pub net: NetConfig,
    /// The simulated web that answers all requests of the browsers, if there is one.
    pub simulated: Option<Arc<dyn Prober>>,
}

/// The reason why there are no browsers.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The driver to be started is not installed. Contains a message that names the driver.
    #[error("--webdriver auto: {0}")]
    Driver(String),
    /// The egress proxy cannot listen on this address.
    #[error("the browsers' egress proxy cannot listen on {0}: {1}")]
    EgressProxy(SocketAddr, #[source] io::Error),
    /// The configuration of outgoing requests is invalid.
    #[error(transparent)]
    Net(NetError),
    /// A thread cannot be started.
    #[error("cannot start a thread for the browsers: {0}")]
    Failed(#[source] io::Error),
}

/// Builds the pool, the opener and the destination of all traffic. Starts only the egress proxies.
pub(super) fn build(config: &BrowserConfig) -> Result<(Pool, Arc<Opener>, Arc<Destination>), BrowserError> {
    let own = Arc::new(OwnPorts::default());
    let endpoints = config.endpoints.iter().map(|webdriver| endpoint(webdriver, &own));
    let endpoints = endpoints.collect::<Result<Vec<_>, _>>()?;
    let destination = Arc::new(destination(config, &own)?);
    let others = Arc::clone(&config.clients);
    let clients: Arc<Clients> = Arc::new(move |ip| ip.is_loopback() || others(ip));
    let slots =
        (0..config.sessions).map(|index| slot(&config.egress_proxy, index, &destination, &clients, &own));
    let slots = slots.collect::<Result<Vec<_>, _>>()?;
    let opener = Arc::new(Opener::new(endpoints, own));
    Ok((Pool::new(slots, Arc::clone(&opener)), opener, destination))
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

fn destination(config: &BrowserConfig, own: &Arc<OwnPorts>) -> Result<Destination, BrowserError> {
    if let Some(web) = &config.simulated {
        return Ok(Destination::Simulated(Arc::clone(web)));
    }
    let proxy = config.net.outbound_proxy.as_deref().map(OutboundProxy::parse).transpose();
    Ok(Destination::Web(Uplink {
        approver: Approver::new(config.net.allow_private_targets),
        proxy: proxy.map_err(BrowserError::Net)?,
        connect_timeout: config.net.connect_timeout,
        own: Arc::clone(own),
    }))
}

fn slot(
    egress_proxy: &EgressProxyAddress,
    index: usize,
    destination: &Arc<Destination>,
    clients: &Arc<Clients>,
    own: &OwnPorts,
) -> Result<Slot, BrowserError> {
    let mut listen = egress_proxy.listen;
    if listen.port() != 0 {
        let port = u16::try_from(index).ok().and_then(|index| listen.port().checked_add(index));
        let taken =
            || BrowserError::EgressProxy(listen, io::Error::other("no further port for the next session"));
        listen.set_port(port.ok_or_else(taken)?);
    }
    let egress = EgressProxy::open(listen, Arc::clone(destination), Arc::clone(clients));
    let egress = egress.map_err(|error| BrowserError::EgressProxy(listen, error))?;
    own.add(egress.addr().port());
    let host = egress_proxy.announced.clone().unwrap_or_else(|| match egress.addr().ip() {
        IpAddr::V6(ip) => format!("[{ip}]"),
        IpAddr::V4(ip) => ip.to_string(),
    });
    let proxy = format!("{host}:{}", egress.addr().port());
    Ok(Slot::new(egress, proxy))
}
