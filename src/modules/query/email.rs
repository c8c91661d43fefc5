//! Email addresses.

use super::domain;

/// The most bytes of a local part (RFC 5321).
pub const MAX_LOCAL_BYTES: usize = 64;

/// The most bytes of an address: what fits a path of RFC 5321.
pub const MAX_BYTES: usize = 254;

pub(super) const ALLOWED: &str = "an email address such as name+tag@example.com: at most 64 bytes of ASCII letters, digits and \
     !#$%&'*+-/=?^_`{|}~ in parts joined by single dots, then '@' and a public domain name";

/// The normal form: the local part as it is (case is the receiving host's affair), the domain
/// lower-cased and IDNA-encoded.
///
/// # Errors
/// Says what is wrong, without repeating the text.
pub fn normalize(text: &str) -> Result<String, String> {
    let (local, host) = text.rsplit_once('@').ok_or("the email address has no '@'")?;
    check_local(local)?;
    let domain = domain::normalize_host(host)?;
    let bytes = local.len() + 1 + domain.len();
    if bytes > MAX_BYTES {
        return Err(format!("the email address has {bytes} bytes, more than {MAX_BYTES}"));
    }
    Ok(format!("{local}@{domain}"))
}

/// A dot-atom of RFC 5322: no quotes, no comments, ASCII.
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
    if let Some(at) = local.chars().position(|c| c != '.' && !is_atext(c)) {
        return Err(format!(
            "the part before the '@' holds a character that is not allowed (character {})",
            at + 1
        ));
    }
    if local.split('.').any(str::is_empty) {
        return Err("the part before the '@' starts or ends with a dot, or has two in a row".into());
    }
    Ok(())
}

fn is_atext(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}
