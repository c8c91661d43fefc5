//! The check engine against a scripted prober.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;
use sightline::modules::checker::Checker;
use sightline::modules::feed::MAX_FEED_BYTES;
use sightline::modules::judge::judge;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::{Evidence, Outcome, Pause, Report};
use sightline::modules::probe::{
    CookieJar, LocalFault, MAX_BODY_BYTES, Phase, ProbeError, Prober, Request, Response,
};
use sightline::modules::query::{Query, SearchType};
use sightline::modules::reason::Reason;
use sightline::modules::terms::{Access, Denial, HostAccess, Terms};

use crate::support::modules::{builtin, with};

mod answers;
mod bodies;
mod chain;
mod conditions;
mod control;
mod feeds;
mod hostile;
mod identity;
mod known;
mod limits;
mod local;
mod pauses;
mod results;
mod truncation;

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

/// Returns a `Retry-After` header with this value.
fn pause(host: &str, secs: u64) -> Pause {
    Pause { host: host.to_owned(), secs }
}

fn username(name: &str) -> Query {
    Query::parse(SearchType::Username, name).unwrap()
}

/// Answers 200 for `bob` and 404 for every other name.
fn only_bob(request: &Request) -> Result<Response, ProbeError> {
    Ok(respond(if request.url.path().ends_with("/bob") { 200 } else { 404 }, &[], "page"))
}
