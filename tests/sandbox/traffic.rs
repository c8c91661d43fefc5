//! The server: concurrency, unknown requests, determinism, documented names and options.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use sightline::modules::module::Module;
use sightline::modules::outcome::Outcome;
use sightline::modules::query::{Query, SearchType};
use sightline::modules::reason::Reason;
use sightline::sandbox::{Sandbox, SandboxOptions, SiteBehavior};

use super::lab::{Lab, module};

fn sites(count: usize) -> Vec<Arc<Module>> {
    let rules = json!({
        "hit": [{"status": [200], "json": [{"at": "/login", "equals_query": true}]}],
        "miss": [{"status": [404]}],
        "result": {"type": "profile", "metadata": {"followers": "json:/followers", "name": "json:/name"}}
    });
    (0..count).map(|number| module(&format!("site{number}"), &rules)).collect()
}

/// Returns the whole answer to a request with these headers.
fn ask(sandbox: &Sandbox, headers: &[(&str, &str)]) -> String {
    let mut stream = TcpStream::connect(sandbox.addr()).unwrap();
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    write!(stream, "GET /alice HTTP/1.1\r\nHost: site.example.org\r\n{lines}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

fn marks<'a>(module: &'a str, query: &'a str) -> [(&'a str, &'a str); 5] {
    [
        ("X-Sightline-Module", module),
        ("X-Sightline-Probe", "0"),
        ("X-Sightline-Query", query),
        ("X-Sightline-Hop", "0"),
        ("X-Sightline-Url", "https://site.example.org/alice"),
    ]
}

#[test]
fn unknown_requests_get_a_404_and_are_counted() {
    let sandbox = Sandbox::start(sites(1), SandboxOptions::perfect()).unwrap();
    let good = marks("site0", "everybody");
    assert!(ask(&sandbox, &good).starts_with("HTTP/1.1 200 "));
    let mut strange: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    for index in 0..good.len() {
        // Each header in turn is missing, then invalid, then repeated.
        strange.push(good.iter().enumerate().filter(|(at, _)| *at != index).map(|(_, mark)| *mark).collect());
        strange.push(
            good.iter()
                .enumerate()
                .map(|(at, mark)| if at == index { (mark.0, "%") } else { *mark })
                .collect(),
        );
        strange.push(good.iter().chain([&good[index]]).copied().collect());
    }
    // The header of the hop may be any text.
    let is_harmless = |marks: &Vec<(&str, &str)>| marks.contains(&("X-Sightline-Hop", "%"));
    strange.retain(|marks| !is_harmless(marks));
    strange.push(marks("site7", "everybody").to_vec());
    for headers in &strange {
        let text = ask(&sandbox, headers);
        assert!(
            text.starts_with("HTTP/1.1 404 ") && text.contains("x-sightline-sandbox: true"),
            "{headers:?}"
        );
    }
    let requests = sandbox.requests();
    assert_eq!((requests.unknown, requests.by_module["site0"]), (strange.len() as u64, 1));
    assert_eq!(requests.total, requests.unknown + 1);
}

#[test]
fn the_same_options_give_the_same_answers_and_another_seed_another_web() {
    let options = |seed| SandboxOptions { seed, ..SandboxOptions::perfect() };
    let start = |seed| Sandbox::start(sites(40), options(seed)).unwrap();
    let answers = |sandbox: &Sandbox| -> Vec<String> {
        let queries = ["alice", "Bob-7", "caf%C3%A9"];
        let all = (0..40).flat_map(|number| queries.map(|query| (format!("site{number}"), query)));
        all.map(|(site, query)| ask(sandbox, &marks(&site, query))).collect()
    };
    let first = answers(&start(1));
    assert_eq!(first, answers(&start(1)));
    assert_ne!(first, answers(&start(2)));
    let hits = first.iter().filter(|text| text.starts_with("HTTP/1.1 200 ")).count();
    assert!((10..80).contains(&hits), "{hits} of {} exist", first.len());
}

#[test]
fn five_hundred_concurrent_checks_are_delayed_in_parallel() {
    let lab = Lab::new(sites(500), SandboxOptions { shares: Vec::new(), ..SandboxOptions::default() });
    let alice = Query::parse(SearchType::Username, "alice").unwrap();
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let checks: Vec<_> = lab
            .modules
            .iter()
            .map(|module| {
                let builder = thread::Builder::new().stack_size(512 * 1024);
                builder.spawn_scoped(scope, || lab.check(module, &alice).outcome).unwrap()
            })
            .collect();
        checks.into_iter().map(|check| check.join().unwrap()).collect()
    });
    let hits = outcomes.iter().filter(|outcome| **outcome == Outcome::Hit).count();
    let misses = outcomes.iter().filter(|outcome| **outcome == Outcome::Miss).count();
    assert_eq!(hits + misses, 500, "{outcomes:?}");
    assert!((75..250).contains(&hits), "{hits} hits");
    assert_eq!(lab.sandbox.requests().by_module.len(), 500);
}

