//! The browser of the configuration.

use std::collections::HashSet;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use log::warn;

use super::error::AppError;
use crate::config::BrowserSettings;
use crate::net::browser::BrowserSource;
use crate::net::{BrowserConfig, BrowserError, NetConfig, RealBrowsers};

/// Starts the configured browser.
pub(super) fn start(settings: &BrowserSettings, net: NetConfig) -> Result<Option<RealBrowsers>, AppError> {
    let Some(source) = settings.browser.clone() else { return Ok(None) };
    let hosts = addresses(&source);
    let config = BrowserConfig {
        source,
        pages: settings.browser_sessions,
        egress_proxy: settings.browser_guard.clone().unwrap_or_default(),
        clients: Arc::new(move |ip| hosts.contains(&ip)),
        net,
    };
    RealBrowsers::start(&config).map(Some).map_err(|error| match error {
        BrowserError::Program(_) | BrowserError::Net(_) => AppError::config(error),
        BrowserError::EgressProxy(..) | BrowserError::Failed(_) => AppError::failed(error),
    })
}

/// Returns the addresses of another machine's browser, which may use the egress proxy.
fn addresses(source: &BrowserSource) -> HashSet<IpAddr> {
    let BrowserSource::At(url) = source else { return HashSet::new() };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match (host, url.port_or_known_default().unwrap_or_default()).to_socket_addrs() {
        Ok(found) => found.map(|addr| addr.ip().to_canonical()).collect(),
        Err(error) => {
            warn!("cannot resolve the host of --browser, whose pages will load nothing: {error}");
            HashSet::new()
        }
    }
}
