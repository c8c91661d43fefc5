//! Changes of sites after their entries were written, so that the rules no longer fit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use sightline::modules::definition::{Entry, Matcher};
use sightline::modules::module::Module;
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use url::Url;

use super::drifts::hash;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum DriftKind {
    /// A text, a class or a value that a rule looks for is another one.
    Marker,
    /// The status of the pages for missing accounts, or of those for existing ones, is another one.
    Status,
    /// The endpoint has another address, and the old one redirects to it.
    Moved,
    /// A member of JSON that a rule looks for has another name.
    FieldRenamed,
    /// The page for missing accounts has status 200 and another content.
    SoftMiss,
}

impl DriftKind {
    /// All kinds of changes.
    pub(super) const ALL: [Self; 5] =
        [Self::Marker, Self::Status, Self::Moved, Self::FieldRenamed, Self::SoftMiss];
}

/// A change of one site. The seed decides what exactly changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Drift {
    /// The kind of the change.
    pub(super) kind: DriftKind,
    /// The seed of all choices.
    pub(super) seed: u64,
}

/// The account of which an answer tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Aim {
    Hit,
    Miss,
}

/// A simulated web whose sites have changed.
pub(super) struct Drifting {
    pub(super) web: Arc<dyn Prober>,
    pub(super) sites: BTreeMap<Arc<str>, (Arc<Module>, Drift)>,
    pub(super) requests: AtomicU64,
}

impl Prober for Drifting {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        let Some((module, drift)) = self.sites.get(&request.trace.module) else {
            return self.web.send(request, jar, deadline);
        };
        let shown = match drift.moved(&request.url) {
            Some((status, to)) if request.max_redirects == 0 => {
                let headers = vec![("location".to_owned(), to.to_string())];
                let final_url = request.url.clone();
                return Ok(Response { status, final_url, headers, body: Vec::new(), truncated: false });
            }
            moved => moved.map_or_else(|| request.url.clone(), |(_, to)| to),
        };
        let url = drift.original(&shown);
        let mut answer = self.web.send(&Request { url: url.clone(), ..request.clone() }, jar, deadline)?;
        if answer.final_url == url {
            answer.final_url = shown;
        }
        let is_missing = request.trace.control || request.trace.query.starts_with("nobody");
        let aim = if is_missing { Aim::Miss } else { Aim::Hit };
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Ok(drift.changed(answer, module.entry(), aim, &request.trace.query, number))
    }
}

/// The paths under which moved endpoints are.
const PREFIXES: [&str; 4] = ["/v2", "/web", "/public", "/app"];
/// Words that replace parts of markup.
const WORDS: [&str; 4] = ["memberview", "ownerbox", "peoplecard", "accountshell"];
/// Sentences that replace those of pages for missing accounts.
const SENTENCES: [&str; 4] = [
    "This account does not exist",
    "We could not find that page",
    "Sorry, no such user here",
    "Profile not found",
];
/// The least length of a text that is replaced.
const LEAST_CHARS: usize = 4;

impl Drift {
    /// Returns the original address of a page that has moved.
    fn original(self, url: &Url) -> Url {
        let mut original = url.clone();
        if self.kind == DriftKind::Moved
            && let Some(rest) = url.path().strip_prefix(self.pick(&PREFIXES))
            && rest.starts_with('/')
        {
            original.set_path(rest);
        }
        original
    }

    /// Returns the status of the redirect and its destination, if the page of an address has moved.
    fn moved(self, url: &Url) -> Option<(u16, Url)> {
        let prefix = self.pick(&PREFIXES);
        let is_new = url.path().strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
        if self.kind != DriftKind::Moved || is_new {
            return None;
        }
        let mut to = url.clone();
        to.set_path(&format!("{prefix}{}", url.path()));
        Some((self.pick(&[301, 302, 308]), to))
    }

