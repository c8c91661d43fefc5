//! The browser of the configuration.

use super::error::AppError;
use crate::config::BrowserSettings;
use crate::net::{BrowserConfig, BrowserError, NetConfig, RealBrowsers};

/// Starts the configured browser.
pub(super) fn start(settings: &BrowserSettings, net: NetConfig) -> Result<Option<RealBrowsers>, AppError> {
    let Some(source) = settings.browser.clone() else { return Ok(None) };
    let config = BrowserConfig {
        source,
        pages: settings.browser_sessions,
        egress_proxy: settings.browser_guard.clone().unwrap_or_default(),
        net,
    };
    RealBrowsers::start(&config).map(Some).map_err(|error| match error {
        BrowserError::Program(_) => AppError::config(error),
        BrowserError::EgressProxy(..) | BrowserError::Failed(_) => AppError::failed(error),
    })
}
