//! Parses request targets (RFC 9112, section 3.2).

use percent_encoding::percent_decode_str;

use super::config::MAX_TARGET_BYTES;
use super::handler::Refusal;

/// Parses the origin form and the absolute form. Returns the decoded path, which begins with `/`, and the query without
/// `?`, which is not decoded.
pub(crate) fn parse(target: &str) -> Result<(String, String), Refusal> {
    if target.len() > MAX_TARGET_BYTES {
        return Err(Refusal::TargetTooLong);
    }
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Refusal::Malformed(
            "the request target contains a character that must be percent-encoded",
        ));
    }
    if target.contains('#') {
        return Err(Refusal::Malformed("the request target contains a fragment"));
    }
    let local = if target.starts_with('/') { target } else { without_authority(target)? };
    let (path, query) = local.split_once('?').unwrap_or((local, ""));
    let path = if path.is_empty() { "/".to_owned() } else { decode(path)? };
    Ok((path, query.to_owned()))
}

/// Returns the text after the authority of `http://authority/path`. It may be empty or begin with `?`.
fn without_authority(target: &str) -> Result<&str, Refusal> {
    let (scheme, rest) = target.split_once("://").ok_or(UNKNOWN_FORM)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(UNKNOWN_FORM);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, local) = rest.split_at(end);
    if !is_authority(authority) || authority.is_empty() {
        return Err(Refusal::Malformed("the authority in the request target is not valid"));
    }
    Ok(local)
}

const UNKNOWN_FORM: Refusal =
    Refusal::Malformed("the request target must begin with a slash or be an http or https URL");

/// Returns whether a text can be the value of `Host`: a name or an IP literal, with or without a port, without user
/// information.
pub(crate) fn is_authority(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((literal, port)) if literal.parse::<std::net::Ipv6Addr>().is_ok() => ("", port),
            _ => return false,
        },
        None => match text.find(':') {
            Some(colon) => text.split_at(colon),
            None => (text, ""),
        },
    };
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte);
    let digits = port.strip_prefix(':').unwrap_or(port);
    host.bytes().all(is_name_byte)
        && (port.is_empty() || port.starts_with(':'))
        && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn decode(path: &str) -> Result<String, Refusal> {
    let is_escape = |text: &str| text.len() >= 2 && text.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if !path.split('%').skip(1).all(is_escape) {
        return Err(Refusal::Malformed(
            "a percent sign in the path must be followed by two hexadecimal digits",
        ));
    }
    // An encoded slash is part of a segment and does not separate two segments.
    let path = path.replace("%2f", "%2F").replace("%2F", "%252F");
    // A path that is not UTF-8 or contains control characters is passed on: no route matches it, and the handler's
    // 404 is the same as for any other unknown path.
    Ok(percent_decode_str(&path).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn authorities_are_checked() {
        for good in ["", "localhost", "example.com:8080", "[::1]", "[::1]:80", "127.0.0.1:1", "a.b:"] {
            assert!(is_authority(good), "{good}");
        }
        for bad in ["a b", "a/b", "a@b", "[::1", "[x]", "[::1]80", "a:b", "a:1:2", "é"] {
            assert!(!is_authority(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn every_accepted_target_has_a_path(target in ".{0,40}") {
            if let Ok((path, _)) = parse(&target) {
                prop_assert!(path.starts_with('/'));
            }
        }

        #[test]
        fn decoding_undoes_encoding(path in "[^\\x00-\\x1f\\x7f]{0,30}") {
            let encoded: String = path.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(parse(&format!("/{encoded}")).unwrap().0, format!("/{}", path.replace('/', "%2F")));
        }
    }
}