    /// Returns the answer of the site after its change. `name` is the queried name, and `request` the number of the
    /// request, which the answers contain so that no two are equal.
    fn changed(self, answer: Response, entry: &Entry, aim: Aim, name: &str, request: u64) -> Response {
        let changed = match self.kind {
            DriftKind::Marker => self.with_another_marker(answer, entry),
            DriftKind::Status => self.with_another_status(answer, aim),
            DriftKind::Moved => answer,
            DriftKind::FieldRenamed => self.with_a_renamed_field(answer, entry),
            DriftKind::SoftMiss if aim == Aim::Miss => self.soft_miss(answer, entry, name),
            DriftKind::SoftMiss => answer,
        };
        with_extras(changed, aim, name, request)
    }

    fn pick<T: Copy>(self, list: &[T]) -> T {
        list[(self.seed % list.len() as u64) as usize]
    }

    fn with_another_status(self, mut answer: Response, aim: Aim) -> Response {
        let changes = if self.seed.is_multiple_of(2) { Aim::Miss } else { Aim::Hit };
        if aim == changes {
            answer.status = match (aim, answer.status) {
                (Aim::Miss, 404) => 410,
                (Aim::Miss, _) => 404,
                (Aim::Hit, 200) => 203,
                (Aim::Hit, status) => status,
            };
        }
        answer
    }

    fn with_another_marker(self, mut answer: Response, entry: &Entry) -> Response {
        let of = |aim, rules: &[Matcher]| {
            let markers = rules.iter().flat_map(markers);
            markers.map(|marker| (aim, marker)).collect::<Vec<_>>()
        };
        let all = [of(Aim::Hit, &entry.hit), of(Aim::Miss, &entry.miss)].concat();
        let Some((aim, marker)) = all.get((self.seed % all.len().max(1) as u64) as usize) else {
            return answer;
        };
        let Some((old, new)) = self.replacement(*aim, marker) else { return answer };
        let Ok(body) = String::from_utf8(answer.body.clone()) else { return answer };
        answer.body = body.replace(&old, &new).into_bytes();
        answer
    }

    /// Returns the part of a marker that changes, and what it becomes.
    fn replacement(self, aim: Aim, marker: &str) -> Option<(String, String)> {
        let literals = marker.split(['{', '}']).step_by(2);
        let literal = literals.max_by_key(|literal| literal.len())?.trim();
        if literal.contains(' ') && !literal.contains(['<', '=', '"']) {
            let new = if aim == Aim::Miss { self.pick(&SENTENCES) } else { "Member page" };
            return Some((literal.to_owned(), new.to_owned()));
        }
        let runs = literal.split(|c: char| !c.is_ascii_alphabetic());
        let run = runs.max_by_key(|run| run.len()).filter(|run| run.len() >= LEAST_CHARS)?;
        Some((run.to_owned(), self.pick(&WORDS).to_owned()))
    }

    fn with_a_renamed_field(self, mut answer: Response, entry: &Entry) -> Response {
        let segments = |rules: &[Matcher]| {
            let pointers = rules.iter().flat_map(|rule| &rule.json).map(|rule| rule.at.clone());
            let names = pointers.flat_map(|at| at.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>());
            let is_name =
                |name: &String| name != "*" && name.parse::<usize>().is_err() && !name.contains('~');
            names.filter(is_name).collect::<Vec<_>>()
        };
        let (hit, miss) = (segments(&entry.hit), segments(&entry.miss));
        let all =
            if hit.is_empty() || (self.seed.is_multiple_of(2) && !miss.is_empty()) { miss } else { hit };
        let Some(old) = all.get((self.seed / 2 % all.len().max(1) as u64) as usize) else { return answer };
        let new = match self.seed % 3 {
            0 => format!("new_{old}"),
            1 => format!("{old}_v2"),
            _ => format!("current{old}"),
        };
        if let Ok(mut document) = serde_json::from_slice::<Value>(&answer.body) {
            rename(&mut document, old, &new);
            answer.body = document.to_string().into_bytes();
        }
        answer
    }

