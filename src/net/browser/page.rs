//! Looks at a page until it is ready to be judged, and makes an answer of it.

use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::client::Fault;
use super::egress::{Visit, real_of};
use super::session::Session;
use crate::modules::probe::{Mark, Phase, ProbeError, Request, Response, Timing};

const LOOK: &str = include_str!("look.js");
/// Between two looks: most pages are there soon or not soon at all.
const FIRST_PAUSE: Duration = Duration::from_millis(40);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);
/// A page that answers with an error and says nothing that is waited for is not waited for longer than this
/// once it has loaded: a wall, most likely.
const ERROR_PATIENCE: Duration = Duration::from_secs(2);
/// How long before the deadline a page is handed over as it stands; of a short deadline a fifth.
const LAST_LOOK: Duration = Duration::from_millis(700);

/// The longest name of a network error.
const MAX_CODE: usize = 64;

/// What is looked for, and until when.
pub(super) struct Task<'a> {
    pub(super) request: &'a Request,
    pub(super) visit: &'a Visit,
    /// When the browser began to load.
    pub(super) began: Instant,
    pub(super) deadline: Instant,
    /// The address is one of the simulated web.
    pub(super) is_played: bool,
}

/// No page, and whether its browser may be used on.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: ProbeError,
    pub(super) is_session_doubtful: bool,
}

/// What the script says.
#[derive(Debug, Deserialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
enum Seen {
    /// Nothing so far.
    None,
    /// The browser's own page about what went wrong.
    Error { why: String },
    /// A page of the site's.
    #[serde(rename_all = "camelCase")]
    Page {
        state: String,
        status: u16,
        url: String,
        html: Option<String>,
        #[serde(default)]
        is_cut: bool,
    },
}

/// Looks at the page that the session is loading until it can be handed over.
pub(super) fn look(session: &Session, task: &Task<'_>) -> Result<Response, Failure> {
    let mut gaze = Gaze::new(task);
    loop {
        match gaze.look_once(session) {
            Some(done) => return done,
            None => gaze.pause(),
        }
    }
}

struct Gaze<'a> {
    task: &'a Task<'a>,
    marks: Value,
    last_look: Instant,
    pause: Duration,
    first_seen: Option<Instant>,
    loaded_with_error: Option<Instant>,
    is_hanging: bool,
}

impl<'a> Gaze<'a> {
    fn new(task: &'a Task<'a>) -> Self {
        let marks = task.request.render.iter().flat_map(|render| &render.until).map(as_json).collect();
        let margin = LAST_LOOK.min(task.deadline.saturating_duration_since(task.began) / 5);
        Self {
            task,
            marks,
            last_look: task.deadline.checked_sub(margin).unwrap_or(task.deadline),
            pause: FIRST_PAUSE,
            first_seen: None,
            loaded_with_error: None,
            is_hanging: false,
        }
    }

    /// `None`: not yet.
    fn look_once(&mut self, session: &Session) -> Option<Result<Response, Failure>> {
        let now = Instant::now();
        if now >= self.task.deadline {
            return Some(Err(self.timeout()));
        }
        let is_tired = self.loaded_with_error.is_some_and(|since| now >= since + ERROR_PATIENCE);
        let is_last = is_tired || now >= self.last_look;
        let with = json!([self.marks, self.task.request.body_limit, self.task.is_played, is_last]);
        let seen = match session.run(LOOK, &with, self.task.deadline) {
            Ok(seen) => seen,
            Err(fault) => return self.stumble(&fault),
        };
        self.is_hanging = false;
        // A page may have bent the browser's objects: then the script says nothing that can be read.
        match Seen::deserialize(seen).ok()? {
            Seen::None => None,
            Seen::Error { why } => Some(Err(failed(self.network_error(session, &as_code(&why)), false))),
            Seen::Page { state, status, url, html, is_cut, .. } => {
                self.note(&state, status, now);
                let html = html?;
                Some(self.answer(status, &url, html, is_cut))
            }
        }
    }

    fn note(&mut self, state: &str, status: u16, now: Instant) {
        self.first_seen.get_or_insert(now);
        if state == "complete" && status >= 400 {
            self.loaded_with_error.get_or_insert(now);
        }
    }

    /// Most errors of a look pass: the page is on its way from one document to the next.
    fn stumble(&mut self, fault: &Fault) -> Option<Result<Response, Failure>> {
        if fault.is_crash() {
            let why = "the page crashed its browser".into();
            return Some(Err(failed(ProbeError::Browser(why), true)));
        }
        if *fault == Fault::Late {
            self.is_hanging = true;
            return Some(Err(self.timeout()));
        }
        if fault.is_end_of_session() {
            return Some(Err(failed(
                ProbeError::Browser(format!("the browser was lost: {}", fault.kind())),
                true,
            )));
        }
        if fault.is_closed_window() {
            return Some(Err(failed(ProbeError::Protocol("the page closed itself".into()), true)));
        }
        self.is_hanging = fault.is_hang();
        None
    }

    fn timeout(&self) -> Failure {
        let phase = if self.first_seen.is_some() { Phase::Body } else { Phase::FirstByte };
        // A page that left no time for scripts may leave none for anything.
        failed(ProbeError::Timeout(phase), self.is_hanging)
    }

    /// What the browser's error page means; of what the guard refused, the guard knows more.
    fn network_error(&self, session: &Session, why: &str) -> ProbeError {
        if self.task.visit.is_too_large() {
            return ProbeError::Body("the page loads too much".into());
        }
        let url = session.url(self.task.deadline);
        let refusal = url.as_ref().and_then(Url::host_str).and_then(|host| self.task.visit.refusal(host));
        refusal.unwrap_or_else(|| from_code(why))
    }

