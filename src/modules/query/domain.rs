//! Validation and normal form of domain names.

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};

use crate::modules::public_suffix::{PublicSuffix, Section, suffix_with_label};

/// The maximum length of a domain name in bytes, without a trailing dot (RFC 1035).
pub const MAX_BYTES: usize = 253;

/// The maximum length of a label in bytes (RFC 1035).
const MAX_LABEL_BYTES: usize = 63;

pub(super) const ALLOWED: &str =
    "a public domain name such as example.com, or the http(s) address of a page there";

/// Top-level names outside the public DNS: those of RFC 6761, 6762, 7686, 8375 and 9476, ICANN's
/// `.internal`, and `.arpa`, which is for infrastructure. Names such as `example.com` are registered and
/// therefore allowed.
const SPECIAL_USE: [&str; 9] =
    ["alt", "arpa", "example", "internal", "invalid", "local", "localhost", "onion", "test"];

/// Returns the normal form of a domain, of a domain with a trailing dot, or of the domain in a page's
/// address.
///
/// # Errors
/// Returns a description of the mistake, which does not repeat the text.
pub fn normalize(text: &str) -> Result<String, String> {
    // Addresses are often written in angle brackets (RFC 3986, appendix C).
    let bare = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    normalize_host(host_of(bare)?)
}

/// Returns the host of a pasted text, without scheme, user, port, path, query and fragment.
fn host_of(text: &str) -> Result<&str, String> {
    let (rest, is_address) = match text.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => {
            if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
                return Err("the address is neither http nor https".into());
            }
            (rest, true)
        }
        _ => text.strip_prefix("//").map_or((text, false), |rest| (rest, true)),
    };
    // Browsers treat a backslash as a slash. This program must see the host that a browser would see.
    let authority = rest.split(['/', '\\', '?', '#']).next().unwrap_or_default();
    let host = match authority.rsplit_once('@') {
        Some((_, host)) if is_address => host,
        Some(_) => return Err("the domain contains an '@', like an email address".into()),
        None => authority,
    };
    strip_port(host)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
}

fn strip_port(host: &str) -> Result<&str, String> {
    if host.starts_with('[') || host.bytes().filter(|&b| b == b':').count() > 1 {
        return Err("the domain is an IP address".into());
    }
    let Some((name, port)) = host.split_once(':') else { return Ok(host) };
    if port.is_empty() || (port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok()) {
        Ok(name)
    } else {
        Err("the port is not a number from 0 to 65535".into())
    }
}

/// Returns the normal form of a host: IDNA-encoded, in lower case, without a trailing dot.
pub(super) fn normalize_host(host: &str) -> Result<String, String> {
    let ascii = Uts46::new()
        .to_ascii(host.as_bytes(), AsciiDenyList::STD3, Hyphens::CheckFirstLast, DnsLength::Ignore)
        .map_err(|_| {
            "the domain contains a character or a hyphen that is not allowed there, or is not a valid international name"
                .to_owned()
        })?;
    let name = ascii.strip_suffix('.').unwrap_or(&ascii);
    check_lengths(name)?;
    let last = name.rsplit('.').next().unwrap_or_default();
    if is_number(last) {
        return Err("the domain is an IP address, or ends in a number".into());
    }
    if SPECIAL_USE.contains(&last) {
        return Err("the domain is a special-use name, not one of the public internet".into());
    }
    if !name.contains('.') {
        return Err("the domain is a single label, without a dot".into());
    }
    let section = PublicSuffix::of(name).and_then(|suffix| suffix.section);
    match section {
        None => Err("the domain does not end in a known public suffix".into()),
        Some(_) if registrable(name).is_none() => {
            Err("the domain is itself a public suffix, under which names are registered".into())
        }
        Some(_) => Ok(name.to_owned()),
    }
}

fn check_lengths(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the domain is empty".into());
    }
    if name.len() > MAX_BYTES {
        return Err(format!(
            "the domain has {} bytes in its encoded form, more than {MAX_BYTES}",
            name.len()
        ));
    }
    for (at, label) in name.split('.').enumerate() {
        if label.is_empty() {
            return Err(format!("label {} of the domain is empty", at + 1));
        }
        if label.len() > MAX_LABEL_BYTES {
            return Err(format!("label {} of the domain is longer than {MAX_LABEL_BYTES} bytes", at + 1));
        }
    }
    Ok(())
}

/// Returns whether a last label makes the host an IPv4 address according to the URL standard ("ends in a
/// number").
fn is_number(label: &str) -> bool {
    label.bytes().all(|b| b.is_ascii_digit())
        || label.strip_prefix("0x").is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns the registrable part of a domain in normal form, such as `example.co.uk` for `www.example.co.uk`.
///
/// Suffixes in the private section of the Public Suffix List, such as `github.io`, are registered domains
/// themselves. For such a suffix alone, only the ICANN section counts. Returns `None` for a suffix in the
/// ICANN section.
pub fn registrable(domain: &str) -> Option<&str> {
    if let Some(found) = suffix_with_label(domain) {
        return Some(found);
    }
    if PublicSuffix::of(domain)?.section != Some(Section::Private) {
        return None;
    }
    let (_, parent) = domain.split_once('.')?;
    let parent_suffix = PublicSuffix::of(parent)?;
    if parent_suffix.name == parent && parent_suffix.section == Some(Section::Icann) {
        return Some(domain);
    }
    registrable(parent)
}
