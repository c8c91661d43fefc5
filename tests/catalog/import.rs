//! Lists of other tools: each entry is checked over real sockets, and each omitted part is reported.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;
use sightline::modules::checker::Checker;
use sightline::modules::import::report::{ListReport, NoteKind};
use sightline::modules::import::take_over;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::Report;
use sightline::modules::query::{Query, SearchType};
use sightline::net::{HttpProber, NetConfig};

use crate::support::modules::with;
use crate::support::site::{Received, Site};

mod bad_input;
mod command;
mod loading;
mod maigret;
mod sherlock;
mod whatsmyname;

/// An imported list, and the site that all its entries query.
struct Lab {
    site: Site,
    modules: Vec<Module>,
    report: ListReport,
    checker: Checker,
}

impl Lab {
    /// Imports `list` after replacing every `http://site.example` with a site that answers in this way.
    fn new(list: &Value, answer: impl Fn(&Received) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let site = Site::start(move |stream, request| {
            let _ = stream.write_all(&answer(request));
        });
        let text = list.to_string().replace("http://site.example", &site.url(""));
        let imported = take_over("list.json", &text).unwrap();
        let prober = HttpProber::new(NetConfig { allow_private_targets: true, ..NetConfig::default() });
        let checker =
            Checker::new(Arc::new(prober), OperatorKeys::default(), "test", Duration::from_secs(3600));
        Self { site, modules: imported.modules, report: imported.report, checker }
    }

    fn module(&self, id: &str) -> &Module {
        let found = self.modules.iter().find(|module| &**module.id() == id);
        found.unwrap_or_else(|| panic!("no {id}: {:?}", self.report))
    }

    fn check(&self, id: &str, name: &str) -> Report {
        let query = Query::parse(SearchType::Username, name).unwrap();
        *self.checker.check(self.module(id), &query, Instant::now() + Duration::from_secs(60))
    }

    /// Returns the outcome and reason as words: `hit`, `error unrecognized`.
    fn outcome(&self, id: &str, name: &str) -> String {
        let report = self.check(id, name);
        let outcome = report.outcome.as_str();
        report.reason.map_or_else(|| outcome.to_owned(), |reason| format!("{outcome} {reason}"))
    }
}

fn status(code: u16, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {code} X\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// Returns the notes of this kind as `NAME: REASON`.
fn notes(report: &ListReport, kind: NoteKind) -> Vec<String> {
    let notes = report.notes.iter().filter(|note| note.outcome == kind);
    notes.map(|note| format!("{}: {}", note.name, note.reason)).collect()
}

/// The reason why an entry that asks the same for every name is left out.
const NOT_ABOUT_THE_QUERY: &str = "no probe and no rule of `hit` or `miss` is about the query: write it into a probe, as \
     `{query}`, or let a rule look for it, by `{query}`, `equals_query` or `shows_query`";

/// Returns the only imported module as a JSON entry.
fn only_entry(list: &Value) -> Value {
    let imported = take_over("list.json", &list.to_string()).unwrap();
    let [module] = &imported.modules[..] else { panic!("{:?}", imported.report) };
    serde_json::to_value(module.entry()).unwrap()
}

/// A small list in each format.
fn samples() -> [Value; 3] {
    [
        json!({"license": [], "authors": [], "categories": ["misc"], "sites": [whatsmyname::site()]}),
        json!({"$schema": "x", "Pond": sherlock::site()}),
        json!({"sites": {"Meadow": maigret::site()}, "engines": {}, "tags": []}),
    ]
}
