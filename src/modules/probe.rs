//! Requests, responses, and the [`Prober`] trait, whose implementations send requests.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use serde::Serialize;

use super::definition::{Method, Via};
use super::reason::Reason;

/// The most bytes of a body that a rule may read, after decompression.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// An outgoing request whose templates are filled and escaped.
#[derive(Debug, Clone)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The client that sends the request: HTTP, a browser or WHOIS.
    pub via: Via,
    /// The absolute `http` or `https` address.
    pub url: url::Url,
    /// The names and values of the headers, in order, without `Host` and `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// The `Content-Type` and the bytes of the body.
    pub body: Option<(String, Vec<u8>)>,
    /// The number of redirects that are followed. With 0, a redirect is itself the answer.
    pub max_redirects: u8,
    /// The most bytes of the body that are read, after decompression.
    pub body_limit: usize,
    /// The marks of which a browser ([`Via::Browser`]) waits for one before it returns the page. If none appears, the page
    /// is returned as it is shortly before the deadline, so that barriers are recognized. Without any, a page is ready
    /// once it has loaded.
    pub marks: Vec<Mark>,
    /// The origin of the request, for logs and the sandbox. It is never sent to a real site.
    pub trace: Trace,
}

/// A property by which a browser recognizes that a page is ready. Texts are compared with case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
pub enum Mark {
    /// An element that this selector finds. Browsers must interpret the selector in the same way.
    Css(String),
    /// A part of the visible text, with runs of white space made one space. Scripts, styles, templates and
    /// hidden elements are not visible.
    Text(String),
    /// A text that is part of the rendered document's HTML.
    Source(String),
    /// A regex that is found in the page's title, with runs of white space made one space. One that browsers do not
    /// understand is found nowhere.
    Title(String),
    /// A regex that is found in the final address, as for titles.
    Url(String),
}

/// The module, probe and query that a request is made for.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The id of the module.
    pub module: Arc<str>,
    /// The index of the probe in the module.
    pub probe: usize,
    /// The normal form of the query.
    pub query: Arc<str>,
    /// Whether the query is the made-up name of a control check.
    pub control: bool,
}

/// The headers of the connection. Only the program sets them.
pub(crate) const OF_THE_CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
];

/// A response, after redirects were followed as the request allows.
#[derive(Debug, Clone)]
pub struct Response {
    /// The HTTP status of the last hop.
    pub status: u16,
    /// The address of the last hop.
    pub final_url: url::Url,
    /// The headers of the last hop in order, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body after decompression, up to the request's limit.
    pub body: Vec<u8>,
    /// Whether the body has more bytes than were read.
    pub truncated: bool,
}

