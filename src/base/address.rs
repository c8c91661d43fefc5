//! The addresses of the service and of this machine.

use url::{Host, Url};

/// Returns the path below which clients reach the service, without a slash at its end: `/search` for
/// `https://example.org/search`, and an empty string for an address without a path.
pub fn path_prefix(base_url: &str) -> String {
    let url = Url::parse(base_url).ok();
    url.map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default()
}

/// Returns whether a URL leads to this machine: its host is `localhost` or a loopback address.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_the_path_of_the_base_url() {
        for (base_url, want) in [
            ("http://127.0.0.1:8080", ""),
            ("https://example.org/", ""),
            ("https://example.org/search", "/search"),
            ("https://example.org/a/b/", "/a/b"),
        ] {
            assert_eq!(path_prefix(base_url), want, "{base_url}");
        }
    }
}
