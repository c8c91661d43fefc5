//! Hosts that belong to no one person or organization: mail providers, link shorteners, and sites where many people
//! publish. A link to one of them says nothing about its owner.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::query::domain::registrable;
use super::tables;

/// The hosts of each kind, as domains. In `in_countries` are the names of sites that have the same content in a domain of
/// each country, such as `pinterest.de`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Hosts {
    shared: BTreeMap<SharedHost, Vec<&'static str>>,
    in_countries: Vec<&'static str>,
}

static HOSTS: LazyLock<Hosts> =
    LazyLock::new(|| tables::read(include_str!("catalog/tables/shared_hosts.json")));

/// Returns the international name of a host in the domain of a country: `www.pinterest.com` for `www.pinterest.co.uk`.
pub(super) fn without_country(host: String) -> String {
    let is_country = |text: &str| {
        let code = text.strip_prefix("co.").or_else(|| text.strip_prefix("com.")).unwrap_or(text);
        code.len() == 2 && code.bytes().all(|b| b.is_ascii_alphabetic())
    };
    let found = HOSTS.in_countries.iter().find_map(|name| {
        let (front, country) = host.rsplit_once(&format!("{name}."))?;
        ((front.is_empty() || front.ends_with('.')) && is_country(country))
            .then(|| format!("{front}{name}.com"))
    });
    found.unwrap_or(host)
}

/// What kind of shared host a domain is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedHost {
    /// Anybody can have a mailbox there.
    MailProvider,
    /// It redirects to other addresses.
    Shortener,
    /// Many people publish there.
    Platform,
}

/// Returns the kind of a shared host, or `None` for a host that may belong to one person or organization. A name below
/// a listed one is shared too.
pub fn shared_host(host: &str) -> Option<SharedHost> {
    let host = without_country(host.trim_end_matches('.').to_ascii_lowercase());
    let domain = registrable(&host).unwrap_or(&host);
    let is_below = |known: &&str| host.strip_suffix(*known).is_some_and(|front| front.ends_with('.'));
    let is_in = |list: &[&str]| list.contains(&domain) || list.iter().any(|it| *it == host || is_below(it));
    HOSTS.shared.iter().find(|(_, list)| is_in(list)).map(|(kind, _)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_below_a_shared_host_are_shared() {
        assert_eq!(shared_host("gmail.com"), Some(SharedHost::MailProvider));
        assert_eq!(shared_host("Bit.ly."), Some(SharedHost::Shortener));
        for host in ["docs.google.com", "maps.google.co.uk", "amazon.fr", "raw.githubusercontent.com"] {
            assert_eq!(shared_host(host), Some(SharedHost::Platform), "{host}");
        }
        assert_eq!(shared_host("notgmail.com"), None);
        assert_eq!(shared_host("octocat.github.io"), None);
    }
}
