//! One request, read whole and checked.

use std::net::IpAddr;

/// What a handler sees. Framing, sizes and the head's syntax have been checked.
#[derive(Debug, Clone)]
pub struct Request {
    /// Upper-case method, as sent.
    pub method: String,
    /// The path, percent-decoded (but for an encoded slash, which stays `%2F`), always beginning with `/`;
    /// without query. `*` in `OPTIONS *`, which asks about the server as a whole.
    pub path: String,
    /// The raw query string without `?`; empty if there is none.
    pub query: String,
    /// Lower-case name and value, in order.
    pub headers: Vec<(String, String)>,
    /// The body; at most the configured size.
    pub body: Vec<u8>,
    /// The client: the peer, or what a trusted proxy says.
    pub client: Option<IpAddr>,
}

impl Request {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a header; `name` in lower case.
    pub fn header_values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether `If-None-Match` names this entity tag (with its quotes): compared weakly (RFC 9110, 13.1.2).
    pub fn has_current(&self, etag: &str) -> bool {
        self.header_values("if-none-match")
            .flat_map(|value| value.split(','))
            .map(str::trim)
            .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
    }

    /// The parameters of the query string, decoded, in order.
    pub fn query_pairs(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(self.query.as_bytes()).into_owned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly() {
        let request = |value: &str| Request {
            method: "GET".into(),
            path: "/".into(),
            query: String::new(),
            headers: vec![("if-none-match".into(), value.into())],
            body: vec![],
            client: None,
        };
        for (value, want) in [
            ("\"a\"", true),
            ("W/\"a\"", true),
            ("\"b\", \"a\"", true),
            ("*", true),
            ("\"b\"", false),
            ("a", false),
        ] {
            assert_eq!(request(value).has_current("\"a\""), want, "{value}");
        }
    }
}
