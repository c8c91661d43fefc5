//! Recorded answers of real sites in `tests/recorded/`, replayed through the real prober: HTTP over TLS, WHOIS in plain
//! text.
//!
//! To add one, put its file there, without cookies, keys, tokens and data about others, and let this test write the expected result, then read the difference:
//! `SIGHTLINE_TEST_UPDATE=1 cargo test --test main recorded`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sightline::modules::catalog::Catalog;
use sightline::modules::checker::Checker;
use sightline::modules::definition::{Entry, Method, ResultType, VerifiedBy, Via};
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::{Outcome, Report};
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use sightline::modules::query::Query;
use sightline::modules::reason::Reason;
use sightline::net::HttpProber;

use crate::net::tls::{tls_talking, trusting};
use crate::support::modules::builtin;
use crate::support::site::{Site, read_request};

/// The value of every key while a recording is replayed. It also stands in place of the real ones in a recording.
const KEY: &str = "KEY";

/// The answers to one check, and the result that the check must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    module: String,
    query: String,
    /// The day on which the answers were recorded, such as `2026-08-22`, or the month or the year.
    date: String,
    /// The origin of the answers.
    source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    licence: Option<String>,
    /// The kinds of data that were removed from the answers or replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    scrubbed: Vec<String>,
    exchanges: Vec<Exchange>,
    expected: Expected,
}

/// A request and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    #[serde(default, skip_serializing_if = "is_get")]
    method: Method,
    /// The address that the module asks.
    url: String,
    /// The address that was asked when the answer was recorded, if it was another one with the same answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded_url: Option<String>,
    /// The body of the request. Without it, the answer is for any body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_body: Option<String>,
    status: u16,
    /// The address after redirects, if they led to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    final_url: Option<String>,
    /// The headers of the answer that a rule can read. Their names are in lower case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    body: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_base64: bool,
}

/// The result that a check must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    findings: Vec<ExpectedFinding>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExpectedFinding {
    #[serde(rename = "type")]
    result_type: ResultType,
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_get(method: &Method) -> bool {
    *method == Method::Get
}

impl Recording {
    /// Returns the text of the file: a line for each member, exchange and finding.
    fn to_text(&self) -> String {
        fn lines(value: &Value, indent: &str) -> String {
            let inner = format!("{indent}  ");
            let (open, close, parts): (_, _, Vec<String>) = match value {
                Value::Array(list) if indent.len() < 6 && list.iter().any(Value::is_object) => {
                    ('[', ']', list.iter().map(Value::to_string).collect())
                }
                Value::Object(members) => {
                    let member = |(name, value)| format!("\"{name}\": {}", lines(value, &inner));
                    ('{', '}', members.iter().map(member).collect())
                }
                other => return other.to_string(),
            };
            format!("{open}\n{inner}{}\n{indent}{close}", parts.join(&format!(",\n{inner}")))
        }
        lines(&serde_json::to_value(self).unwrap(), "") + "\n"
    }

    /// Returns the index of the exchange with that request, if it was recorded.
    fn find(&self, request: &Request) -> Option<usize> {
        let body = request.body.as_ref().map(|(_, body)| String::from_utf8_lossy(body));
        self.exchanges.iter().position(|exchange| {
            exchange.method == request.method
                && exchange.url == request.url.as_str()
                && exchange.request_body.as_deref().is_none_or(|wanted| body.as_deref() == Some(wanted))
        })
    }
}

impl Exchange {
    fn body_bytes(&self) -> Vec<u8> {
        match self.is_base64 {
            true => STANDARD.decode(&self.body).unwrap(),
            false => self.body.clone().into_bytes(),
        }
    }
}

impl From<&Report> for Expected {
    fn from(report: &Report) -> Self {
        let findings = report.findings.iter().map(|finding| ExpectedFinding {
            result_type: finding.result_type,
            value: finding.value.clone(),
            metadata: finding.metadata.clone(),
        });
        Self { outcome: report.outcome, reason: report.reason, findings: findings.collect() }
    }
}

/// A prober that sends each recorded request to the test's own site over TLS, or to its own WHOIS server.
struct Replay {
    recording: Arc<Recording>,
    site: Site,
    whois: Site,
    prober: HttpProber,
}

impl Replay {
    fn new(recording: Arc<Recording>) -> Self {
        let served = Arc::clone(&recording);
        let site = tls_talking("site.pem", move |tls| {
            while let Some(request) = read_request(tls) {
                // The path begins with the number of the exchange.
                let mut path = request.path().trim_start_matches('/').split('/');
                let exchange = &served.exchanges[path.next().unwrap().parse::<usize>().unwrap()];
                let is_redirected = path.next() != Some("final") && exchange.final_url.is_some();
                let answer = if is_redirected { redirect(request.path()) } else { answer(exchange) };
                if tls.write_all(&answer).and_then(|()| tls.flush()).is_err() {
                    return;
                }
            }
        });
        let whois = whois_server(Arc::clone(&recording));
        Self { recording, site, whois, prober: trusting() }
    }
}

