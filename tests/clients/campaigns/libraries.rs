//! Libraries for event streams: each sees all events in order, and the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::example::with_plain_numbers;
use crate::support::server::{Event, Server, Setup};
use crate::support::{npm, python};

const WITH_PYTHON: &str = "with_httpx_sse.py";
/// The EventSource of browsers, which cannot send a POST.
const AS_BROWSERS: &str = "with_eventsource.mjs";

/// A script of `readers` that prints the events that its library sees, with its packages.
enum Reader {
    Python(python::Venv, PathBuf),
    Node(npm::Script),
}

impl Reader {
    fn prepare(script: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/readers").join(script);
        if script == WITH_PYTHON {
            return Self::Python(python::venv(&["httpx==0.28.1", "httpx-sse==0.4.3"]), path);
        }
        Self::Node(npm::packages("readers", &["eventsource@3.0.7"]).script(&path))
    }

    /// Reads a search from its start. Returns its id too.
    fn read_live(&self, server: &Server) -> (String, Vec<Event>) {
        let mut body = json!({"type": "domain", "query": "example.org", "stream": true});
        if matches!(self, Self::Python(..)) {
            let events = self.read(server, "/v1/searches", &[("BODY", &body.to_string())]);
            return (events[0].data["run_id"].as_str().unwrap().to_owned(), events);
        }
        body["stream"] = false.into();
        let run = server.post(&body).json()["run_id"].as_str().unwrap().to_owned();
        let events = self.read(server, &format!("/v1/searches/{run}/stream"), &[]);
        (run, events)
    }

    fn command(&self) -> Command {
        match self {
            Self::Python(venv, script) => {
                let mut command = venv.command("python");
                command.arg(script);
                command
            }
            Self::Node(script) => script.command(),
        }
    }

    /// Returns the events in the answer to a request.
    fn read(&self, server: &Server, path: &str, variables: &[(&str, &str)]) -> Vec<Event> {
        let mut command = self.command();
        command.env("URL", format!("http://{}{path}", server.address)).env("KEY", &server.key);
        let output = command.envs(variables.iter().copied()).output();
        let output = output.unwrap_or_else(|error| panic!("node is needed: run scripts/test ({error})"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{:?}: {said}", self.command());
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.strip_suffix("end\n").unwrap_or_else(|| panic!("no end is seen: {text}"));
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).map(event).collect()
    }
}

fn event(mut pair: Value) -> Event {
    Event { event: pair[0].as_str().unwrap().to_owned(), data: pair[1].take() }
}

fn named<'a>(events: &'a [Event], name: &str) -> impl Iterator<Item = &'a Value> {
    events.iter().filter(move |event| event.event == name).map(|event| &event.data)
}

/// Returns the newest result of each id, in order.
fn newest(events: &[Event]) -> Value {
    let by_id = |result: &Value| (result["id"].as_u64().unwrap(), result.clone());
    named(events, "result").map(by_id).collect::<BTreeMap<_, _>>().into_values().collect()
}

#[test]
fn each_client_gets_every_event_in_order() {
    // Comments arrive between all events.
    let server = Setup::new().all_modules().realistic().flag("--times=keep-alive=20ms").start();
    for script in [WITH_PYTHON, AS_BROWSERS] {
        let reader = Reader::prepare(script);
        let (run, events) = reader.read_live(&server);
        let names: Vec<&str> = events.iter().map(|event| event.event.as_str()).collect();
        assert_eq!((names.first(), names.last()), (Some(&"run"), Some(&"done")), "{script}");
        let inner = &names[1..names.len() - 1];
        assert!(inner.iter().all(|name| ["result", "progress"].contains(name)), "{names:?}");
        let counts =
            named(&events, "progress").map(|progress| progress["modules_completed"].as_u64().unwrap());
        let counts: Vec<u64> = counts.collect();
        assert!(counts.len() > 10 && counts.is_sorted(), "{script}: {counts:?}");
        let known = with_plain_numbers(&server.finished(&run)["results"]);
        assert_eq!(with_plain_numbers(&newest(&events)), known, "{script}");

        let path = format!("/v1/searches/{run}/stream");
        let replayed = reader.read(&server, &path, &[]);
        let want = server.request("GET", &path).key(&server.key).stream().all();
        assert!(want.len() > 50);
        let all = |events: &[Event]| {
            with_plain_numbers(&events.iter().map(|event| json!([event.event, event.data])).collect())
        };
        assert_eq!(all(&replayed), all(&want), "{script}");
    }
}

#[test]
fn an_event_source_reconnects_by_itself_after_reconnect_frames() {
    let server = Setup::new().realistic().flag("--times=stream=1s").start();
    let ready = Reader::prepare(AS_BROWSERS);
    let run = server.search("domain", "example.org");
    let events = ready.read(&server, &format!("/v1/searches/{run}/stream"), &[("FOLLOW", "1")]);
    assert_eq!(events.last().unwrap().event, "done");
    assert!(named(&events, "reconnect").count() > 0, "the search was too short to show anything");
    assert_eq!(named(&events, "run").count(), named(&events, "reconnect").count() + 1);
    assert_eq!(with_plain_numbers(&newest(&events)), with_plain_numbers(&server.finished(&run)["results"]));
}
