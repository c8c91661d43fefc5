//! Libraries for event streams: each sees all events in order, and the end.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::example::with_plain_numbers;
use crate::support::server::{Event, Server, Setup};
use crate::support::{npm, python};

/// A script of `readers` that prints the events that its library sees.
struct Reader {
    script: &'static str,
    /// Whether it can start a search by POST. The EventSource of browsers cannot.
    can_post: bool,
}

const READERS: [Reader; 4] = [
    Reader { script: "with_httpx_sse.py", can_post: true },
    Reader { script: "with_sseclient.py", can_post: true },
    Reader { script: "with_eventsource.mjs", can_post: false },
    Reader { script: "with_eventsource_parser.mjs", can_post: true },
];

/// The script with its packages.
enum Ready {
    Python(python::Venv, PathBuf),
    Node(npm::Script),
}

impl Reader {
    fn prepare(&self) -> Ready {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/readers").join(self.script);
        if self.script.ends_with(".py") {
            let packages = ["httpx==0.28.1", "httpx-sse==0.4.3", "requests==2.32.5", "sseclient-py==1.9.0"];
            return Ready::Python(python::venv(&packages), script);
        }
        let packages = npm::packages("readers", &["eventsource@3.0.7", "eventsource-parser@3.0.6"]);
        Ready::Node(packages.script(&script))
    }

    /// Reads a search from its start. Returns its id too.
    fn read_live(&self, ready: &Ready, server: &Server) -> (String, Vec<Event>) {
        let mut body = json!({"type": "domain", "query": "example.org", "stream": true});
        if self.can_post {
            let events = ready.read(server, "/v1/searches", &[("BODY", &body.to_string())]);
            return (events[0].data["run_id"].as_str().unwrap().to_owned(), events);
        }
        body["stream"] = false.into();
        let run = server.post(&body).json()["run_id"].as_str().unwrap().to_owned();
        let events = ready.read(server, &format!("/v1/searches/{run}/stream"), &[]);
        (run, events)
    }
}

impl Ready {
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

fn replay(server: &Server, run: &str) -> Vec<Event> {
    server.request("GET", &format!("/v1/searches/{run}/stream")).key(&server.key).stream().all()
}

#[test]
fn each_client_gets_every_event_in_order() {
    // Comments arrive between all events.
    let server = Setup::new().all_modules().realistic().flag("--times=keep-alive=20ms").start();
    std::thread::scope(|scope| {
        for reader in &READERS {
            scope.spawn(|| {
                let ready = reader.prepare();
                let (run, events) = reader.read_live(&ready, &server);
                let names: Vec<&str> = events.iter().map(|event| event.event.as_str()).collect();
                assert_eq!((names.first(), names.last()), (Some(&"run"), Some(&"done")), "{}", reader.script);
                let inner = &names[1..names.len() - 1];
                assert!(inner.iter().all(|name| ["result", "progress"].contains(name)), "{names:?}");
                let counts: Vec<u64> = named(&events, "progress")
                    .map(|progress| progress["modules_completed"].as_u64().unwrap())
                    .collect();
                assert!(counts.len() > 10 && counts.is_sorted(), "{}: {counts:?}", reader.script);
                let known = server.finished(&run);
                assert_eq!(
                    with_plain_numbers(&newest(&events)),
                    with_plain_numbers(&known["results"]),
                    "{}",
                    reader.script
                );

                let replayed = ready.read(&server, &format!("/v1/searches/{run}/stream"), &[]);
                let want = replay(&server, &run);
                assert!(want.len() > 50);
                let all = |events: &[Event]| {
                    events.iter().map(|event| json!([event.event, event.data])).collect::<Value>()
                };
                assert_eq!(
                    with_plain_numbers(&all(&replayed)),
                    with_plain_numbers(&all(&want)),
                    "{}",
                    reader.script
                );
            });
        }
    });
}

#[test]
fn an_event_source_reconnects_by_itself_after_reconnect_frames() {
    let server = Setup::new().realistic().flag("--stream-timeout=1s").start();
    let ready = READERS[2].prepare();
    let run = server.search("domain", "example.org");
    let events = ready.read(&server, &format!("/v1/searches/{run}/stream"), &[("FOLLOW", "1")]);
    assert_eq!(events.last().unwrap().event, "done");
    assert!(named(&events, "reconnect").count() > 0, "the search was too short to show anything");
    assert_eq!(named(&events, "run").count(), named(&events, "reconnect").count() + 1);
    assert_eq!(with_plain_numbers(&newest(&events)), with_plain_numbers(&server.finished(&run)["results"]));
}
