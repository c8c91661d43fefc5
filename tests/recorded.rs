//! Recorded answers of real sites in `tests/recorded/`, replayed through the real prober: HTTP over TLS, WHOIS in plain
//! text.
//!
//! To add one, put its file there, without cookies, keys, tokens and data about others, and let this test write the
//! expected result, then read the difference: `SIGHTLINE_TEST_UPDATE=1 cargo test --test main recorded`.
//!
//! A recording has a `module`, a `query`, the `date` of its answers (a day, or the month or year), their `source` and
//! `licence`, the kinds of data that were `scrubbed` from them, the `exchanges` and the `expected` result. An exchange has a
//! `method` (GET if there is none), the `url` that the module asks, the `recorded_url` if another address has the same
//! answer, a `request_body` (the answer is for any without it), and of the answer the `status`, the `final_url` after
//! redirects, the `headers` that a rule can read, in lower case, and the `body`, which may be `is_base64`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sightline::modules::checker::Checker;
use sightline::modules::definition::{Entry, VerifiedBy, Via};
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::Report;
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use sightline::modules::query::Query;
use sightline::modules::reason::Reason;
use sightline::net::HttpProber;

use crate::net::tls::{tls_talking, trusting};
use crate::support::modules::builtin;
use crate::support::site::{Site, read_request, to};

/// The value of every key while a recording is replayed. It also stands in place of the real ones in a recording.
const KEY: &str = "KEY";
const MEMBERS: [&str; 8] =
    ["module", "query", "date", "source", "licence", "scrubbed", "exchanges", "expected"];
const OF_EXCHANGES: [&str; 9] =
    ["method", "url", "recorded_url", "request_body", "status", "final_url", "headers", "body", "is_base64"];

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name}: {value}"))
}

/// Returns the text of a file: a line for each member, exchange and finding.
fn written(value: &Value, indent: &str) -> String {
    let inner = format!("{indent}  ");
    let (open, close, parts): (_, _, Vec<String>) = match value {
        Value::Array(list) if indent.len() < 6 && list.iter().any(Value::is_object) => {
            ('[', ']', list.iter().map(Value::to_string).collect())
        }
        Value::Object(members) => {
            let member = |(name, value)| format!("\"{name}\": {}", written(value, &inner));
            ('{', '}', members.iter().map(member).collect())
        }
        other => return other.to_string(),
    };
    format!("{open}\n{inner}{}\n{indent}{close}", parts.join(&format!(",\n{inner}")))
}

fn expected(report: &Report) -> Value {
    let mut expected = json!({"outcome": report.outcome});
    if let Some(reason) = report.reason {
        expected["reason"] = json!(reason);
    }
    for finding in &report.findings {
        let mut shown = json!({"type": finding.result_type, "value": finding.value});
        if !finding.metadata.is_empty() {
            shown["metadata"] = json!(finding.metadata);
        }
        match &mut expected["findings"] {
            Value::Array(findings) => findings.push(shown),
            none => *none = json!([shown]),
        }
    }
    expected
}

fn body(exchange: &Value) -> Vec<u8> {
    match exchange["is_base64"] == true {
        true => STANDARD.decode(text(exchange, "body")).unwrap(),
        false => text(exchange, "body").into(),
    }
}

/// A prober that sends each recorded request to the test's own site over TLS, or to its own WHOIS server.
struct Replay {
    exchanges: Arc<Vec<Value>>,
    site: Site,
    whois: Site,
    prober: HttpProber,
}

impl Replay {
    fn new(exchanges: Vec<Value>) -> Self {
        let exchanges = Arc::new(exchanges);
        let (served, asked) = (Arc::clone(&exchanges), Arc::clone(&exchanges));
        let site = tls_talking("site.pem", move |tls| {
            while let Some(request) = read_request(tls) {
                // The path begins with the number of the exchange.
                let mut path = request.path().trim_start_matches('/').split('/');
                let number = path.next().unwrap();
                let exchange = &served[number.parse::<usize>().unwrap()];
                let answer = match path.next() != Some("final") && !exchange["final_url"].is_null() {
                    true => to(302, &format!("/{number}/final")),
                    false => answer(exchange),
                };
                if tls.write_all(&answer).and_then(|()| tls.flush()).is_err() {
                    return;
                }
            }
        });
        // It answers the number of an exchange with its body.
        let whois = Site::talking(move |stream| {
            let mut line = String::new();
            if BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).is_ok() && !line.is_empty() {
                let _ = stream.write_all(&body(&asked[line.trim_end().parse::<usize>().unwrap()]));
            }
        });
        Self { exchanges, site, whois, prober: trusting() }
    }

    /// Returns the index of the exchange with that request, if it was recorded.
    fn find(&self, request: &Request) -> Option<usize> {
        let sent = request.body.as_ref().map(|(_, body)| String::from_utf8_lossy(body));
        self.exchanges.iter().position(|exchange| {
            exchange["method"].as_str().unwrap_or("GET") == request.method.as_str()
                && exchange["url"] == request.url.as_str()
                && exchange["request_body"].as_str().is_none_or(|wanted| sent.as_deref() == Some(wanted))
        })
    }
}

