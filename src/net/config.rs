//! The configuration of outgoing requests.

use std::str::FromStr;

use ureq::http::HeaderValue;
use url::{Host, Url};

use crate::base::certificates::Authorities;
use crate::base::encoding::percent_decode;
use crate::base::secret::Secret;

/// The standard `User-Agent`.
pub const USER_AGENT: &str = concat!("Mozilla/5.0 (compatible; Sightline/", env!("CARGO_PKG_VERSION"), ")");

/// The configuration of outgoing requests.
#[derive(Debug, Clone)]
pub struct NetConfig {
    /// The default `User-Agent`. A module can set another one.
    pub user_agent: HeaderValue,
    /// Whether requests may go to private, loopback and other special addresses. This is meant for labs and tests.
    pub allow_private_targets: bool,
    /// The outbound proxy. The guard does not check the proxy's own address.
    pub outbound_proxy: Option<OutboundProxy>,
    /// The certificate authorities that are trusted besides the built-in ones (Mozilla's).
    pub authorities: Option<Authorities>,
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            user_agent: HeaderValue::from_static(USER_AGENT),
            allow_private_targets: false,
            outbound_proxy: None,
            authorities: None,
        }
    }
}

/// Returns what is wrong with the address of an outbound proxy, without a password.
fn refused(why: &str) -> String {
    format!(
        "it {why}; expected http://[USER:PASSWORD@]HOST:PORT or socks5://[USER:PASSWORD@]HOST:PORT, or httph:// or \
         socks5h:// if the proxy resolves names"
    )
}

/// The decoded user name and password of an outbound proxy.
pub(super) type Credentials = Secret<(String, String)>;

/// The protocol of an outbound proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProxyKind {
    Http,
    Socks5,
}

/// An outbound proxy: `http://[user:password@]host:port` (CONNECT) or `socks5://…`. Names are resolved on this side, so
/// that the guard sees the addresses. With `httph://…` or `socks5h://…` the proxy gets names and resolves them, and the
/// guard checks their form.
#[derive(Debug, Clone)]
pub struct OutboundProxy {
    pub(super) kind: ProxyKind,
    /// Whether the proxy gets names instead of addresses.
    pub(super) resolves_names: bool,
    pub(super) host: Host<String>,
    pub(super) port: u16,
    pub(super) credentials: Option<Credentials>,
}

impl FromStr for OutboundProxy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim()).map_err(|_| refused("is not a URL"))?;
        let (kind, default_port) = match url.scheme() {
            "http" | "httph" => (ProxyKind::Http, 80),
            "socks5" | "socks5h" => (ProxyKind::Socks5, 1080),
            _ => return Err(refused("has an unknown scheme")),
        };
        let resolves_names = url.scheme().ends_with('h');
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(refused("has something after its port"));
        }
        let credentials = credentials(&url)?;
        let port = url.port().unwrap_or(default_port);
        // The URL standard parses a host as an IP address only for web schemes.
        let host = url.host_str().and_then(|host| Host::parse(host).ok());
        let host = host.ok_or_else(|| refused("has no valid host"))?;
        Ok(Self { kind, resolves_names, host, port, credentials })
    }
}

fn credentials(url: &Url) -> Result<Option<Credentials>, String> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok(None);
    }
    let decode = |text: &str| {
        percent_decode(text)
            .ok_or_else(|| refused("has a user or password that is not percent-encoded UTF-8"))
    };
    let (user, password) = (decode(url.username())?, decode(url.password().unwrap_or_default())?);
    // SOCKS5 sends each of them with one byte for its length, and neither protocol allows a colon in the user name.
    if user.len() > 255 || password.len() > 255 || user.contains(':') {
        return Err(refused("has a user or password that is too long, or a user with a colon"));
    }
    Ok(Some(Secret::new((user, password))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_parsed_and_its_password_stays_hidden() {
        for (text, kind, host, port, user) in [
            ("http://proxy.lan:3128", ProxyKind::Http, "proxy.lan", 3128, None),
            ("http://proxy.lan/", ProxyKind::Http, "proxy.lan", 80, None),
            (" socks5://127.0.0.1 ", ProxyKind::Socks5, "127.0.0.1", 1080, None),
            ("SOCKS5H://proxy.lan:80", ProxyKind::Socks5, "proxy.lan", 80, None),
            ("httph://proxy.lan", ProxyKind::Http, "proxy.lan", 80, None),
            ("socks5://u:p%40ss@[::1]:9050", ProxyKind::Socks5, "[::1]", 9050, Some(("u", "p@ss"))),
            ("http://only@h:1", ProxyKind::Http, "h", 1, Some(("only", ""))),
        ] {
            let proxy: OutboundProxy = text.parse().unwrap_or_else(|e: String| panic!("{text}: {e}"));
            assert_eq!(
                (proxy.kind, proxy.host.to_string().as_str(), proxy.port),
                (kind, host, port),
                "{text}"
            );
            let found = proxy.credentials.as_ref().map(|c| (c.expose().0.as_str(), c.expose().1.as_str()));
            assert_eq!(found, user, "{text}");
            assert_eq!(proxy.resolves_names, text.to_lowercase().contains("h://"), "{text}");
            assert!(!format!("{proxy:?}").contains("p@ss"));
        }
    }

    #[test]
    fn another_form_of_proxy_is_refused_without_its_password() {
        for text in [
            "",
            "proxy.lan",
            "ftp://u:hunter2@h:1",
            "https://u:hunter2@h:1",
            "socks4a://u:hunter2@h:1",
            "http://u:hunter2@h:99999",
            "http://u:hunter2@",
            "http://u:hunter2@h/path",
            "http://u:hunter2@h?x",
            "http://u:hunter2%ff@h",
            "http://u:hunter2%+f@h",
            "socks5://u%3a:hunter2@h",
            "socks5://u:hunter2@h h",
        ] {
            let error = text.parse::<OutboundProxy>().expect_err(text);
            assert!(error.contains("http://[USER") && !error.contains("hunter2"), "{text}: {error}");
        }
    }
}