/// Starts a WHOIS server that answers the number of an exchange with its body.
fn whois_server(recording: Arc<Recording>) -> Site {
    Site::talking(move |stream| {
        let mut line = String::new();
        if BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).is_ok() && !line.is_empty() {
            let exchange = &recording.exchanges[line.trim_end().parse::<usize>().unwrap()];
            let _ = stream.write_all(&exchange.body_bytes());
        }
    })
}

fn redirect(path: &str) -> Vec<u8> {
    let number = path.trim_start_matches('/').split('/').next().unwrap();
    let head = format!("HTTP/1.1 302 Found\r\nLocation: /{number}/final\r\nContent-Length: 0\r\n\r\n");
    head.into_bytes()
}

fn answer(exchange: &Exchange) -> Vec<u8> {
    let body = exchange.body_bytes();
    let mut answer = format!("HTTP/1.1 {} Recorded\r\n", exchange.status);
    for (name, value) in &exchange.headers {
        answer += &format!("{name}: {value}\r\n");
    }
    if !matches!(exchange.status, 204 | 304) {
        answer += &format!("Content-Length: {}\r\n", body.len());
    }
    let mut bytes = (answer + "\r\n").into_bytes();
    bytes.extend(body);
    bytes
}

impl Prober for Replay {
    fn send(
        &self,
        request: &Request,
        jar: &mut CookieJar,
        deadline: Instant,
    ) -> Result<Response, ProbeError> {
        let Some(number) = self.recording.find(request) else {
            return Err(ProbeError::Protocol(format!("{} was not recorded", request.url)));
        };
        let exchange = &self.recording.exchanges[number];
        let url = match request.via {
            Via::Whois => format!("http://localhost:{}/{number}", self.whois.addr.port()),
            Via::Http | Via::Browser => {
                format!("https://localhost:{}/{number}{}", self.site.addr.port(), request.url.path())
            }
        };
        // A recorded redirect is an answer itself, unless the recording has the answer that it led to.
        let max_redirects = exchange.final_url.iter().count().try_into().unwrap();
        let sent = Request { url: url.parse().unwrap(), max_redirects, ..request.clone() };
        let mut response = self.prober.send(&sent, jar, deadline)?;
        let final_url = exchange.final_url.as_ref().unwrap_or(&exchange.url);
        response.final_url = final_url.parse().unwrap();
        Ok(response)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

/// Returns all recordings with their paths.
fn recordings() -> Vec<(PathBuf, Recording)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let mut recordings: Vec<_> = files
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let recording = serde_json::from_str::<Recording>(&text)
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (path, recording)
        })
        .collect();
    recordings.sort_by(|(one, _), (other, _)| one.cmp(other));
    recordings
}

/// Returns the result of the check with the recorded answers.
fn replayed(catalog: &Catalog, recording: &Recording) -> Expected {
    let module = catalog.get(&recording.module).unwrap_or_else(|| panic!("no module {}", recording.module));
    // A recording has no answers to a control check.
    let entry =
        Entry { enabled: true, off: None, control: Some(false), known: Vec::new(), ..module.entry().clone() };
    let module = Module::compile(entry).unwrap();
    let needs = module.entry().needs.iter();
    let keys = needs.map(|need| (need.trim_start_matches("config.").to_owned(), KEY.to_owned()));
    let query = Query::parse(module.search_type(), &recording.query).unwrap();
    let prober = Arc::new(Replay::new(Arc::new(recording.clone())));
    let checker = Checker::new(prober, OperatorKeys::new(keys), "sightline-test", Duration::ZERO);
    Expected::from(&*checker.check(&module, &query, Instant::now() + Duration::from_secs(60)))
}

#[test]
fn the_modules_understand_the_recorded_answers() {
    let catalog = builtin();
    let update = std::env::var_os("SIGHTLINE_TEST_UPDATE").is_some();
    let mut wrong = Vec::new();
    for (path, recording) in recordings() {
        let got = Recording { expected: replayed(catalog, &recording), ..recording.clone() };
        let text = got.to_text();
        if text == std::fs::read_to_string(&path).unwrap() {
            continue;
        }
        if update {
            std::fs::write(&path, text).unwrap();
        } else {
            let of = |recording: &Recording| serde_json::to_string_pretty(&recording.expected).unwrap();
            wrong.push(format!("{}\nexpected {}\ngot {}", path.display(), of(&recording), of(&got)));
        }
    }
    let hint = "to rewrite the expected results: SIGHTLINE_TEST_UPDATE=1 cargo test --test main recorded";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n\n"));
}

/// An entry whose evidence is `recorded` has a recording of that date, so that the manual's table is true.
#[test]
fn recorded_evidence_is_a_recording_of_that_date() {
    let mut dates: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (_, recording) in recordings() {
        if matches!(recording.expected.outcome, Outcome::Hit | Outcome::Miss) {
            dates.entry(recording.module).or_default().insert(recording.date);
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
