//! Validation and normal form of email addresses.

use std::borrow::Cow;

use super::domain;
use crate::base::encoding::percent_decode;

/// The maximum length of a local part in bytes (RFC 5321).
pub const MAX_LOCAL_BYTES: usize = 64;

/// The maximum length of an address in bytes, as limited by the path of RFC 5321.
pub const MAX_BYTES: usize = 254;

pub(super) const ALLOWED: &str = "an email address such as name+tag@example.com: at most 64 bytes of ASCII letters, digits and \
     !#$%&'*+-/=?^_`{|}~ in parts joined by single dots, then '@' and a public domain name";

/// Returns the normal form of an email address. The local part is unchanged, since only the receiving host
/// knows whether its case matters. The domain is in lower case and IDNA-encoded.
///
/// # Errors
/// Returns a description of the mistake, which does not repeat the text.
pub fn normalize(text: &str) -> Result<String, String> {
    let text = &*unwrapped(text);
    let (local, host) = text.rsplit_once('@').ok_or("the email address has no '@'")?;
    check_local(local)?;
    let domain = domain::normalize_host(host)?;
    let bytes = local.len() + 1 + domain.len();
    if bytes > MAX_BYTES {
        return Err(format!("the email address has {bytes} bytes, more than {MAX_BYTES}"));
    }
    Ok(format!("{local}@{domain}"))
}

/// Returns the address in a pasted text: `Name <user@host>` (RFC 5322), `mailto:user@host?subject=…` (RFC 6068),
/// `acct:user@host` (RFC 7565) and `@user@host`, as the Fediverse writes it.
fn unwrapped(text: &str) -> Cow<'_, str> {
    let inner = text.strip_suffix('>').and_then(|text| text.rsplit_once('<'));
    let text = inner.map_or(text, |(_, inner)| inner.trim());
    let (scheme, rest) = text.split_once(':').unwrap_or(("", text));
    let text = match scheme.to_ascii_lowercase().as_str() {
        "mailto" => rest.split('?').next().unwrap_or(rest),
        "acct" => rest,
        _ => text,
    };
    let text = text.strip_prefix('@').filter(|text| text.contains('@')).unwrap_or(text);
    match percent_decode(text).filter(|_| matches!(scheme.to_ascii_lowercase().as_str(), "mailto" | "acct")) {
        Some(decoded) => Cow::Owned(decoded),
        None => Cow::Borrowed(text),
    }
}

/// Checks that the local part is a dot-atom (RFC 5322) in ASCII, without quotes and comments.
fn check_local(local: &str) -> Result<(), String> {
    if local.is_empty() {
        return Err("there is nothing before the '@'".into());
    }
    if local.len() > MAX_LOCAL_BYTES {
        return Err(format!(
            "the part before the '@' has {} bytes, more than {MAX_LOCAL_BYTES}",
            local.len()
        ));
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(c);
    if let Some(at) = local.chars().position(|c| !is_allowed(c)) {
        return Err(format!(
            "the part before the '@' contains a character that is not allowed (character {})",
            at + 1
        ));
    }
    if local.split('.').any(str::is_empty) {
        return Err("the part before the '@' starts or ends with a dot, or has two in a row".into());
    }
    Ok(())
}
