//! Recorded answers of real sites in `tests/recorded/`, replayed through the real prober: HTTP over TLS, WHOIS in plain
//! text.
//!
//! To add one, put its file there and let this test write the expected result, then read the difference:
//! `SIGHTLINE_TEST_UPDATE=1 cargo test --test main recorded`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sightline::modules::catalog::Catalog;
use sightline::modules::checker::Checker;
use sightline::modules::definition::{VerifiedBy, Via};
use sightline::modules::outcome::Outcome;
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use sightline::modules::query::Query;
use sightline::modules::recording::{Exchange, Expected, Recording, replay_keys, without_control};
use sightline::net::HttpProber;

use crate::net::tls::{tls_talking, trusting};
use crate::support::modules::builtin;
use crate::support::site::{Site, read_request};

/// The most bytes of a recording's file: readers of the project download all of them.
const MOST_BYTES: u64 = 96 * 1024;

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
            let _ = stream.write_all(&exchange.body_bytes().unwrap());
        }
    })
}

fn redirect(path: &str) -> Vec<u8> {
    let number = path.trim_start_matches('/').split('/').next().unwrap();
    let head = format!("HTTP/1.1 302 Found\r\nLocation: /{number}/final\r\nContent-Length: 0\r\n\r\n");
    head.into_bytes()
}

fn answer(exchange: &Exchange) -> Vec<u8> {
    let body = exchange.body_bytes().unwrap();
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
            let recording = Recording::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            (path, recording)
        })
        .collect();
    recordings.sort_by(|(one, _), (other, _)| one.cmp(other));
    recordings
}

/// Returns the result of the check with the recorded answers.
pub(crate) fn replayed(catalog: &Catalog, recording: &Recording) -> Expected {
    let module = catalog.get(&recording.module).unwrap_or_else(|| panic!("no module {}", recording.module));
    let module = without_control(module).unwrap();
    let query = Query::parse(module.search_type(), &recording.query).unwrap();
    let prober = Arc::new(Replay::new(Arc::new(recording.clone())));
    let checker = Checker::new(prober, replay_keys(&module), "sightline-test", Duration::ZERO);
    Expected::of(&checker.check(&module, &query, Instant::now() + Duration::from_secs(60)))
}

#[test]
fn the_modules_understand_the_recorded_answers() {
    let catalog = builtin();
    let update = std::env::var_os("SIGHTLINE_TEST_UPDATE").is_some();
    let mut wrong = Vec::new();
    for (path, recording) in recordings() {
        let got = Recording { expected: replayed(catalog, &recording), ..recording.clone() };
        let text = got.to_text().unwrap();
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

#[test]
fn recordings_are_small_and_have_a_source_and_an_outcome() {
    for (path, recording) in recordings() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        // Several recordings with one outcome are told apart by a word after it.
        assert!(name == recording.name() || name.starts_with(&(recording.name() + ".")), "{name}");
        assert!(std::fs::metadata(&path).unwrap().len() <= MOST_BYTES, "{name}");
        assert!(!recording.source.is_empty() && !recording.exchanges.is_empty(), "{name}");
        let is_date = recording.date.split('-').all(|part| part.parse::<u16>().is_ok());
        assert!(is_date && matches!(recording.date.len(), 4 | 7 | 10), "{name}: {}", recording.date);
        assert!(
            recording.exchanges.iter().all(|exchange| !exchange.headers.contains_key("set-cookie")),
            "{name}"
        );
    }
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
