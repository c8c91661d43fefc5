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

/// The requests that the handler must get.
pub(crate) struct Reading {
    pub(crate) requests: Vec<Seen>,
    /// The last request has a chunked body. The server may notice that the sender has ended its direction, and refuse the
    /// body as incomplete.
    pub(crate) ends_in_chunks: bool,
}

/// Parses the bytes of a client that ends its direction after them.
pub(crate) fn read_all(bytes: &[u8]) -> Reading {
    let (mut rest, mut requests) = (bytes, Vec::new());
    let mut after = After::GoesOn;
    while let (After::GoesOn, Some((request, then))) = (after, read_one(&mut rest)) {
        requests.push(request);
        after = then;
    }
    Reading { requests, ends_in_chunks: after == After::EndsInChunks }
}

/// The state of the connection after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    GoesOn,
    Ends,
    EndsInChunks,
}

/// Reads a line of ASCII without its end.
fn line<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    let end = rest.windows(2).position(|pair| pair == b"\r\n")?;
    let line = std::str::from_utf8(&rest[..end]).ok().filter(|line| line.is_ascii())?;
    *rest = &rest[end + 2..];
    Some(line)
}

fn read_one(rest: &mut &[u8]) -> Option<(Seen, After)> {
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
        headers.push((name.to_ascii_lowercase(), value.trim()));
    }
    let values = |name: &str| -> Vec<&str> {
        headers.iter().filter(|(key, _)| key == name).map(|(_, value)| *value).collect()
    };
    let connection = values("connection").join(",").to_ascii_lowercase();
    let has_upgrade = connection.contains("upgrade");
    if !(is_token(method) && method.len() <= 32 && is_target(target)) {
        return None;
    }
    let is_sound = |value: &str| value.bytes().all(|byte| byte == b'\t' || (b' '..=b'~').contains(&byte));
    if !headers.iter().all(|(name, value)| is_token(name) && is_sound(value)) {
        return None;
    }
    match values("host").as_slice() {
        [host] if is_host(host) => {}
        [] if is_old => {}
        _ => return None,
    }
    if values("expect").iter().any(|value| !value.eq_ignore_ascii_case("100-continue")) {
        return None;
    }
    let (body, is_chunked) =
        match (values("content-length").as_slice(), values("transfer-encoding").as_slice()) {
            ([], []) => (Vec::new(), false),
            ([length], []) => (counted(rest, length)?, false),
            ([], [encoding]) if encoding.eq_ignore_ascii_case("chunked") && !is_old && !has_upgrade => {
                (chunked(rest)?, true)
            }
            _ => return None,
        };
    let closes =
        connection.contains("close") || has_upgrade || (is_old && !connection.contains("keep-alive"));
    let is_plain = target.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'/');
    let path = is_plain.then(|| target.to_owned());
    let after = match (is_chunked, closes) {
        (true, _) => After::EndsInChunks,
        (false, true) => After::Ends,
        (false, false) => After::GoesOn,
    };
    Some((Seen { method: method.to_owned(), path, body }, after))
}

fn counted(rest: &mut &[u8], length: &str) -> Option<Vec<u8>> {
    if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let length = length.parse().ok().filter(|length| *length <= 65_536)?;
    let body = rest.get(..length)?;
    *rest = &rest[length..];
    Some(body.to_vec())
}

fn chunked(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        // The size ends only at a line feed right after the first carriage return.
        let end = rest.iter().position(|byte| *byte == b'\r')?;
        let size = std::str::from_utf8(&rest[..end]).ok()?;
        let size = size.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        *rest = rest.get(end..)?.strip_prefix(b"\r\n")?;
        if size == 0 {
            *rest = rest.strip_prefix(b"\r\n")?;
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        if body.len() > 65_536 {
            return None;
        }
        *rest = rest[size..].strip_prefix(b"\r\n")?;
    }
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
