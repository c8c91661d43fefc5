//! The request target: which resource is meant (RFC 9112, section 3.2).

use super::config::MAX_TARGET_BYTES;
use super::handler::Refusal;

/// A target, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// Decoded, begins with `/`; or `*`.
    pub(super) path: String,
    /// Raw, without `?`.
    pub(super) query: String,
}

/// Reads origin-form and absolute-form; for `OPTIONS` also asterisk-form, as path `*`.
pub(super) fn parse(method: &str, target: &str) -> Result<Target, Refusal> {
    if target.len() > MAX_TARGET_BYTES {
        return Err(Refusal::TargetTooLong);
    }
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Refusal::Malformed("the request target holds a character that must be percent-encoded"));
    }
    if target.contains('#') {
        return Err(Refusal::Malformed("the request target holds a fragment"));
    }
    if target == "*" && method == "OPTIONS" {
        return Ok(Target { path: "*".to_owned(), query: String::new() });
    }
    let local = if target.starts_with('/') { target } else { without_authority(target)? };
    let (path, query) = local.split_once('?').unwrap_or((local, ""));
    let path = if path.is_empty() { "/".to_owned() } else { decode(path)? };
    Ok(Target { path, query: query.to_owned() })
}

/// What follows the authority of `http://authority/path`; may be empty or begin with `?`.
fn without_authority(target: &str) -> Result<&str, Refusal> {
    let (scheme, rest) = target.split_once("://").ok_or(NEITHER_FORM)?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return Err(NEITHER_FORM);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, local) = rest.split_at(end);
    if !is_authority(authority) || authority.is_empty() {
        return Err(Refusal::Malformed("the authority in the request target is not valid"));
    }
    Ok(local)
}

const NEITHER_FORM: Refusal =
    Refusal::Malformed("the request target must begin with a slash or be an http or https address");

/// Whether it can be the value of `Host`: a name or an IP literal, with or without port, without user.
pub(super) fn is_authority(text: &str) -> bool {
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
    const BAD_ESCAPE: Refusal =
        Refusal::Malformed("a percent sign in the path must be followed by two hexadecimal digits");
    if !path.contains('%') {
        return Ok(path.to_owned());
    }
    let mut decoded = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let high = bytes.next().and_then(hex_value).ok_or(BAD_ESCAPE)?;
        let low = bytes.next().and_then(hex_value).ok_or(BAD_ESCAPE)?;
        match high << 4 | low {
            // An encoded slash is a part of a name, not an end of one.
            b'/' => decoded.extend_from_slice(b"%2F"),
            byte => decoded.push(byte),
        }
    }
    // What is no text or holds control characters is a name that nothing has: the handler's 404, in the
    // same words as for any other unknown name.
    Ok(String::from_utf8_lossy(&decoded).into_owned())
}

fn hex_value(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn targets_are_taken_apart() {
        for (method, target, path, query) in [
            ("GET", "/", "/", ""),
            ("GET", "/a%20b/%C3%A4?x=%41&y", "/a b/ä", "x=%41&y"),
            ("GET", "/a?b?c", "/a", "b?c"),
            ("GET", "//x", "//x", ""),
            ("GET", "http://example.com", "/", ""),
            ("GET", "HTTPS://example.com:443?q=1", "/", "q=1"),
            ("GET", "http://[::1]:80/a?b", "/a", "b"),
            ("OPTIONS", "*", "*", ""),
        ] {
            let want = Target { path: path.to_owned(), query: query.to_owned() };
            assert_eq!(parse(method, target), Ok(want), "{method} {target}");
        }
    }

    #[test]
    fn bad_targets_are_refused() {
        for (method, target) in [
            ("GET", ""),
            ("GET", "*"),
            ("GET", "a"),
            ("GET", "example.com:80"),
            ("CONNECT", "example.com:80"),
            ("GET", "ftp://example.com/"),
            ("GET", "http:///a"),
            ("GET", "http://user@host/"),
            ("GET", "/a#b"),
            ("GET", "/%"),
            ("GET", "/%4"),
            ("GET", "/%+1"),
            ("GET", "/%zz"),
            ("GET", "/\u{7f}"),
        ] {
            assert!(matches!(parse(method, target), Err(Refusal::Malformed(_))), "{method} {target:?}");
        }
        let long = format!("/{}", "a".repeat(MAX_TARGET_BYTES));
        assert_eq!(parse("GET", &long), Err(Refusal::TargetTooLong));
        assert!(parse("GET", &long[..MAX_TARGET_BYTES]).is_ok());
    }

    #[test]
    fn what_is_no_text_is_a_path_all_the_same() {
        for (target, path) in [("/%ff", "/\u{fffd}"), ("/%00", "/\0"), ("/a%0ab", "/a\nb")] {
            assert_eq!(parse("GET", target).map(|parsed| parsed.path), Ok(path.to_owned()));
        }
    }

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
        fn any_text_is_answered_and_what_passes_is_a_path(target in ".{0,40}") {
            if let Ok(parsed) = parse("GET", &target) {
                prop_assert!(parsed.path.starts_with('/'));
            }
        }

        #[test]
        fn decoding_undoes_encoding(path in "[^\\x00-\\x1f\\x7f]{0,30}") {
            let encoded: String = path.bytes().map(|byte| format!("%{byte:02x}")).collect();
            prop_assert_eq!(parse("GET", &format!("/{encoded}")).unwrap().path, format!("/{}", path.replace('/', "%2F")));
        }
    }
}