fn answer(exchange: &Value) -> Vec<u8> {
    let (status, body) = (&exchange["status"], body(exchange));
    let mut head = format!("HTTP/1.1 {status} Recorded\r\n");
    for (name, value) in exchange["headers"].as_object().into_iter().flatten() {
        head += &format!("{name}: {}\r\n", value.as_str().unwrap());
    }
    if ![204, 304].iter().any(|without| status == without) {
        head += &format!("Content-Length: {}\r\n", body.len());
    }
    [head.as_bytes(), b"\r\n", &body].concat()
}

impl Prober for Replay {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        let Some(number) = self.find(request) else {
            return Err(Reason::Protocol.because(format!("{} was not recorded", request.url)));
        };
        let exchange = &self.exchanges[number];
        let url = match request.via {
            Via::Whois => format!("http://localhost:{}/{number}", self.whois.addr.port()),
            Via::Http | Via::Browser => {
                format!("https://localhost:{}/{number}{}", self.site.addr.port(), request.url.path())
            }
        };
        // A recorded redirect is an answer itself, unless the recording has the answer that it led to.
        let final_url = exchange["final_url"].as_str();
        let max_redirects = final_url.iter().count().try_into().unwrap();
        let sent = Request { url: url.parse().unwrap(), max_redirects, ..request.clone() };
        let mut response = self.prober.send(&sent, jar, deadline)?;
        response.final_url = final_url.unwrap_or_else(|| text(exchange, "url")).parse().unwrap();
        Ok(response)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// Returns all recordings with their paths and texts.
fn recordings() -> Vec<(PathBuf, String, Value)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let recording: Value =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let exchanges = recording["exchanges"].as_array().unwrap().iter().map(|it| (it, &OF_EXCHANGES[..]));
        for (object, known) in std::iter::once((&recording, &MEMBERS[..])).chain(exchanges) {
            let unknown = object.as_object().unwrap().keys().find(|name| !known.contains(&name.as_str()));
            assert_eq!(unknown, None, "{}", path.display());
        }
        (path, text, recording)
    };
    let mut recordings: Vec<_> = files.map(read).collect();
    recordings.sort_by(|one, other| one.0.cmp(&other.0));
    recordings
}

/// Returns the result of the check with the recorded answers.
fn replayed(recording: &Value) -> Value {
    let id = text(recording, "module");
    let module = builtin().get(id).unwrap_or_else(|| panic!("no module {id}"));
    // A recording has no answers to a control check.
    let entry =
        Entry { enabled: true, off: None, control: Some(false), known: Vec::new(), ..module.entry().clone() };
    let module = Module::compile(entry).unwrap();
    let needs = module.entry().needs.iter();
    let keys = needs.map(|need| (need.trim_start_matches("config.").to_owned(), KEY.to_owned()));
    let query = Query::parse(module.search_type(), text(recording, "query")).unwrap();
    let prober = Arc::new(Replay::new(recording["exchanges"].as_array().unwrap().clone()));
    let checker = Checker::new(prober, OperatorKeys::new(keys), "sightline-test", Duration::ZERO);
    expected(&checker.check(&module, &query, Instant::now() + Duration::from_secs(60)))
}

#[test]
fn the_modules_understand_the_recorded_answers() {
    let update = std::env::var_os("SIGHTLINE_TEST_UPDATE").is_some();
    let mut wrong = Vec::new();
    for (path, text, recording) in recordings() {
        let mut got = recording.clone();
        got["expected"] = replayed(&recording);
        let new = written(&got, "") + "\n";
        if new != text && update {
            std::fs::write(&path, new).unwrap();
        } else if new != text {
            let (wanted, got) = (&recording["expected"], &got["expected"]);
            wrong.push(format!("{}\nexpected {wanted:#}\ngot {got:#}", path.display()));
        }
    }
    let hint = "to rewrite the expected results: SIGHTLINE_TEST_UPDATE=1 cargo test --test main recorded";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n\n"));
}

/// An entry whose evidence is `recorded` has a recording of that date, so that the manual's table is true.
#[test]
fn recorded_evidence_is_a_recording_of_that_date() {
    let mut dates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (.., recording) in recordings() {
        if ["hit", "miss"].contains(&text(&recording["expected"], "outcome")) {
            let of_module = dates.entry(text(&recording, "module").to_owned()).or_default();
            of_module.insert(text(&recording, "date").to_owned());
        }
    }
    for module in builtin().modules() {
        let Some(verified) = &module.entry().verified else { continue };
        if verified.by == VerifiedBy::Recorded {
            let known = dates.get(&**module.id());
            assert!(known.is_some_and(|known| known.contains(&verified.date)), "{}", module.id());
        }
    }
}
