//! The options of browsers.

use std::net::SocketAddr;

use clap::Args;
use url::{Host, Url};

use super::checked::checked;
use super::value::{number, readable_file, web_address};
use crate::net::browser::{BrowserSource, EgressProxyAddress};

/// The browser for premium searches and PDFs.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Browser")]
pub struct BrowserSettings {
    /// Chromium for premium searches and PDFs: `auto` starts the one in the PATH, a path starts that program,
    /// http://HOST:PORT is one that runs with --remote-debugging-port
    #[arg(long, value_name = "BROWSER", value_parser = checked(browser))]
    pub browser: Option<BrowserSource>,
    /// Pages that the browser has open at once; each takes about 100 MB
    #[arg(long, value_name = "N", default_value = "2", value_parser = checked(number(1_usize, 64)))]
    pub browser_sessions: usize,
    /// Address of the egress proxy, which keeps pages from private addresses; by default free loopback
    /// ports. For a browser on another machine: IP:PORT (each further page takes the next port), followed by
    /// =HOST if it reaches it by another name
    #[arg(long, value_name = "ADDRESS", value_parser = checked(egress_proxy))]
    pub browser_guard: Option<EgressProxyAddress>,
}

/// Parses a value of `--browser`.
fn browser(text: &str) -> Result<BrowserSource, String> {
    if text == "auto" {
        return BrowserSource::auto();
    }
    if text.contains('/') && !text.contains("://") {
        return readable_file(text).map(BrowserSource::Program);
    }
    let is_of_chromium = |url: &Url| url.scheme() == "http" && url.path() == "/";
    let url = web_address(text).filter(is_of_chromium);
    url.map(BrowserSource::At)
        .ok_or_else(|| "expected auto, the path of a Chromium or http://HOST:PORT".to_owned())
}

fn egress_proxy(text: &str) -> Result<EgressProxyAddress, String> {
    const ALLOWED: &str = "expected IP:PORT or IP:PORT=HOST, such as 10.0.0.5:3130 or 0.0.0.0:3130=sightline";
    let (listen, announced) = match text.split_once('=') {
        Some((listen, host)) => (listen, Some(host)),
        None => (text, None),
    };
    let listen: SocketAddr = listen.parse().map_err(|_| ALLOWED.to_owned())?;
    if announced.is_some_and(|host| Host::parse(host).is_err()) {
        return Err(ALLOWED.to_owned());
    }
    if announced.is_none() && listen.ip().is_unspecified() {
        return Err(format!("browsers cannot connect to {}; {ALLOWED}", listen.ip()));
    }
    if listen.port() == 0 && !listen.ip().to_canonical().is_loopback() {
        return Err(format!("browsers on other machines need a fixed port; {ALLOWED}"));
    }
    Ok(EgressProxyAddress { listen, announced: announced.map(str::to_owned) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_and_proxy_addresses_are_parsed() {
        assert!(matches!(browser("/bin/sh"), Ok(BrowserSource::Program(_))));
        assert!(matches!(browser("http://127.0.0.1:9222"), Ok(BrowserSource::At(_))));
        for bad in
            ["", "Auto", "chromium", "ws://h:1", "https://h:1", "http://u:p@h", "http://h/x", "http://"]
        {
            assert!(browser(bad).unwrap_err().starts_with("expected auto, the path"), "{bad}");
        }
        let read = egress_proxy("0.0.0.0:3130=sightline").unwrap();
        assert_eq!((read.listen.port(), read.announced.as_deref()), (3130, Some("sightline")));
        assert!(egress_proxy("10.0.0.5:3130").is_ok() && egress_proxy("127.0.0.1:0").is_ok());
        for bad in ["", "3130", "sightline:3130", "0.0.0.0:3130", "10.0.0.5:0", "10.0.0.5:1=a b", "[::]:1="] {
            assert!(egress_proxy(bad).unwrap_err().contains("expected "), "{bad}");
        }
    }
}