    fn soft_miss(self, answer: Response, entry: &Entry, name: &str) -> Response {
        if entry.hit.iter().any(|rule| !rule.json.is_empty()) {
            let body = self.pick(&[0, 1, 2, 3]);
            let body = match body {
                0 => json!({"found": false, "error": {"code": "not_found", "message": "No such account"}}),
                1 => json!({"status": "error", "message": format!("User {name} not found")}),
                2 => json!({"data": null}),
                _ => json!({"items": [], "total": 0}),
            };
            return said(answer, "application/json", &body.to_string());
        }
        let (title, text) = match self.seed % 3 {
            0 => ("Page not found – Example".to_owned(), "The page that you want does not exist.".to_owned()),
            1 => ("Example".to_owned(), format!("The user {name} could not be found: no such user.")),
            _ => ("404".to_owned(), "Nothing to see here".to_owned()),
        };
        let class = if self.seed % 3 == 2 { "error-404" } else { "notice" };
        let body = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>{title}</title>\n</head>\n<body>\n\
             <nav class=\"top\"><a href=\"/\">Home</a> <a href=\"/about\">About</a></nav>\n\
             <main class=\"{class}\"><h1>{text}</h1></main>\n<footer>Example</footer>\n</body>\n</html>\n"
        );
        said(answer, "text/html; charset=utf-8", &body)
    }
}

/// Returns an answer with status 200 and another body.
fn said(answer: Response, content_type: &str, body: &str) -> Response {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Response { status: 200, headers, body: body.as_bytes().to_vec(), ..answer }
}

/// Returns the literal texts that a rule looks for.
fn markers(rule: &Matcher) -> Vec<String> {
    let texts = [&rule.words, &rule.any_word, &rule.text].into_iter().flatten().map(|it| it.to_string());
    let bodies = rule.body_is.iter().map(|it| it.to_string());
    let values = rule.json.iter().flat_map(|rule| rule.equals.iter().chain(rule.any_of.iter().flatten()));
    let values = values.filter_map(|value| value.as_str().map(str::to_owned));
    let selectors = rule.css.iter().map(|rule| &rule.select);
    // Only the names in a selector are on the page.
    let names = selectors.filter_map(|select| {
        let names = select.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        names.max_by_key(|name| name.len()).map(str::to_owned)
    });
    let all = texts.chain(bodies).chain(values).chain(names);
    all.filter(|text| text.len() >= LEAST_CHARS).collect()
}

fn rename(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::Object(members) => {
            let renamed = std::mem::take(members).into_iter().map(|(name, mut member)| {
                rename(&mut member, old, new);
                (if name == old { new.to_owned() } else { name }, member)
            });
            *members = renamed.collect();
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| rename(element, old, new)),
        _ => {}
    }
}

/// The sections that only some profiles have.
const EXTRAS: [&str; 4] = ["pinned-post", "gold-badge", "open-to-work", "reading-list"];

/// Adds to a page or a JSON object what real ones have beside an account's data: the number of the request, and
/// sections that only some profiles have.
fn with_extras(mut answer: Response, aim: Aim, name: &str, request: u64) -> Response {
    let extras = EXTRAS.iter().filter(|extra| aim == Aim::Hit && hash(&[**extra, name]).is_multiple_of(2));
    if answer.body.starts_with(b"<!DOCTYPE html>") {
        let sections =
            extras.map(|extra| format!("<section class=\"{extra}\"><p>A {extra} of theirs</p></section>\n"));
        let more = format!("{}<!-- request {request} -->\n", sections.collect::<String>());
        answer.body.extend_from_slice(more.as_bytes());
    } else if let Ok(Value::Object(mut members)) = serde_json::from_slice(&answer.body)
        && !members.is_empty()
    {
        members.extend(extras.map(|extra| (extra.replace('-', "_"), json!({"text": "theirs"}))));
        members.insert("request_number".to_owned(), json!(request));
        answer.body = Value::Object(members).to_string().into_bytes();
    }
    answer
}