    fn answer(&self, status: u16, url: &str, html: String, is_cut: bool) -> Result<Response, Failure> {
        let Ok(shown) = Url::parse(url) else {
            return Err(failed(ProbeError::Protocol("the page's address is none".into()), false));
        };
        let final_url = if self.task.is_played { real_of(&shown) } else { shown };
        let limit = self.task.request.body_limit;
        let (body, truncated) = cut(html, limit);
        let first = self.first_seen.unwrap_or(self.task.began);
        Ok(Response {
            status,
            final_url,
            headers: vec![("content-type".into(), "text/html; charset=utf-8".into())],
            body,
            truncated: truncated || is_cut,
            timing: Timing {
                first_byte: first.saturating_duration_since(self.task.began),
                body: first.elapsed(),
                ..Timing::default()
            },
        })
    }

    fn pause(&mut self) {
        let now = Instant::now();
        // The last look is made while there is still time for it.
        let until = if now < self.last_look { self.last_look } else { self.task.deadline };
        std::thread::sleep(self.pause.min(until.saturating_duration_since(now)));
        self.pause = LONGEST_PAUSE.min(self.pause * 3 / 2);
    }
}

fn failed(error: ProbeError, is_session_doubtful: bool) -> Failure {
    Failure { error, is_session_doubtful }
}

fn as_json(mark: &Mark) -> Value {
    let (kind, value) = match mark {
        Mark::Css(value) => ("css", value),
        Mark::Text(value) => ("text", value),
        Mark::Source(value) => ("source", value),
        Mark::Title(value) => ("title", value),
        Mark::TitleIs(value) => ("title_is", value),
        Mark::Url(value) => ("url", value),
    };
    json!({"kind": kind, "value": value})
}

/// The first `limit` bytes, whole characters of them.
fn cut(html: String, limit: usize) -> (Vec<u8>, bool) {
    if html.len() <= limit {
        return (html.into_bytes(), false);
    }
    let end = (0..=limit).rev().find(|at| html.is_char_boundary(*at)).unwrap_or_default();
    let mut bytes = html.into_bytes();
    bytes.truncate(end);
    (bytes, true)
}

/// A browser's name of an error. A page that plays a browser's may have it say anything.
fn as_code(why: &str) -> String {
    why.chars().filter(char::is_ascii_graphic).take(MAX_CODE).collect()
}

/// Chromium's names of network errors, and Firefox'.
fn from_code(code: &str) -> ProbeError {
    let is = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
    if is(&["NAME_NOT_RESOLVED", "DNS_PROBE", "NAME_RESOLUTION", "dnsNotFound"]) {
        ProbeError::Dns("the name does not resolve".into())
    } else if is(&["REDIRECT", "redirectLoop"]) {
        ProbeError::Redirect(
            "more redirects than a browser follows, or to something that is no web address".into(),
        )
    } else if is(&["CERT", "SSL", "nssFailure", "nssBadCert"]) {
        ProbeError::Tls(code.to_owned())
    } else if is(&["TIMED_OUT", "netTimeout"]) {
        ProbeError::Timeout(Phase::FirstByte)
    } else if is(&[
        "CONNECTION",
        "TUNNEL",
        "EMPTY_RESPONSE",
        "SOCKET",
        "connectionFailure",
        "netReset",
        "netInterrupt",
    ]) {
        ProbeError::Connect(code.to_owned())
    } else {
        ProbeError::Protocol(code.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_cut_between_characters() {
        assert_eq!(cut("aéb".into(), 4), ("aéb".into(), false));
        assert_eq!(cut("aéb".into(), 3), ("aé".into(), true));
        assert_eq!(cut("aéb".into(), 2), ("a".into(), true));
        assert_eq!(cut("é".into(), 0), (Vec::new(), true));
    }

    #[test]
    fn errors_of_browsers_are_told_apart() {
        for (code, reason) in [
            ("ERR_NAME_NOT_RESOLVED", "dns"),
            ("ERR_TOO_MANY_REDIRECTS", "redirect"),
            ("ERR_CERT_DATE_INVALID", "tls"),
            ("ERR_SSL_PROTOCOL_ERROR", "tls"),
            ("ERR_TIMED_OUT", "timeout_first_byte"),
            ("ERR_EMPTY_RESPONSE", "connect"),
            ("ERR_TUNNEL_CONNECTION_FAILED", "connect"),
            ("ERR_INVALID_HTTP_RESPONSE", "protocol"),
            ("dnsNotFound", "dns"),
        ] {
            assert_eq!(from_code(code).reason(), reason, "{code}");
        }
    }

    #[test]
    fn a_pages_own_words_are_no_code() {
        assert_eq!(as_code("ERR_NAME_NOT_RESOLVED"), "ERR_NAME_NOT_RESOLVED");
        assert_eq!(as_code("a\u{1b}[31m b\r\nc\u{202e}é\0"), "a[31mbc");
        assert_eq!(as_code(&"x".repeat(100_000)).len(), MAX_CODE);
    }

    #[test]
    fn what_the_script_says_is_read_strictly() {
        let page = json!({"stage": "page", "state": "complete", "status": 200, "isReady": false, "url": "x"});
        assert!(matches!(Seen::deserialize(page), Ok(Seen::Page { html: None, is_cut: false, .. })));
        assert!(matches!(Seen::deserialize(json!({"stage": "none"})), Ok(Seen::None)));
        for bent in
            [json!(null), json!("x"), json!({"stage": "page", "status": -1}), json!({"stage": "else"})]
        {
            assert!(Seen::deserialize(bent.clone()).is_err(), "{bent}");
        }
    }
}
