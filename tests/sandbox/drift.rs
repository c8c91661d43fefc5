//! Changes of sites after their entries were written, so that the rules no longer fit: the simulated web plays another
//! entry than the one that is checked.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Value, json};
use sightline::modules::definition::{Entry, Matcher};
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};

use super::drifts::hash;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub(super) const ALL: [Self; 5] =
        [Self::Marker, Self::Status, Self::Moved, Self::FieldRenamed, Self::SoftMiss];

    /// Returns the entry of the site after its change, whose details depend on the seed.
    pub(super) fn changed(self, entry: &Entry, seed: u64) -> Entry {
        let (pick, is_even) =
            (|list: &[&'static str]| list[seed as usize % list.len()], seed.is_multiple_of(2));
        let mut changed = json!(entry);
        match self {
            Self::Marker => {
                let markers: Vec<String> = entry.hit.iter().chain(&entry.miss).flat_map(markers).collect();
                let marker = markers.get(seed as usize % markers.len().max(1));
                let literals = marker.into_iter().flat_map(|marker| marker.split(['{', '}']).step_by(2));
                let literal = literals.max_by_key(|literal| literal.len()).unwrap_or_default().trim();
                let runs = literal.split(|c: char| !c.is_ascii_alphabetic());
                let (old, new) = match literal.contains(' ') && !literal.contains(['<', '=', '"']) {
                    true => (literal, pick(&SENTENCES)),
                    false => (runs.max_by_key(|run| run.len()).unwrap_or_default(), pick(&WORDS)),
                };
                let replaced = |text: &str| text.replace(old, new);
                if old.len() >= LEAST_CHARS {
                    ["hit", "miss"].iter().for_each(|list| each_text(&mut changed[*list], &replaced));
                }
            }
            Self::Status => {
                let rules =
                    changed[if is_even { "miss" } else { "hit" }].as_array_mut().into_iter().flatten();
                for rule in rules {
                    let is_404 = rule["status"].as_array().is_some_and(|list| list.contains(&json!(404)));
                    rule["status"] = json!([if !is_even {
                        203
                    } else if is_404 {
                        410
                    } else {
                        404
                    }]);
                }
            }
            Self::Moved => {}
            Self::FieldRenamed => {
                let rules = entry.hit.iter().chain(&entry.miss).flat_map(|rule| &rule.json);
                let names = rules.flat_map(|rule| rule.at.split('/').skip(1));
                let names: Vec<&str> =
                    names.filter(|name| *name != "*" && name.parse::<usize>().is_err()).collect();
                let old = names[seed as usize / 2 % names.len()];
                let new = pick(&["new_{}", "{}_v2", "current{}"]).replace("{}", old);
                let renamed = |text: &str| {
                    let parts = text.split('/').map(|part| if part == old { &new } else { part });
                    parts.collect::<Vec<_>>().join("/")
                };
                for list in ["hit", "miss", "result", "results"] {
                    each_text(&mut changed[list], &renamed);
                }
            }
            Self::SoftMiss => {
                let is_api = entry.hit.iter().any(|rule| !rule.json.is_empty());
                changed["miss"] = match is_api {
                    true if is_even => {
                        json!([{"status": [200], "json": [{"at": "/error/code", "equals": "not_found"}]}])
                    }
                    true => {
                        json!([{"status": [200], "json": [{"at": "/message", "equals": "No such account"}]}])
                    }
                    false => json!([{"status": [200], "title_is": pick(&SENTENCES)}]),
                };
            }
        }
        changed.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        serde_json::from_value(changed).unwrap()
    }
}

/// Replaces all texts in a value, but no names of members.
fn each_text(value: &mut Value, replaced: &impl Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = replaced(text),
        Value::Array(elements) => elements.iter_mut().for_each(|element| each_text(element, replaced)),
        Value::Object(members) => members.values_mut().for_each(|member| each_text(member, replaced)),
        _ => {}
    }
}

/// The simulated web, in which some endpoints have moved, and whose answers have more than the rules need.
pub(super) struct Drifting {
    pub(super) web: Arc<dyn Prober>,
    /// The prefix of the paths of the modules' endpoints that have moved.
    pub(super) moved: BTreeMap<Arc<str>, &'static str>,
    pub(super) requests: AtomicU64,
}

impl Prober for Drifting {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        let prefix = self.moved.get(&request.trace.module).copied().unwrap_or_default();
        let at = |path: String| {
            let mut url = request.url.clone();
            url.set_path(&path);
            url
        };
        let path = request.url.path();
        let old = path.strip_prefix(prefix).filter(|rest| rest.starts_with('/')).unwrap_or(path);
        let (url, shown) = (at(old.to_owned()), at(format!("{prefix}{old}")));
        if shown != request.url && request.max_redirects == 0 {
            let headers = vec![("location".to_owned(), shown.to_string())];
            let final_url = request.url.clone();
            return Ok(Response { status: 301, final_url, headers, body: Vec::new(), truncated: false });
        }
        let mut answer = self.web.send(&Request { url: url.clone(), ..request.clone() }, jar, deadline)?;
        if answer.final_url == url {
            answer.final_url = shown;
        }
        let is_missing = request.trace.control || request.trace.query.starts_with("nobody");
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        Ok(with_extras(answer, is_missing, &request.trace.query, number))
    }
}

/// The paths under which moved endpoints are.
pub(super) const PREFIXES: [&str; 4] = ["/v2", "/web", "/public", "/app"];
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

/// Returns the literal texts that a rule looks for.
fn markers(rule: &Matcher) -> Vec<String> {
    let texts = [&rule.words, &rule.any_word, &rule.text].into_iter().flatten().map(|it| it.to_string());
    let titles = [&rule.title, &rule.title_is, &rule.body_is].into_iter().flatten().map(|it| it.to_string());
    let values = rule.json.iter().flat_map(|rule| rule.equals.iter().chain(&rule.any_of));
    let values = values.filter_map(|value| value.as_str().map(str::to_owned));
    let selectors = rule.css.iter().map(|rule| &rule.select);
    // Only the names in a selector are on the page.
    let names = selectors.filter_map(|select| {
        let names = select.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'));
        names.max_by_key(|name| name.len()).map(str::to_owned)
    });
    let all = texts.chain(titles).chain(values).chain(names);
    all.filter(|text| text.len() >= LEAST_CHARS).collect()
}

/// The sections that only some profiles have.
const EXTRAS: [&str; 4] = ["pinned-post", "gold-badge", "open-to-work", "reading-list"];

/// Adds to a page or a JSON object what real ones have beside an account's data: the number of the request, and
/// sections that only some profiles have.
fn with_extras(mut answer: Response, is_missing: bool, name: &str, request: u64) -> Response {
    let extras = EXTRAS.iter().filter(|extra| !is_missing && hash(&[**extra, name]).is_multiple_of(2));
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