impl Response {
    /// Returns the first value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers_of(name).next()
    }

    /// Returns the values of a header.
    pub(crate) fn headers_of(&self, name: &str) -> impl DoubleEndedIterator<Item = &str> {
        self.headers
            .iter()
            .filter(move |(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

/// A request to a host that the catalogue names, and whether the host answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    /// The host, by the name under which its checks are counted.
    pub host: String,
    /// Whether the host answered.
    pub answer: Answered,
    /// The time until the answer or the failure.
    pub took: Duration,
    /// Whether the source of the answers to which this one belongs came to no conclusion. Another source may have.
    pub is_in_vain: bool,
}

/// Whether a host answered a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// The host answered: with any status, or with something that is not HTTP.
    Yes,
    /// The answer was not complete in time: because of the host, or of another one that it redirected to.
    TooLate,
    /// The connection could not be opened, or broke before the answer.
    NoConnection,
}

/// The error of a request without a usable answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}: {why}", if *.is_after_redirect { "after a redirect: " } else { "" })]
pub struct ProbeError {
    /// The reason of a check that ends with this error.
    pub reason: Reason,
    /// What happened, for logs.
    pub why: Cow<'static, str>,
    /// Whether the host answered with a redirect, and the request that followed it failed.
    pub is_after_redirect: bool,
}

impl Reason {
    /// Returns the error with this reason. `why` says what happened.
    pub fn because(self, why: impl Into<Cow<'static, str>>) -> ProbeError {
        ProbeError { reason: self, why: why.into(), is_after_redirect: false }
    }
}

impl ProbeError {
    /// Creates the error of a request whose deadline passed. The reason says in which phase.
    pub const fn late(reason: Reason) -> Self {
        Self { reason, why: Cow::Borrowed("the deadline passed"), is_after_redirect: false }
    }

    /// Creates the error for an address that is private, loopback, link-local, multicast or otherwise forbidden. The
    /// reason is that of a name that does not resolve, so that callers do not learn which names resolve to private
    /// addresses. The log has the cause.
    pub const fn forbidden() -> Self {
        let why = Cow::Borrowed("the address is not allowed");
        Self { reason: Reason::Dns, why, is_after_redirect: false }
    }

    /// Returns the error of a request that this error of a later hop ended. The first host has answered.
    #[must_use]
    pub fn after_redirect(mut self) -> Self {
        self.is_after_redirect |= matches!(self.answered(), Some(Answered::TooLate | Answered::NoConnection));
        self
    }

    /// Returns whether the host of the request answered. Returns `None` if that is not known, because the request did
    /// not reach the host's address and did not take its whole time.
    pub fn answered(&self) -> Option<Answered> {
        match self.reason {
            // A redirect is an answer, unless what it leads to holds the check until its deadline.
            reason if reason.is_timeout() => Some(Answered::TooLate),
            Reason::Connect | Reason::Tls if !self.is_after_redirect => Some(Answered::NoConnection),
            Reason::Connect | Reason::Tls | Reason::Redirect | Reason::Protocol | Reason::Body => {
                Some(Answered::Yes)
            }
            _ => None,
        }
    }

    /// Returns whether one retry before the deadline makes sense: the connection failed or broke before the answer's
    /// head, or the browser crashed.
    pub fn is_connection_error(&self) -> bool {
        matches!(self.reason, Reason::Connect | Reason::Browser)
    }
}

/// A sender of probes. All check workers share it.
pub trait Prober: Send + Sync {
    /// Sends `request` and reads its answer until `deadline` at most. Each hop gets the matching cookies of
    /// `jar`, and the cookies that it sets are stored in `jar`. Nothing is
    /// retried, except that a request on an idle connection that the server has closed is sent again on a new one.
    ///
    /// # Errors
    /// Returns an error if there is no usable answer. Any HTTP status is an answer.
    fn send(&self, request: &Request, jar: &mut CookieJar, deadline: Instant)
    -> Result<Response, ProbeError>;

    /// Removes cached values that have expired at `now`. The default implementation does nothing.
    fn evict_expired(&self, _now: Instant) {}
}

/// The browsers for [`Via::Browser`]. Their state is queried before checks are made.
pub trait Browsers: Send + Sync {
    /// Returns the number of pages that can be open at once, which limits the concurrent checks in browsers.
    /// By default it is 0, because no browser is configured.
    fn sessions(&self) -> usize {
        0
    }

    /// Returns whether some configured endpoint answers, so that a page can be opened. It waits for the
    /// first check of the endpoints, if that has not ended. It is called before each premium search is
    /// charged.
    fn is_available(&self) -> bool {
        false
    }

    /// Returns the last answer to [`Self::is_available`], without a wait, and has a new one found if that is old.
    fn was_available(&self) -> bool {
        self.is_available()
    }

    /// Ends waits for a browser, and the browser itself.
    fn stop(&self) {}

    /// Returns whether the browsers print pages. By default, they do not.
    fn prints(&self) -> bool {
        false
    }

    /// Prints an HTML page that loads nothing as a PDF.
    ///
    /// # Errors
    /// Returns an error if no browser can be opened, or if it does not print the page before `deadline`.
    fn print(&self, _page: &str, _deadline: Instant) -> Result<Vec<u8>, ProbeError> {
        Err(Reason::Browser.because("no browser that prints is configured"))
    }

    /// Loads a page with its pictures, and returns its status and how it looks as a JPEG.
    ///
    /// # Errors
    /// Returns an error if no browser can be opened, or if it does not show the page before `deadline`.
    fn screenshot(&self, _address: &url::Url, _deadline: Instant) -> Result<(u16, Vec<u8>), ProbeError> {
        Err(Reason::Browser.because("no browser is configured"))
    }
}

/// The browsers of a server on which none is configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBrowser;

impl Browsers for NoBrowser {}

/// The cookies of one check, stored by exact host and never shared between checks.
#[derive(Debug, Clone, Default)]
pub struct CookieJar {
    /// The host, the name and the value of each cookie, in the order in which they were set.
    cookies: Vec<(String, String, String)>,
}

impl CookieJar {
    /// Stores the cookie of a `Set-Cookie` value from `host`. It replaces the cookie of the same name, or the oldest
    /// cookie if the jar is full. Attributes are ignored, except for a deletion, because a check takes only seconds.
    pub fn store(&mut self, host: &str, set_cookie: &str) {
        let mut parts = set_cookie.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let (name, value) = (name.trim(), value.trim());
        // The limit prevents a hostile site from filling memory or making the header endless.
        if name.is_empty() || name.len() + value.len() > 4096 {
            return;
        }
        self.cookies.retain(|(at, known, _)| !(at == host && known == name));
        if !is_deletion(parts) {
            if self.cookies.len() >= 50 {
                self.cookies.remove(0);
            }
            self.cookies.push((host.to_owned(), name.to_owned(), value.to_owned()));
        }
    }

    /// Returns the value of a cookie of `host`.
    pub(crate) fn value(&self, host: &str, name: &str) -> Option<&str> {
        let cookie = self.cookies.iter().find(|(at, known, _)| at == host && known == name);
        cookie.map(|(_, _, value)| value.as_str())
    }

    /// Returns the `Cookie` header for a request to `host`, if there are cookies for it.
    pub fn header_for(&self, host: &str) -> Option<String> {
        let pairs: Vec<String> = self
            .cookies
            .iter()
            .filter(|(at, _, _)| at == host)
            .map(|(_, name, value)| format!("{name}={value}"))
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }
}

/// Returns whether the attributes of a cookie delete it. The last of each name counts, and `Max-Age` before `Expires`
/// (RFC 6265, section 5.3).
fn is_deletion<'a>(attributes: impl Iterator<Item = &'a str>) -> bool {
    let (mut by_age, mut by_date) = (None, None);
    for attribute in attributes {
        let (name, value) = attribute.split_once('=').unwrap_or((attribute, ""));
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "max-age" => by_age = value.parse::<i64>().ok().map(|age| age <= 0).or(by_age),
            "expires" => {
                // `Thu, 01-Jan-1970 00:00:00 GMT` is the older form of `Thu, 01 Jan 1970 00:00:00 GMT`.
                let date =
                    DateTimeParser::new().relaxed_weekday(true).parse_timestamp(value.replace('-', " "));
                by_date = date.ok().map(|date| date <= Timestamp::now()).or(by_date);
            }
            _ => {}
        }
    }
    by_age.or(by_date).unwrap_or(false)
}
