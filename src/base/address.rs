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

/// Returns an address for messages: without what is before its last `@`, which is a user and a password, and without its
/// query and fragment, which may hold a key. The text need not be a valid address.
pub fn without_credentials(text: &str) -> String {
    let (start, rest) = match text.split_once("//") {
        Some((scheme, rest)) => (format!("{scheme}//"), rest),
        None if text.contains(':') => (String::new(), text),
        None => return text.to_owned(),
    };
    let shown = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, host)| format!("…@{host}"));
    match shown.split_once(['?', '#']) {
        Some((address, _)) => format!("{start}{address}?…"),
        None => start + &shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_not_shown() {
        for (text, want) in [
            ("https://u:p@ss@h.example/", "https://…@h.example/"),
            ("https://u:p?x#y@h.example/a?k=p@ss", "https://…@ss"),
            ("https://h.example/a?key=pass#x", "https://h.example/a?…"),
            ("u:pass@h.example:80", "…@h.example:80"),
            ("https://h.example/a", "https://h.example/a"),
            ("user@h.example", "user@h.example"),
            ("a#b", "a#b"),
            ("", ""),
        ] {
            assert_eq!(without_credentials(text), want, "{text}");
        }
    }

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
