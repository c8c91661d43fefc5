//! Checks the head of a request.
//!
//! Fault of tiny_http: it accepts two lengths, a length with a sign, both `Content-Length` and `Transfer-Encoding`, an
//! unknown transfer coding, a missing `Host` and control characters. A reverse proxy that reads such a head in another
//! way could be used to smuggle requests (RFC 9112, section 11.2). Cure: a head that allows two readings is refused
//! here. Tests: `hostile_clients_get_their_answers`, `damaged_requests_are_parsed_as_the_model_parses_them`.

use super::config::{MAX_HEAD_BYTES, MAX_HEADERS};
use super::encoding::accepts_gzip;
use super::forwarded::{Network, client_address};
use super::handler::Refusal;
use super::render::RenderOptions;
use super::request::{Request, is_header_value, is_token};
use super::target::{self, is_authority};

/// The head of a request, and what follows from it.
pub(super) struct Head {
    /// The request without its body. It is not to be used if it is refused.
    pub(super) request: Request,
    /// The announced length of the body, which is 0 once it was read, or none if the end of the request is not known.
    pub(super) length: Option<u64>,
    /// The first violation, for which the request is refused.
    pub(super) refusal: Option<Refusal>,
    pub(super) options: RenderOptions,
    /// Whether reading the body may take time: tiny_http reads only a small one together with the head.
    pub(super) is_body_unread: bool,
}

/// The size up to which tiny_http reads a body together with the head.
const INLINE_BODY_BYTES: u64 = 1024;

impl Head {
    /// Reads the head of a request that tiny_http has parsed.
    pub(super) fn read(raw: &tiny_http::Request, trusted: &[Network]) -> Self {
        let version = (raw.http_version().0, raw.http_version().1);
        let headers = raw.headers().iter();
        let headers = headers.map(|header| (header.field.as_str().as_str(), header.value.as_str()));
        let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        let mut request = Request { method: raw.method().as_str().to_owned(), headers, ..Request::default() };
        let is_http_1_0 = version <= (1, 0);
        // tiny_http looks at the first such header only.
        let connection = request.header("connection").unwrap_or_default().to_ascii_lowercase();
        let is_upgrade = connection.contains("upgrade");
        let length = body_length(&request);
        let says_close = |value: &str| value.to_ascii_lowercase().contains("close");
        let closes = request.header_values("connection").any(says_close)
            || is_upgrade
            || is_http_1_0 && !connection.contains("keep-alive");
        let comes_later = is_upgrade || request.header("expect").is_some();
        let is_body_unread =
            length.as_ref().map_or(true, |length| *length > INLINE_BODY_BYTES || *length > 0 && comes_later);
        let violation = check(&mut request, raw.url(), version).err();
        let (length, refusal) = match length {
            Ok(length) => (Some(length), violation),
            Err(refusal) => (None, Some(refusal)),
        };
        let options = RenderOptions {
            is_head: request.method == "HEAD",
            close: closes,
            is_http_1_0,
            accepts_gzip: accepts_gzip(request.header_values("accept-encoding")),
        };
        if let Some(peer) = raw.remote_addr() {
            request.client =
                Some(client_address(peer.ip(), request.header_values("x-forwarded-for"), trusted));
        }
        Self { request, length, refusal, options, is_body_unread }
    }
}

/// Checks a request, and fills in its target. Returns the first violation.
fn check(request: &mut Request, target: &str, version: (u8, u8)) -> Result<(), Refusal> {
    if !matches!(version, (1, 0 | 1)) {
        return Err(Refusal::Malformed("the version must be HTTP/1.0 or HTTP/1.1"));
    }
    // The longest registered method has 17 letters.
    if request.method.len() > 32 || !is_token(&request.method) {
        return Err(Refusal::Malformed("the method must be a token of at most 32 characters"));
    }
    (request.path, request.query) = target::parse(target)?;
    let bytes: usize = request.headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let is_too_large = request.headers.len() > MAX_HEADERS || bytes > MAX_HEAD_BYTES;
    if is_too_large {
        return Err(Refusal::HeadTooLarge);
    }
    request.headers.iter().try_for_each(|(name, value)| check_header(name, value))?;
    check_host(request, version)
}

fn check_header(name: &str, value: &str) -> Result<(), Refusal> {
    if !is_token(name) {
        return Err(Refusal::Malformed("a header name contains a character that is not allowed"));
    }
    if !is_header_value(value) {
        return Err(Refusal::Malformed(
            "a header value contains a control character or a byte outside ASCII",
        ));
    }
    Ok(())
}

fn check_host(request: &Request, version: (u8, u8)) -> Result<(), Refusal> {
    let mut hosts = request.header_values("host");
    match (hosts.next(), hosts.next()) {
        (_, Some(_)) => Err(Refusal::Malformed("more than one Host header")),
        (None, None) if version >= (1, 1) => Err(Refusal::Malformed("the Host header is missing")),
        (Some(host), None) if !is_authority(host) => Err(Refusal::Malformed("the Host header is not valid")),
        _ => Ok(()),
    }
}

/// Returns the length of the body. A body in chunks has none: tiny_http's decoder has neither a limit of time nor of
/// size, accepts malformed chunks, and takes the end of the connection for the end of the body.
fn body_length(request: &Request) -> Result<u64, Refusal> {
    let lengths: Vec<&str> = request.header_values("content-length").collect();
    match (lengths.as_slice(), request.header("transfer-encoding")) {
        ([], None) => Ok(0),
        ([], Some(_)) => Err(Refusal::LengthRequired),
        ([length], None) if length.is_empty() || !length.bytes().all(|byte| byte.is_ascii_digit()) => {
            Err(Refusal::Malformed("Content-Length must consist of digits"))
        }
        ([length], None) => length.parse().map_err(|_| Refusal::BodyTooLarge),
        (_, None) => Err(Refusal::Malformed("more than one Content-Length header")),
        (_, Some(_)) => Err(Refusal::Malformed("both Content-Length and Transfer-Encoding")),
    }
}
