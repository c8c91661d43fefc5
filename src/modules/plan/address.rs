//! Validates the addresses of probes when an entry is compiled.

use url::Url;

use crate::modules::definition::{Method, ProbeEntry, Via};
use crate::modules::mistake::Mistakes;
use crate::modules::template::Template;

/// Validates an address with example values in its slots.
pub(super) fn check_url(url: &Template, mistakes: &mut Mistakes) {
    let example = url.example();
    match Url::parse(&example) {
        Err(error) => {
            mistakes.add(format!("`{example}` (filled with an example) is not a valid URL: {error}"));
        }
        Ok(parsed) => {
            let host = parsed.host_str().unwrap_or_default();
            if parsed.host().is_none() || (!host.contains('.') && !host.contains("example")) {
                mistakes.add(format!("`{host}` is not a public host name"));
            }
        }
    }
}

/// The port of WHOIS servers.
const WHOIS_PORT: u16 = 43;

/// Validates the fields of a WHOIS query, which is one line to a server.
pub(super) fn check_whois(entry: &ProbeEntry, url: &Template, mistakes: &mut Mistakes) {
    if entry.via != Via::Whois {
        return;
    }
    let has_body = entry.form.is_some() || entry.json.is_some() || entry.text.is_some();
    if entry.method != Method::Get || has_body || entry.follow || !entry.headers.is_empty() {
        mistakes.add("a WHOIS query has no method, headers, body or redirects: leave them out");
    }
    let is_query = |url: Url| {
        url.scheme() == "http" && url.port() == Some(WHOIS_PORT) && url.path() != "/" && url.query().is_none()
    };
    if !Url::parse(&url.example()).is_ok_and(is_query) {
        mistakes.add_in("url", "the address of a WHOIS query is http://SERVER:43/QUERY");
    }
}
