//! The options of browsers.

use std::net::{IpAddr, SocketAddr};

use clap::Args;
use url::Url;

use super::checked::{checked, secret};
use super::error::ConfigError;
use super::value;
use crate::base::address::is_loopback;
use crate::base::secret::Secret;
use crate::http::Network;
use crate::net::browser::{EgressProxyAddress, Webdriver};

/// The browsers for premium searches.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Browsers")]
pub struct BrowserSettings {
    /// Browser for premium searches: `auto` starts chromedriver from the PATH, http://HOST:PORT is a
    /// WebDriver endpoint (chromedriver, geckodriver, Selenium Grid) (repeatable; variable: separated by
    /// commas)
    #[arg(id = "webdrivers", long = "webdriver", env = "SIGHTLINE_WEBDRIVER", value_name = "URL")]
    #[arg(help_heading = "Browsers", value_delimiter = ',', value_parser = secret(webdriver))]
    pub webdrivers: Vec<Webdriver>,
    /// Browser sessions at once, over all endpoints; each opens one page at a time and takes about 300 MB
    #[arg(long, env = "SIGHTLINE_BROWSER_SESSIONS", value_name = "N", default_value = "2")]
    #[arg(help_heading = "Browsers", value_parser = checked(value::number(1, 64)))]
    pub browser_sessions: usize,
    /// Address of the egress proxy, which keeps browsers from private addresses; by default free
    /// loopback ports. For browsers on other machines: IP:PORT (each further session takes the next port),
    /// followed by =HOST if they reach it by another name
    #[arg(long, env = "SIGHTLINE_BROWSER_GUARD", value_name = "ADDRESS", value_parser = checked(egress_proxy))]
    #[arg(help_heading = "Browsers")]
    pub browser_guard: Option<EgressProxyAddress>,
    /// Address or network of browsers that may use the egress proxy, besides this machine and the hosts of
    /// --webdriver: the nodes of a grid (repeatable; variable: separated by commas)
    #[arg(id = "browser_clients", long = "browser-client", env = "SIGHTLINE_BROWSER_CLIENT")]
    #[arg(value_name = "NETWORK", value_delimiter = ',', help_heading = "Browsers")]
    #[arg(value_parser = checked(value::network))]
    pub clients: Vec<Network>,
}

impl BrowserSettings {
    /// Returns whether any browser is configured.
    pub fn is_configured(&self) -> bool {
        !self.webdrivers.is_empty()
    }

    /// Checks the options that depend on each other.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let is_elsewhere = |webdriver: &Webdriver| match webdriver {
            Webdriver::Auto => false,
            Webdriver::At(url) => !is_loopback(url.expose()),
        };
        if self.browser_guard.is_none() && self.webdrivers.iter().any(is_elsewhere) {
            return Err(ConfigError(
                "--webdriver names another machine: its browsers reach the web through the egress proxy here, so \
                 --browser-guard IP:PORT is needed, an address of this machine that they can connect to"
                    .to_owned(),
            ));
        }
        Ok(())
    }
}

/// Parses a value of `--webdriver`. The errors never repeat the text.
fn webdriver(text: &str) -> Result<Webdriver, String> {
    if text == "auto" {
        return Ok(Webdriver::Auto);
    }
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    url.map(|url| Webdriver::At(Secret::new(url)))
        .ok_or_else(|| "auto or http[s]://[USER:PASSWORD@]HOST:PORT[/PREFIX] is allowed".to_owned())
}

fn egress_proxy(text: &str) -> Result<EgressProxyAddress, String> {
    const ALLOWED: &str =
        "IP:PORT or IP:PORT=HOST is allowed, such as 10.0.0.5:3130 or 0.0.0.0:3130=sightline";
    let (listen, announced) = match text.split_once('=') {
        Some((listen, host)) => (listen, Some(host)),
        None => (text, None),
    };
    let listen: SocketAddr = listen.parse().map_err(|_| ALLOWED.to_owned())?;
    let is_host = |host: &str| url::Host::parse(host).is_ok();
    if announced.is_some_and(|host| !is_host(host)) {
        return Err(ALLOWED.to_owned());
    }
    if announced.is_none() && listen.ip().is_unspecified() {
        return Err(format!("browsers cannot connect to {}; {ALLOWED}", listen.ip()));
    }
    if listen.port() == 0 && !is_this_machine(listen.ip()) {
        return Err(format!("browsers on other machines need a fixed port; {ALLOWED}"));
    }
    Ok(EgressProxyAddress { listen, announced: announced.map(str::to_owned) })
}

fn is_this_machine(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_and_proxy_addresses_are_parsed() {
        assert!(matches!(webdriver("auto"), Ok(Webdriver::Auto)));
        for good in ["http://127.0.0.1:9515", "https://u:p@grid.example/wd/hub"] {
            assert!(matches!(webdriver(good), Ok(Webdriver::At(_))), "{good}");
        }
        for bad in ["", "Auto", "chromedriver", "ws://h:1", "http://u:hunter2@h/?x", "http://"] {
            let refused = webdriver(bad).unwrap_err();
            assert!(refused.contains("auto or http") && !refused.contains("hunter2"), "{bad}");
        }
        let read = egress_proxy("0.0.0.0:3130=sightline").unwrap();
        assert_eq!((read.listen.port(), read.announced.as_deref()), (3130, Some("sightline")));
        assert!(egress_proxy("10.0.0.5:3130").is_ok() && egress_proxy("127.0.0.1:0").is_ok());
        for bad in ["", "3130", "sightline:3130", "0.0.0.0:3130", "10.0.0.5:0", "10.0.0.5:1=a b", "[::]:1="] {
            assert!(egress_proxy(bad).unwrap_err().contains("is allowed"), "{bad}");
        }
    }
}
