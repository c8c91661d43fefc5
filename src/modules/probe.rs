//! Requests, responses, and the trait of whoever sends them. This room knows no sockets.

use std::fmt;
use std::ops::Add;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::definition::{Method, Via};

/// The most bytes of a (decoded) body that a rule may look at.
pub const MAX_BODY_BYTES: usize = 1024 * 1024;

/// One outgoing request, filled and escaped.
#[derive(Debug, Clone)]
pub struct Request {
    /// HTTP method.
    pub method: Method,
    /// What carries it.
    pub via: Via,
    /// Absolute `http` or `https` address.
    pub url: url::Url,
    /// Name and value, in order; no `Host`, no `Content-Length`.
    pub headers: Vec<(String, String)>,
    /// The bytes to send, with their `Content-Type`.
    pub body: Option<(String, Vec<u8>)>,
    /// How many redirects are followed; 0: a redirect is an answer.
    pub max_redirects: u8,
    /// How much of the (decoded) body is read at the most, in bytes; the rest is left unread.
    pub body_limit: usize,
    /// For [`Via::Browser`]: what shows that the page is ready to be judged. Without it a page is ready
    /// once it has loaded.
    pub render: Option<Render>,
    /// Who asks, for logs and the sandbox; never sent to a real site.
    pub trace: Trace,
}

/// What a browser waits for before it hands a page over: ready as soon as any mark fits. A page on which
/// none ever does is handed over as it stands shortly before the deadline, for walls to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Render {
    /// Never empty.
    pub until: Vec<Mark>,
}

/// Something that a rendered page shows. Texts are compared as they are, case included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// An element that this selector finds; only selectors that a browser understands alike.
    Css(String),
    /// Part of the visible text, white space squeezed: of no script, style, template or hidden element.
    Text(String),
    /// Part of the rendered document's HTML.
    Source(String),
    /// Part of the title.
    Title(String),
    /// The whole title, white space squeezed.
    TitleIs(String),
    /// Part of the address in the end.
    Url(String),
}

/// Where a request comes from.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Module id.
    pub module: Arc<str>,
    /// Index of the probe in the module.
    pub probe: usize,
    /// The query's normal form.
    pub query: Arc<str>,
    /// The query is a made-up name of a control check.
    pub control: bool,
}

/// What came back, redirects followed as asked.
#[derive(Debug, Clone)]
pub struct Response {
    /// HTTP status of the last hop.
    pub status: u16,
    /// Address of the last hop.
    pub final_url: url::Url,
    /// Lower-case name and value, in order, of the last hop.
    pub headers: Vec<(String, String)>,
    /// The decoded (decompressed) body, up to the request's limit.
    pub body: Vec<u8>,
    /// The body had more than was read.
    pub truncated: bool,
    /// Where the time went.
    pub timing: Timing,
}

impl Response {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// Time by phase, summed over the hops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// Name resolution.
    pub resolve: Duration,
    /// TCP and TLS.
    pub connect: Duration,
    /// From the request sent to the first byte of the answer.
    pub first_byte: Duration,
    /// Reading the body.
    pub body: Duration,
}

impl Add for Timing {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            resolve: self.resolve + other.resolve,
            connect: self.connect + other.connect,
            first_byte: self.first_byte + other.first_byte,
            body: self.body + other.body,
        }
    }
}

/// Phases of a request, for timeouts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Name resolution.
    Resolve,
    /// TCP and TLS.
    Connect,
    /// Waiting for the answer's head.
    FirstByte,
    /// Reading the body.
    Body,
}

/// Why no usable answer came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeError {
    /// The deadline passed; says in which phase.
    Timeout(Phase),
    /// The name does not resolve.
    Dns(String),
    /// The address is private, loopback, link-local, multicast or otherwise not to be asked.
    ForbiddenAddress,
    /// No connection, or it broke before an answer's head: worth one retry.
    Connect(String),
    /// The TLS handshake failed.
    Tls(String),
    /// More redirects than allowed, or to something that is no web address.
    Redirect(String),
    /// What came back is not HTTP, or its head is too large.
    Protocol(String),
    /// The body broke off or could not be decompressed.
    Body(String),
    /// No prober is configured for this request (a browser module without a browser).
    Unavailable(String),
    /// A browser is configured, and failed: no session was to be had, or it, its driver or its page died on
    /// the way. Worth one retry.
    Browser(String),
}

