//! The browsers of the configuration.

use std::collections::HashSet;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use log::warn;
use url::Url;

use super::error::AppError;
use crate::config::BrowserSettings;
use crate::modules::probe::Prober;
use crate::net::browser::Webdriver;
use crate::net::{BrowserConfig, BrowserError, NetConfig, RealBrowsers};

/// Starts the configured browsers. With `simulated`, their requests are answered by the simulated web.
pub(super) fn start(
    settings: &BrowserSettings,
    net: NetConfig,
    simulated: Option<Arc<dyn Prober>>,
) -> Result<Option<RealBrowsers>, AppError> {
    if settings.webdrivers.is_empty() {
        return Ok(None);
    }
    let config = BrowserConfig {
        endpoints: settings.webdrivers.clone(),
        sessions: settings.browser_sessions,
        egress_proxy: settings.browser_guard.clone().unwrap_or_default(),
        clients: clients(settings),
        net,
        simulated,
    };
    RealBrowsers::start(&config).map(Some).map_err(|error| match error {
        BrowserError::Driver(_) | BrowserError::Net(_) => AppError::config(error),
        BrowserError::EgressProxy(..) | BrowserError::Failed(_) => AppError::failed(error),
    })
}

/// Returns the predicate that decides which addresses may use the egress proxy: this machine, the hosts of
/// the WebDriver endpoints and the configured networks.
fn clients(settings: &BrowserSettings) -> Arc<dyn Fn(IpAddr) -> bool + Send + Sync> {
    let hosts: HashSet<IpAddr> = settings.webdrivers.iter().flat_map(addresses).collect();
    let networks = settings.clients.clone();
    Arc::new(move |ip| hosts.contains(&ip) || networks.iter().any(|network| network.contains(ip)))
}

fn addresses(webdriver: &Webdriver) -> Vec<IpAddr> {
    let Webdriver::At(url) = webdriver else { return Vec::new() };
    let url: &Url = url.expose();
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Vec::new() };
    match (host.trim_matches(['[', ']']), port).to_socket_addrs() {
        Ok(found) => found.map(|addr| addr.ip().to_canonical()).collect(),
        Err(error) => {
            warn!("cannot resolve a host of --webdriver ({error}): name its browsers with --browser-client");
            Vec::new()
        }
    }
}
