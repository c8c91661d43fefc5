//! A complete request that has been checked.

use std::net::IpAddr;

/// A request in the form that the handler gets. Its framing, its size and the syntax of its head have been checked.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The method, as it was sent.
    pub method: String,
    /// The path without the query, percent-decoded except for an encoded slash, which stays `%2F`. It begins with `/`.
    pub path: String,
    /// The query without `?`, not decoded. It is empty if there is none.
    pub query: String,
    /// The headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, which has at most the configured size.
    pub body: Vec<u8>,
    /// The client's address. It is the peer's address, or the one that a trusted proxy reports.
    pub client: Option<IpAddr>,
}

impl Request {
    /// Returns the first value of a header. `name` is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns all values of a header. `name` is in lower case.
    pub fn header_values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.headers.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether `If-None-Match` contains this entity tag, by weak comparison (RFC 9110, section 13.1.2). `etag`
    /// has its quotes.
    pub fn has_current(&self, etag: &str) -> bool {
        self.header_values("if-none-match")
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
    }

    /// Returns whether the client has a current copy of an answer, by `If-None-Match` or, without that header, by
    /// `If-Modified-Since` (RFC 9110, section 13.2.2). `last_modified` is the answer's `Last-Modified`, if it has one.
    pub fn has_current_copy(&self, etag: &str, last_modified: Option<&str>) -> bool {
        if self.header("if-none-match").is_some() {
            return self.has_current(etag);
        }
        // An invalid date or a second one makes a recipient ignore the header (RFC 9110, section 13.1.3).
        let mut dates = self.header_values("if-modified-since");
        let known = dates.next().filter(|_| dates.next().is_none());
        let moment = |date: &str| httpdate::parse_http_date(date).ok();
        let (known, changed) = (known.and_then(moment), last_modified.and_then(moment));
        known.zip(changed).is_some_and(|(known, changed)| changed <= known)
    }

    /// Returns the decoded parameters of the query, in order.
    pub fn query_pairs(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }
}

/// Returns whether a text is a token (RFC 9110, section 5.6.2).
pub(super) fn is_token(text: &str) -> bool {
    let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Returns whether a text can be the value of a header: visible ASCII, spaces and tabs.
pub(super) fn is_header_value(value: &str) -> bool {
    value.bytes().all(|byte| byte == b'\t' || byte == b' ' || byte.is_ascii_graphic())
}
