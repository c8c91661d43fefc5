//! The domain sources: what they make of answers as the real services write them, and what they promise
//! about themselves. The simulated web makes its answers from a module's own rules, so it cannot see a
//! wrong pointer: these answers are written by hand, from the services' documentation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sightline::modules::checker::Checker;
use sightline::modules::definition::Entry;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::{Outcome, Report};
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use sightline::modules::query::Query;

use super::*;

mod certificates;
mod dns;
mod identity;
mod promises;
mod registration;
mod search;
mod sources;
mod tenants;
mod web;

/// An answer to the first request whose address contains this text.
struct Answer {
    to: &'static str,
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

fn page(to: &'static str, status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Answer { to, status, headers, body: body.into() }
}

fn doc(to: &'static str, body: &Value) -> Answer {
    page(to, 200, "application/json", body.to_string())
}

fn text(to: &'static str, body: &str) -> Answer {
    page(to, 200, "text/plain; charset=utf-8", body)
}

fn not_found(to: &'static str) -> Answer {
    page(to, 404, "text/html", "<html><title>Not found</title></html>")
}

/// Returns a resolver's answer with these records: (name, type, data).
fn records(to: &'static str, status: u8, list: &[(&str, u16, &str)]) -> Answer {
    let answers: Vec<Value> = list
        .iter()
        .map(|(name, kind, data)| json!({"name": name, "type": kind, "TTL": 300, "data": data}))
        .collect();
    let mut body = json!({"Status": status, "TC": false, "RD": true, "RA": true, "AD": true, "CD": false,
        "Question": [{"name": "example.com.", "type": list.first().map_or(1, |(_, kind, _)| *kind)}]});
    if !answers.is_empty() {
        body["Answer"] = Value::Array(answers);
    }
    page(to, 200, "application/dns-json", body.to_string())
}

/// Answers from a list; connections to anything else are refused.
struct Listed {
    answers: Vec<Answer>,
    asked: Mutex<Vec<String>>,
}

impl Prober for Listed {
    fn send(&self, request: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let url = request.url.as_str();
        self.asked.lock().push(url.to_owned());
        let answer = self.answers.iter().find(|it| url.contains(it.to));
        let answer = answer.ok_or_else(|| ProbeError::Connect("refused".into()))?;
        Ok(Response {
            status: answer.status,
            final_url: request.url.clone(),
            headers: answer.headers.clone(),
            body: answer.body.clone(),
            truncated: false,
        })
    }
}

/// A check of one built-in module, and the addresses that it asked.
struct Played {
    report: Report,
    asked: Vec<String>,
}

fn play(id: &str, domain: &str, answers: Vec<Answer>) -> Played {
    let catalog = builtin();
    let module = catalog.get(id).unwrap_or_else(|| panic!("there is no {id}"));
    // The answers are about one domain, so misses are not confirmed with a known one.
    let module = Module::compile(Entry { known: Vec::new(), ..module.entry().clone() }).unwrap();
    let prober = Arc::new(Listed { answers, asked: Mutex::default() });
    let keys =
        module.entry().needs.iter().map(|need| (need.trim_start_matches("config.").into(), "k".into()));
    let checker = Checker::new(prober.clone(), OperatorKeys::new(keys), "tests", Duration::ZERO);
    let query = Query::parse(SearchType::Domain, domain).unwrap();
    let report = checker.check(&module, &query, Instant::now() + Duration::from_secs(60));
    Played { report: *report, asked: prober.asked.lock().clone() }
}

impl Played {
    #[track_caller]
    fn outcome(&self, wanted: Outcome) -> &Self {
        let Report { outcome, reason, evidence, .. } = &self.report;
        assert_eq!(*outcome, wanted, "{reason:?} {:?} {:?}", evidence.matcher, self.asked);
        self
    }

    /// Returns the values of this type, in order.
    fn values(&self, result_type: &str) -> Vec<&str> {
        let of_type = self.report.findings.iter().filter(|it| it.result_type.as_str() == result_type);
        of_type.filter_map(|it| it.value.as_deref()).collect()
    }

    /// Tests for a hit with exactly these values of the type.
    #[track_caller]
    fn has(&self, result_type: &str, wanted: &[&str]) -> &Self {
        self.outcome(Outcome::Hit);
        assert_eq!(self.values(result_type), wanted, "{result_type}");
        self
    }

    /// Returns this metadata member of each result of the type, in order.
    fn members(&self, result_type: &str, name: &str) -> Vec<&str> {
        let of_type = self.report.findings.iter().filter(|it| it.result_type.as_str() == result_type);
        of_type.map(|it| it.metadata.get(name).and_then(Value::as_str).unwrap_or_default()).collect()
    }

    /// Tests that the metadata of this value contains these members.
    #[track_caller]
    fn tells(&self, value: &str, wanted: &Value) -> &Self {
        let found = self.report.findings.iter().find(|it| it.value.as_deref() == Some(value));
        let metadata = &found.unwrap_or_else(|| panic!("no {value}: {:?}", self.report.findings)).metadata;
        for (name, wanted) in wanted.as_object().unwrap() {
            assert_eq!(metadata.get(name), Some(wanted), "{name} of {value}: {metadata:?}");
        }
        self
    }
}
