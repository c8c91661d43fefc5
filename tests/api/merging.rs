//! Results with several sources, as clients see them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::server::{Event, EventStream, Server, Setup};

/// A client that follows the manual: it keeps the newest result of each id.
#[derive(Default)]
struct Client {
    results: BTreeMap<u64, Value>,
    since_progress: BTreeSet<u64>,
    again: usize,
    /// The outcomes of the modules that have ended.
    ended: BTreeMap<String, Value>,
}

impl Client {
    fn take(&mut self, event: &Event) {
        match event.event.as_str() {
            "progress" => {
                self.since_progress.clear();
                for (module, outcome) in event.data["module_status"].as_object().unwrap() {
                    let before = self.ended.insert(module.clone(), outcome.clone());
                    assert!(before.is_none(), "{module} is reported twice");
                }
                assert_eq!(event.data["modules_completed"], self.ended.len());
            }
            "result" => {
                let id = event.data["id"].as_u64().unwrap();
                let is_first = self.since_progress.insert(id);
                assert!(is_first, "{id} came twice between two progress frames");
                if let Some(before) = self.results.insert(id, event.data.clone()) {
                    assert_ne!(before, event.data, "{id} came again as it was");
                    assert_grew(&before, &event.data);
                    self.again += 1;
                }
            }
            _ => {}
        }
    }

    fn all(&self) -> Value {
        self.results.values().cloned().collect()
    }
}

fn sources(result: &Value) -> Vec<&str> {
    let sources = result["metadata"]["sources"].as_array().unwrap_or_else(|| panic!("no sources: {result}"));
    sources.iter().map(|source| source["module"].as_str().unwrap()).collect()
}

/// Asserts that the later record is the earlier one with more sources and at least the same confidence.
fn assert_grew(before: &Value, after: &Value) {
    for field in ["id", "type", "entity_type", "platform", "value", "source", "created_at"] {
        assert_eq!(before[field], after[field], "{field}");
    }
    let [was, is] = [before, after].map(sources);
    assert_eq!(is[..was.len()], was, "sources keep their order");
    assert!(before["confidence"].as_f64() <= after["confidence"].as_f64(), "{before} {after}");
    for (name, value) in before["metadata"].as_object().unwrap().iter().filter(|(name, _)| *name != "sources")
    {
        assert_eq!(&after["metadata"][name], value, "{name} was overwritten");
    }
}

/// Asserts what holds for every ended run.
fn assert_whole(server: &Server, run: &Value) {
    let results = run["results"].as_array().unwrap();
    assert_eq!(run["total_results"], results.len());
    let ids: Vec<u64> = results.iter().map(|result| result["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=results.len() as u64).collect::<Vec<_>>());
    let path = format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap());
    let modules = server.get(&path).json();
    let hits: BTreeSet<&str> = modules["modules"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|module| module["status"] == "hit")
        .map(|module| module["module"].as_str().unwrap())
        .collect();
    let mut subdomains = BTreeSet::new();
    for result in results {
        let named = sources(result);
        assert_eq!(named[0], result["source"], "the first source made the result");
        assert_eq!(named.iter().collect::<BTreeSet<_>>().len(), named.len(), "each module once: {result}");
        assert!(named.iter().all(|module| hits.contains(module)), "{named:?} of {hits:?}");
        if result["type"] == "subdomain" {
            assert!(subdomains.insert(result["value"].to_string().to_lowercase()), "{result} is there twice");
        }
    }
    let most = results.iter().map(|result| sources(result).len()).max();
    assert!(most >= Some(3), "nothing was found by several: {run}");
}

fn stream(server: &Server, method: &str, path: &str, body: Option<&Value>) -> EventStream {
    let request = server.request(method, path).key(&server.key);
    let stream = match body {
        Some(body) => request.json(body).stream(),
        None => request.stream(),
    };
    assert_eq!(stream.status, 200);
    stream
}

fn search(server: &Server) -> (String, EventStream) {
    let body = json!({"type": "domain", "query": "example.org", "stream": true});
    let stream = stream(server, "POST", "/v1/searches", Some(&body));
    (stream.header("x-run-id").unwrap().to_owned(), stream)
}

fn replay(server: &Server, run: &str, parameters: &str) -> Value {
    let events = stream(server, "GET", &format!("/v1/searches/{run}/stream{parameters}"), None).all();
    events.into_iter().filter(|event| event.event == "result").map(|event| event.data).collect()
}

#[test]
fn an_entity_of_several_modules_is_one_result_with_all_sources() {
    for database in databases() {
        let server = Setup::new().database(&database.url).realistic().start();
        let (run_id, stream) = search(&server);
        let mut client = Client::default();
        stream.all().iter().for_each(|event| client.take(event));
        let path = format!("/v1/searches/{run_id}");
        let live = server.get(&path);
        let run = live.json();
        assert_whole(&server, &run);
        assert_eq!(client.all(), run["results"], "{}", database.name);
        let modules = server.get(&format!("{path}/modules")).json();
        let outcomes = modules["modules"].as_array().unwrap().iter();
        let outcomes: BTreeMap<String, Value> = outcomes
            .map(|module| (module["module"].as_str().unwrap().to_owned(), module["status"].clone()))
            .collect();
        assert_eq!(client.ended, outcomes, "every module's outcome is told once");
        assert!(client.again > 0, "no source came later: nothing was tried");
        assert_eq!(replay(&server, &run_id, ""), run["results"], "a replay shows each once");
        let rest: Value = run["results"].as_array().unwrap()[5..].iter().cloned().collect();
        assert_eq!(replay(&server, &run_id, "?after=5"), rest);

        let server = server.restart(&[]);
        let stored = server.get(&path);
        assert_eq!(stored.header("etag"), live.header("etag"), "{}", database.name);
        assert_eq!(&stored.body, &live.body, "{}", database.name);
        assert_eq!(replay(&server, &run_id, ""), run["results"], "{}", database.name);
    }
}

#[test]
fn new_sources_change_the_etag_of_a_run() {
    let server = Setup::new().realistic().start();
    let run_id = server.search("domain", "example.org");
    let (mut bodies, mut results): (BTreeMap<String, Vec<u8>>, BTreeMap<u64, Value>) = Default::default();
    let mut grown = 0;
    loop {
        let answer = server.get(&format!("/v1/searches/{run_id}"));
        let run = answer.json();
        let known = bodies.entry(answer.header("etag").unwrap().to_owned()).or_insert(answer.body.clone());
        assert_eq!(*known, answer.body, "one tag, two bodies");
        for result in run["results"].as_array().unwrap() {
            if let Some(before) = results.insert(result["id"].as_u64().unwrap(), result.clone()) {
                assert_grew(&before, result);
                grown += usize::from(before != *result);
            }
        }
        if run["status"] != "running" {
            break;
        }
    }
    assert!(grown > 0, "no result was seen to grow");
}
