//! Browsers, as they are configured.

use std::collections::HashSet;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use log::warn;
use url::Url;

use super::AppError;
use crate::config::{BrowserSettings, WebdriverSetting};
use crate::modules::probe::Prober;
use crate::net::browser::{Guard, Webdriver};
use crate::net::{BrowserConfig, BrowserError, NetConfig, RealBrowsers};

/// Starts those that are configured. `simulated` answers what they ask, in place of the web.
pub(super) fn start(
    settings: &BrowserSettings,
    net: NetConfig,
    simulated: Option<Arc<dyn Prober>>,
) -> Result<Option<RealBrowsers>, AppError> {
    if settings.webdrivers.is_empty() {
        return Ok(None);
    }
    let guard = settings.browser_guard.as_ref();
    let guard = guard.map(|guard| Guard { listen: guard.listen, announced: guard.announced.clone() });
    let config = BrowserConfig {
        endpoints: settings.webdrivers.iter().map(endpoint).collect(),
        sessions: settings.browser_sessions,
        guard: guard.unwrap_or_default(),
        clients: clients(settings),
        net,
        simulated,
    };
    RealBrowsers::start(&config).map(Some).map_err(|error| match error {
        BrowserError::Driver(_) | BrowserError::Net(_) => AppError::Config(error.to_string()),
        BrowserError::Guard(..) | BrowserError::Failed(_) => AppError::Failed(error.to_string()),
    })
}

fn endpoint(setting: &WebdriverSetting) -> Webdriver {
    match setting {
        WebdriverSetting::Auto => Webdriver::Auto,
        WebdriverSetting::At(url) => Webdriver::At(url.clone()),
    }
}

/// Who may use the guard: where the endpoints are, and what the operator says.
fn clients(settings: &BrowserSettings) -> Arc<dyn Fn(IpAddr) -> bool + Send + Sync> {
    let hosts: HashSet<IpAddr> = settings.webdrivers.iter().flat_map(addresses).collect();
    let networks = settings.clients.clone();
    Arc::new(move |ip| hosts.contains(&ip) || networks.iter().any(|network| network.contains(ip)))
}

fn addresses(setting: &WebdriverSetting) -> Vec<IpAddr> {
    let WebdriverSetting::At(url) = setting else { return Vec::new() };
    let url: &Url = url.expose();
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else { return Vec::new() };
    match (host.trim_matches(['[', ']']), port).to_socket_addrs() {
        Ok(found) => found.map(|addr| addr.ip().to_canonical()).collect(),
        Err(error) => {
            warn!("a host of --webdriver is not known ({error}): --browser-client can name its browsers");
            Vec::new()
        }
    }
}