#[test]
fn documented_names_have_their_documented_outcome() {
    let lab = Lab::new(sites(12), SandboxOptions::perfect());
    for (name, wanted) in [
        ("nobody", Outcome::Miss),
        ("nobody42", Outcome::Miss),
        ("everybody", Outcome::Hit),
        ("Everybody.Smith", Outcome::Hit),
        ("blocked", Outcome::Blocked),
        ("limited-3", Outcome::RateLimited),
        ("broken", Outcome::Error),
    ] {
        let query = Query::parse(SearchType::Username, name).unwrap();
        for module in &lab.modules {
            assert_eq!(lab.check(module, &query).outcome, wanted, "{name} at {}", module.id());
        }
    }
    let silent = Query::parse(SearchType::Username, "silent").unwrap();
    let report = lab.checker.check(&lab.modules[0], &silent, Instant::now() + Duration::from_millis(300));
    assert_eq!(report.outcome, Outcome::Timeout);
}

#[test]
fn the_default_web_has_sites_of_every_behavior() {
    let lab = Lab::new(sites(300), SandboxOptions { delay_scale: 0.0, ..SandboxOptions::default() });
    let everybody = Query::parse(SearchType::Username, "everybody").unwrap();
    // Silent sites take the whole deadline, so all checks run concurrently.
    let outcomes = outcomes_of(&lab, &everybody);
    let seen: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.as_str()).collect();
    let expected = ["blocked", "error", "hit", "rate_limited", "timeout", "unreliable"];
    assert_eq!(seen, expected.into_iter().collect());
    let hits = outcomes.iter().filter(|outcome| **outcome == Outcome::Hit).count();
    assert!(hits > 200, "{hits} hits of 300");
}

fn outcomes_of(lab: &Lab, query: &Query) -> Vec<Outcome> {
    let outcomes = std::sync::Mutex::new(Vec::new());
    lab.complaints(64, |module| {
        let report = lab.checker.check(module, query, Instant::now() + Duration::from_secs(20));
        outcomes.lock().unwrap().push(report.outcome);
        None
    });
    outcomes.into_inner().unwrap()
}

#[test]
fn the_behavior_of_one_site_can_be_set() {
    let lab = Lab::new(sites(2), SandboxOptions::perfect().with_behavior("site1", SiteBehavior::Reset));
    let query = Query::parse(SearchType::Username, "everybody").unwrap();
    assert_eq!(lab.check(&lab.modules[0], &query).outcome, Outcome::Hit);
    let report = lab.check(&lab.modules[1], &query);
    assert_eq!((report.outcome, report.reason.map(Reason::as_str)), (Outcome::Error, Some("connect")));
    // A connection error is retried once.
    assert_eq!(lab.sandbox.requests().by_module["site1"], 2);
}

#[test]
fn impossible_options_are_refused_with_their_name() {
    let with = |shares| SandboxOptions { shares, ..SandboxOptions::perfect() };
    for (options, name) in [
        (with(vec![(SiteBehavior::Slow, -0.1)]), "shares"),
        (with(vec![(SiteBehavior::Slow, f64::NAN)]), "shares"),
        (with(vec![(SiteBehavior::Blocked, 0.6), (SiteBehavior::Silent, 0.5)]), "shares"),
        (SandboxOptions { delay_scale: f64::INFINITY, ..SandboxOptions::perfect() }, "delay_scale"),
    ] {
        let error = Sandbox::start([], options).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(name), "{error}");
    }
}
