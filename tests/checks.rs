//! The check engine against a scripted prober.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;
use sightline::modules::checker::Checker;
use sightline::modules::judge::judge;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::{Evidence, Finding, Outcome, Report};
use sightline::modules::probe::{CookieJar, MAX_BODY_BYTES, Mark, ProbeError, Prober, Request, Response};
use sightline::modules::query::{Query, SearchType};
use sightline::modules::reason::Reason;
use sightline::modules::terms::{Access, Denial, HostAccess, Terms};

use crate::support::modules::{builtin, with};

pub(crate) mod cases;
mod control;
mod hostile;
mod identity;
mod limits;
mod sharing;

#[test]
fn checks_end_as_the_answers_of_their_sites_say() {
    assert!(cases::play(include_str!("checks/cases.txt")) > 200);
}

#[test]
fn rules_judge_answers_by_their_conditions() {
    assert!(cases::play(include_str!("checks/rules.txt")) > 100);
}

#[test]
fn extractors_read_the_values_of_answers() {
    assert!(cases::play(include_str!("checks/results.txt")) > 30);
}

type Script = dyn Fn(&Request) -> Result<Response, ProbeError> + Send + Sync;

/// A prober that answers by a script and records the requests.
struct Scripted {
    script: Box<Script>,
    asked: Mutex<Vec<Request>>,
    cookies: Mutex<Vec<Option<String>>>,
}

impl Prober for Scripted {
    fn send(&self, request: &Request, jar: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let host = request.url.host_str().unwrap();
        self.cookies.lock().push(jar.header_for(host));
        self.asked.lock().push(request.clone());
        let response = (self.script)(request)?;
        for (name, value) in &response.headers {
            if name == "set-cookie" {
                jar.store(host, value);
            }
        }
        Ok(response)
    }
}

struct Bench {
    prober: Arc<Scripted>,
    checker: Checker,
}

impl Bench {
    fn new(script: impl Fn(&Request) -> Result<Response, ProbeError> + Send + Sync + 'static) -> Self {
        Self::with_keys(&[], script)
    }

    fn with_keys(
        keys: &[(&str, &str)],
        script: impl Fn(&Request) -> Result<Response, ProbeError> + Send + Sync + 'static,
    ) -> Self {
        let prober = Arc::new(Scripted {
            script: Box::new(script),
            asked: Mutex::default(),
            cookies: Mutex::default(),
        });
        let keys = OperatorKeys::new(keys.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let checker = Checker::new(prober.clone(), keys, "sightline-test", Duration::from_secs(3600));
        Self { prober, checker }
    }

    fn check(&self, module: &Module, query: &Query) -> Report {
        *self.checker.check(module, query, Instant::now() + Duration::from_secs(60))
    }

    fn asked(&self) -> Vec<String> {
        self.prober.asked.lock().iter().map(|request| request.url.to_string()).collect()
    }
}

/// Creates a module from the given fields. The others have default values.
fn module(fields: &Value) -> Arc<Module> {
    let entry = json!({
        "id": "site", "platform": "Site", "type": "username", "category": "test",
        "probes": [{"url": "https://site.example/u/{query}"}],
        "hit": [{"status": [200]}], "miss": [{"status": [404]}],
    });
    let entries = json!([with(entry, fields)]);
    let catalog = Catalog::from_text("test", &entries.to_string()).unwrap_or_else(|e| panic!("{e}"));
    catalog.modules()[0].clone()
}

fn respond(status: u16, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Response {
    Response {
        status,
        final_url: "https://site.example/u/x".parse().unwrap(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.into(),
        truncated: false,
    }
}

fn username(name: &str) -> Query {
    Query::parse(SearchType::Username, name).unwrap()
}

/// Answers 200 for `bob` and 404 for every other name.
fn only_bob(request: &Request) -> Result<Response, ProbeError> {
    Ok(respond(if request.url.path().ends_with("/bob") { 200 } else { 404 }, &[], "page"))
}

#[test]
fn a_browser_waits_for_a_mark_of_each_rule() {
    type Kind = fn(String) -> Mark;

    let marks = |changes: Value| {
        let drawn = json!({"probes": [{"url": "https://site.example/{query}", "via": "browser"}],
            "hit": [{"css": ["h1.name"]}], "miss": [{"text": ["Nobody"]}]});
        let bench = Bench::new(|_| Ok(respond(404, &[], "Nobody")));
        bench.check(&module(&with(drawn, &changes)), &username("bob"));
        let request = bench.prober.asked.lock().remove(0);
        assert!(request.max_redirects > 0, "a browser follows redirects");
        request.marks
    };
    let nobody = Mark::Text("Nobody".to_owned());
    assert_eq!(marks(json!({})), [Mark::Css("h1.name".to_owned()), nobody.clone()]);
    let matching = |select: &str| json!({"select": select, "attribute": "content", "matches": "x"});
    let kinds: [(Value, Kind, &str); 5] = [
        (json!({"css": [matching("meta[name=a]")], "text": ["y"]}), Mark::Css, "meta[name=a]"),
        (
            json!({"css": [{"select": "h2", "exists": false}], "text": ["Hi {query}", "a"]}),
            Mark::Text,
            "Hi bob",
        ),
        (json!({"css": ["title", {"select": "title", "matches": "^{query} M"}]}), Mark::Title, "^bob M"),
        (json!({"words": ["a", "\"id\":"], "final_url": "bob"}), Mark::Source, "\"id\":"),
        (json!({"final_url": "/login(?:[/?#.]|$)"}), Mark::Url, "/login(?:[/?#.]|$)"),
    ];
    for (rule, kind, wanted) in kinds {
        let wanted = [kind(wanted.to_owned()), nobody.clone()];
        assert_eq!(marks(json!({"hit": [rule]})), wanted, "{rule}");
    }
}
