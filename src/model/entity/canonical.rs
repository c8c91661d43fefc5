//! Canonical forms, by which values are compared. They are never shown.
//!
//! Each function accepts any text, because old versions stored any text. Each function is idempotent: the form of a
//! form is the form itself.

use std::net::IpAddr;

use crate::modules::definition::ResultType;
use unicode_normalization::UnicodeNormalization;
use url::Url;

/// The types of DNS records whose value is a host.
const HOST_RECORDS: [&str; 4] = ["cname", "dname", "ns", "ptr"];
/// The minimum number of hex digits of a serial number that counts as unique: 64 bits, which the CA/Browser Forum
/// requires of serial numbers. Shorter serial numbers and key ids can be equal by chance or on purpose.
const UNIQUE_DIGITS: usize = 16;

/// Returns the text composed (NFC), in lower case, trimmed, and with single spaces in place of other white space.
pub fn folded(text: &str) -> String {
    // The text is lower-cased first, because some composed letters have a decomposed lower case.
    let lower: String = text.to_lowercase().nfc().collect();
    lower.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the form, or the folded text if the form is empty.
fn or_folded(form: String, text: &str) -> String {
    if form.is_empty() { folded(text) } else { form }
}

/// Returns the form of a value that identifies an entity of this kind on every site.
pub(super) fn of(kind: ResultType, value: &str) -> String {
    match kind {
        ResultType::Email => email(value),
        ResultType::Domain | ResultType::Subdomain | ResultType::Registration => host(value),
        ResultType::IpAddress => ip_address(value),
        ResultType::Url | ResultType::Archive => url(value),
        ResultType::Phone => phone(value),
        ResultType::Breach => breach(value),
        _ => folded(value),
    }
}

pub(super) fn host(text: &str) -> String {
    let name = text.trim().trim_end_matches('.');
    // Labels with an underscore are valid in the DNS too.
    idna::domain_to_ascii(name).map_or_else(|_| folded(name), |ascii| or_folded(ascii, name))
}

fn email(text: &str) -> String {
    match text.trim().rsplit_once('@') {
        Some((local, domain)) => format!("{}@{}", folded(local), host(domain)),
        None => folded(text),
    }
}

fn ip_address(text: &str) -> String {
    let bare = text.trim().trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().map_or_else(|_| folded(text), |address| address.to_canonical().to_string())
}

pub(super) fn url(text: &str) -> String {
    let text = text.trim();
    let Ok(mut url) = Url::parse(text) else { return text.to_owned() };
    if url.fragment() == Some("") {
        url.set_fragment(None);
    }
    url.into()
}

pub(super) fn dns_value(record_type: &str, text: &str) -> String {
    if HOST_RECORDS.contains(&record_type) {
        return host(text);
    }
    if record_type == "mx" {
        // In `10 mx.example.org.` the preference counts too.
        let words: Vec<String> = text.split_whitespace().map(host).collect();
        return words.join(" ");
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn phone(text: &str) -> String {
    let text = text.trim();
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let is_number = text.chars().all(|c| c.is_ascii_digit() || " +-./()\u{a0}".contains(c));
    if digits.is_empty() || !is_number {
        return folded(text);
    }
    if text.starts_with('+') { format!("+{digits}") } else { digits }
}

/// Removes `-`, `_` and white space except between digits, where they separate dates and versions.
pub(super) fn breach(text: &str) -> String {
    let mut kept = String::new();
    for part in folded(text).split(['-', '_', ' ']) {
        if kept.ends_with(|c: char| c.is_ascii_digit()) && part.starts_with(|c: char| c.is_ascii_digit()) {
            kept.push('-');
        }
        kept.push_str(part);
    }
    or_folded(kept, text)
}

/// Returns the form of a certificate, and whether it is globally unique. Otherwise it is only together with its issuer.
/// Serial numbers are compared as numbers, so leading zeros are ignored.
pub(super) fn certificate(text: &str, serial: Option<&str>) -> (String, bool) {
    if let Some(serial) = serial.and_then(hex_number).filter(|digits| digits.len() >= UNIQUE_DIGITS) {
        return (format!("serial {serial}"), true);
    }
    match hex_number(text) {
        Some(digits) => (digits.clone(), digits.len() >= UNIQUE_DIGITS),
        None if Url::parse(text.trim()).is_ok_and(|url| url.has_host()) => (url(text), true),
        None => (folded(text), false),
    }
}

/// Returns the form of a public key, and whether it is globally unique. `sha256` is the digest of a key whose value is only
/// the address of its owner.
pub(super) fn public_key(text: &str, sha256: Option<&str>) -> (String, bool) {
    if let Some(digits) = hex_digits(text) {
        return (digits.clone(), digits.len() >= UNIQUE_DIGITS);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_ssh = words.len() > 1 && ["ssh-", "ecdsa-", "sk-"].iter().any(|kind| words[0].starts_with(kind));
    if is_ssh {
        // The text after the body of an SSH key is a comment.
        return (words[..2].join(" "), true);
    }
    if let Some(digits) = sha256.and_then(hex_digits).filter(|digits| digits.len() == 64) {
        return (format!("sha256 {digits}"), true);
    }
    let whole = words.join(" ");
    let is_address = words.len() == 1 && whole.contains('@');
    if is_address || whole.len() < UNIQUE_DIGITS { (folded(text), false) } else { (whole, true) }
}

/// Returns the digits of a number in hex in one of the usual formats of serial numbers and fingerprints: in groups,
/// with `:`, or after `0x`.
fn hex_digits(text: &str) -> Option<String> {
    let text = text.trim();
    let bare = text.strip_prefix("0x").unwrap_or(text);
    let digits: String = bare.chars().filter(|c| !c.is_whitespace() && *c != ':').collect();
    let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    is_hex.then(|| digits.to_ascii_lowercase())
}

/// Returns the digits of a number in hex without leading zeros, but at least one digit.
fn hex_number(text: &str) -> Option<String> {
    let digits = hex_digits(text)?;
    let number = digits.trim_start_matches('0');
    Some(if number.is_empty() { "0" } else { number }.to_owned())
}
