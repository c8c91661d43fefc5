//! A second parser of a client's bytes, for the fuzz test: it says which requests must reach the handler.
//!
//! It follows RFC 9112 and the deviations that `src/http/mod.rs` documents, and shares no code with the server.

/// A request as the handler must get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// `None` if the target needs decoding, which other tests cover.
    pub(crate) path: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Parses the bytes of a client that ends its direction after them. Returns the requests that the handler must get.
pub(crate) fn read_all(bytes: &[u8]) -> Vec<Seen> {
    let (mut rest, mut requests) = (bytes, Vec::new());
    while let Some((request, goes_on)) = read_one(&mut rest) {
        requests.extend(request);
        if !goes_on {
            break;
        }
    }
    requests
}

/// Reads a line of ASCII without its end.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = std::str::from_utf8(&rest[..end]).ok().filter(|line| line.is_ascii())?;
    *rest = &rest[end + 2..];
    Some(line)
}

/// Reads one request. Returns it unless it is refused, and whether its connection goes on.
fn read_one(rest: &mut &[u8]) -> Option<(Option<Seen>, bool)> {
    // tiny_http ignores spaces around a line and text after the version.
    let mut words = line(rest)?.trim().split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    let is_old = match version {
        "HTTP/1.1" => false,
        "HTTP/1.0" => true,
        _ => return None,
    };
    let mut headers = Vec::new();
    loop {
        let line = line(rest)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.trim().split_once(':')?;
        if name.contains(char::is_whitespace) {
            return None;
        }
        headers.push((name.to_ascii_lowercase(), value.trim()));
    }
    let values = |name: &str| -> Vec<&str> {
        headers.iter().filter(|(key, _)| key == name).map(|(_, value)| *value).collect()
    };
    if values("expect").iter().any(|value| !value.eq_ignore_ascii_case("100-continue")) {
        return None;
    }
    // tiny_http reads only the first.
    let connection = values("connection").first().unwrap_or(&"").to_ascii_lowercase();
    let has_upgrade = connection.contains("upgrade");
    let is_sound = |value: &str| value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    let is_host_right = match values("host").as_slice() {
        [host] => is_host(host),
        [] => is_old,
        _ => false,
    };
    let is_accepted = is_token(method)
        && method.len() <= 32
        && is_target(target)
        && is_host_right
        && headers.iter().all(|(name, value)| is_token(name) && is_sound(value));
    let (body, ends) = match (values("content-length").as_slice(), values("transfer-encoding").as_slice()) {
        ([], []) => (Vec::new(), false),
        ([length], []) => {
            let length = digits(length)?;
            let comes_later = has_upgrade || !values("expect").is_empty();
            let body = rest.get(..length)?;
            *rest = &rest[length..];
            // The end of a body that is refused unread is not known.
            (body.to_vec(), !is_accepted && (length > 1024 || length > 0 && comes_later))
        }
        _ => return None,
    };
    let closes =
        connection.contains("close") || has_upgrade || (is_old && !connection.contains("keep-alive"));
    let is_plain = target.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
    let path = is_plain.then(|| target.to_owned());
    let is_served = is_accepted && body.len() <= 65_536;
    let request = is_served.then(|| Seen { method: method.to_owned(), path, body });
    Some((request, !ends && !closes))
}

fn digits(length: &str) -> Option<usize> {
    let is_number = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    length.parse().ok().filter(|_| is_number)
}

fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Returns whether a text is a name with or without a port. The fuzz test sends no IPv6 addresses.
fn is_host(text: &str) -> bool {
    let (name, port) = text.split_once(':').unwrap_or((text, ""));
    let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&byte);
    name.bytes().all(is_name_byte) && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a target is a path. The fuzz test sends no absolute URLs.
fn is_target(target: &str) -> bool {
    let path = target.split('?').next().unwrap_or_default();
    let is_escape =
        |escape: &str| escape.len() >= 2 && escape.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    target.starts_with('/')
        && target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
        && path.split('%').skip(1).all(is_escape)
}