impl ProbeError {
    /// The machine-readable reason that `modules` answers show.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Timeout(Phase::Resolve) => "timeout_resolve",
            Self::Timeout(Phase::Connect) => "timeout_connect",
            Self::Timeout(Phase::FirstByte) => "timeout_first_byte",
            Self::Timeout(Phase::Body) => "timeout_body",
            Self::Dns(_) => "dns",
            Self::ForbiddenAddress => "forbidden_address",
            Self::Connect(_) => "connect",
            Self::Tls(_) => "tls",
            Self::Redirect(_) => "redirect",
            Self::Protocol(_) => "protocol",
            Self::Body(_) => "body",
            Self::Unavailable(_) => "unavailable",
            Self::Browser(_) => "browser",
        }
    }

    /// Whether one more try inside the deadline makes sense.
    pub fn is_connection_error(&self) -> bool {
        matches!(self, Self::Connect(_) | Self::Browser(_))
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout(phase) => write!(f, "timed out in phase {phase:?}"),
            Self::ForbiddenAddress => f.write_str("the address may not be asked"),
            Self::Dns(why)
            | Self::Connect(why)
            | Self::Tls(why)
            | Self::Redirect(why)
            | Self::Protocol(why)
            | Self::Body(why)
            | Self::Unavailable(why)
            | Self::Browser(why) => write!(f, "{}: {why}", self.reason()),
        }
    }
}

impl std::error::Error for ProbeError {}

/// Sends probes. Implementations are shared by all check workers.
pub trait Prober: Send + Sync {
    /// Sends `request` and reads its answer, at the latest until `deadline`. Cookies of `jar` that fit
    /// each hop are sent, those that come back are kept in it. Retries nothing.
    ///
    /// # Errors
    /// When no usable answer came; any HTTP status is an answer.
    fn send(&self, request: &Request, jar: &mut CookieJar, deadline: Instant)
    -> Result<Response, ProbeError>;

    /// Drops what it keeps of earlier requests and will not use any more at that moment, if it keeps anything.
    fn keep_house(&self, _now: Instant) {}
}

/// The browsers behind [`Via::Browser`]: what must be known of them before a check is made.
pub trait Browsers: Send + Sync {
    /// How many pages can be open at once: as many checks are under way in browsers. 0: no browser is
    /// configured.
    fn sessions(&self) -> usize;

    /// Whether a page could be opened now: some configured endpoint answers. Takes a second or two at the
    /// most; asked before each premium search is charged.
    fn is_available(&self) -> bool;
}

/// Where no browser is configured.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBrowser;

impl Browsers for NoBrowser {
    fn sessions(&self) -> usize {
        0
    }

    fn is_available(&self) -> bool {
        false
    }
}

/// The cookies of one check: kept by exact host, never shared between checks.
#[derive(Debug, Clone, Default)]
pub struct CookieJar {
    cookies: Vec<(String, String, String)>,
}

impl CookieJar {
    /// Keeps the cookie of one `Set-Cookie` value that `host` sent. Attributes are ignored but for a
    /// deletion (`Max-Age=0`): a check lives for seconds.
    pub fn store(&mut self, host: &str, set_cookie: &str) {
        let mut parts = set_cookie.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { return };
        let (name, value) = (name.trim(), value.trim());
        // Bounded: a hostile site must not fill memory or build an endless header.
        if name.is_empty() || name.len() + value.len() > 4096 || self.cookies.len() >= 50 {
            return;
        }
        self.cookies.retain(|(at, known, _)| !(at == host && known == name));
        let deleted = parts.any(|attribute| attribute.trim().eq_ignore_ascii_case("max-age=0"));
        if !deleted {
            self.cookies.push((host.to_owned(), name.to_owned(), value.to_owned()));
        }
    }

    /// The `Cookie` header for a request to `host`, if there is anything to send.
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
