//! Validates values by the type of their entity.

use std::net::IpAddr;

use url::Url;

use crate::modules::definition::ResultType;
use crate::modules::query::{Query, SearchType};

/// The maximum number of bytes of a host name, and of one of its labels (RFC 1035).
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;
/// The maximum number of characters in the name of a person or an account.
const MAX_NAME_CHARS: usize = 200;

/// Returns the value as it is shown, or `None` if it is not a valid entity of this type.
///
/// | type | valid value |
/// |---|---|
/// | `email` | an address that can be searched for, in its normal form |
/// | `domain` | a host name of two labels or more, in lower case, without the trailing dot |
/// | `subdomain` | a host name below the query's registrable domain, if the query has one |
/// | `ip_address` | an IPv4 or IPv6 address in its usual form |
/// | `url` | an absolute `http` or `https` address |
/// | `phone` | digits with separators, or with characters that hide some digits |
/// | `username`, `person_name` | one line of at most 200 characters, without markup or an address |
pub(crate) fn valid(result_type: ResultType, text: &str, query: &Query) -> Option<String> {
    let text = text.trim();
    match result_type {
        ResultType::Email => email_address(text),
        ResultType::Domain => host_name(text),
        ResultType::Subdomain => {
            // Subdomains of the whole registrable domain are valid, even if the query is a host in it.
            let zone = query.registrable().or(query.domain());
            host_name(text).filter(|name| zone.is_none_or(|zone| is_below(name, zone)))
        }
        ResultType::IpAddress => text.parse::<IpAddr>().ok().map(|address| address.to_string()),
        ResultType::Url => web_address(text),
        ResultType::Phone => is_phone(text).then(|| text.to_owned()),
        ResultType::Username => is_name(text).then(|| text.to_owned()),
        ResultType::PersonName => {
            (is_name(text) && text.chars().any(char::is_alphabetic)).then(|| text.to_owned())
        }
        _ => (!text.is_empty()).then(|| text.to_owned()),
    }
}

/// Returns an email address in its normal form.
pub(super) fn email_address(text: &str) -> Option<String> {
    // An address may contain a `*`, but in an address on a site it stands for hidden letters.
    if text.contains(['*', '•']) {
        return None;
    }
    Query::parse(SearchType::Email, text).ok().map(|it| it.normal().to_owned())
}

/// Returns a host name in its normal form: labels of letters, digits, hyphens and underscores, encoded with
/// IDNA.
pub(super) fn host_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let name = if name.is_ascii() { name.to_ascii_lowercase() } else { idna::domain_to_ascii(name).ok()? };
    let is_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let last = name.rsplit('.').next().unwrap_or_default();
    let fits = name.len() <= MAX_NAME
        && name.contains('.')
        && name.split('.').all(is_label)
        && !last.bytes().all(|b| b.is_ascii_digit());
    fits.then_some(name)
}

fn is_below(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone).is_some_and(|front| front.ends_with('.'))
}

/// Returns an absolute `http` or `https` address.
pub(super) fn web_address(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    // The parser encodes characters such as spaces. An address without any of them stays as it was written.
    let is_plain = text.is_ascii() && !text.bytes().any(|b| b <= b' ' || b"<>\"\\^`{|}".contains(&b));
    is_web.then(|| if is_plain { text.to_owned() } else { url.into() })
}

fn is_phone(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).count() >= 2
        && text.chars().count() <= 40
        && text.chars().all(|c| c.is_ascii_digit() || " +-./()*#xX•·\u{a0}".contains(c))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= MAX_NAME_CHARS
        && !text.contains(['\n', '<', '>'])
        && !text.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_validated_by_type() {
        let query = Query::parse(SearchType::Domain, "example.com").unwrap();
        let long = format!("{}.example.com", "a".repeat(64));
        for (result_type, text, want) in [
            (ResultType::Email, "b***@example.org", None),
            (ResultType::Domain, "NS1.Example.NET.", Some("ns1.example.net")),
            (ResultType::Domain, "_spf.example.net", Some("_spf.example.net")),
            (ResultType::Domain, "bücher.example", Some("xn--bcher-kva.example")),
            (ResultType::Domain, "localhost", None),
            (ResultType::Domain, "192.0.2.1", None),
            (ResultType::Domain, "a b.example", None),
            (ResultType::Domain, "https://a.example/", None),
            (ResultType::Subdomain, "a._b.example.com", Some("a._b.example.com")),
            (ResultType::Subdomain, "notexample.com", None),
            (ResultType::Subdomain, "example.com.evil.net", None),
            (ResultType::Subdomain, "-a.example.com", None),
            (ResultType::Subdomain, long.as_str(), None),
            (ResultType::IpAddress, "192.0.2.256", None),
            (ResultType::IpAddress, "192.0.2.1:80", None),
            (ResultType::Url, "http://a.example/é b", Some("http://a.example/%C3%A9%20b")),
            (ResultType::Url, "javascript:alert(1)", None),
            (ResultType::Url, "ftp://a.example/", None),
            (ResultType::Phone, "+1 (202) 555-0101", Some("+1 (202) 555-0101")),
            (ResultType::Phone, "+1 •••-••-01", Some("+1 •••-••-01")),
            (ResultType::Phone, "call me", None),
            (ResultType::PersonName, " Ana Rivera ", Some("Ana Rivera")),
            (ResultType::PersonName, "<b>Ana</b>", None),
            (ResultType::PersonName, "12345", None),
            (ResultType::Username, "https://a.example/bob", None),
            (ResultType::Username, "bob 1", Some("bob 1")),
            (ResultType::Breach, "  ", None),
        ] {
            assert_eq!(valid(result_type, text, &query).as_deref(), want, "{result_type:?} {text}");
        }
        let host = Query::parse(SearchType::Domain, "www.example.co.uk").unwrap();
        assert!(valid(ResultType::Subdomain, "mail.example.co.uk", &host).is_some(), "of the same zone");
        assert!(valid(ResultType::Subdomain, "example.co.uk", &host).is_none());
        let person = Query::parse(SearchType::Username, "bob").unwrap();
        assert!(valid(ResultType::Subdomain, "a.example.net", &person).is_some(), "below what, nobody knows");
    }
}
