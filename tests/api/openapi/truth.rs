//! Answers compared with the document: status, media type, headers, body, events. Each answer of a transcript is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::schemas::Schemas;
use super::{operation, operations, resolve};
use crate::support::server::{Answer, Event, EventStream, Setup};

/// Headers of HTTP itself, which the document does not describe.
const OF_HTTP: [&str; 6] =
    ["date", "content-length", "content-type", "content-encoding", "connection", "transfer-encoding"];

/// Returns whether the text of the document describes a header, which is then one of many answers.
fn is_in_text(name: &str) -> bool {
    let text = super::DOCUMENT["info"]["description"].as_str().unwrap().to_lowercase();
    text.contains(&format!("`{name}`")) || text.contains(&format!("`{name}: "))
}

thread_local! {
    /// The schemas of the document, which are compiled when they are used first.
    static SCHEMAS: Schemas = Schemas::new();
}

/// Compares the answer to a request with the document, if the document has an operation for it.
pub(crate) fn judge(method: &str, address: &str, answer: &Answer) {
    let (method, path) = (method.to_lowercase(), address.split('?').next().unwrap_or_default());
    let segments: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let fits = |known: &str| {
        let known: Vec<&str> = known.split('/').collect();
        let is_same = |(known, segment): (&&str, &&str)| known == segment || known.starts_with('{');
        known.len() == segments.len() && known.iter().zip(&segments).all(is_same)
    };
    // A fixed name goes before the place of an id.
    let known = operations().filter(|(known, of, _)| *of == method && fits(known));
    if let Some((path, ..)) = known.min_by_key(|(path, ..)| path.matches('{').count()) {
        SCHEMAS.with(|schemas| is_documented(schemas, path, &method, answer));
    }
}

/// Returns the documented response for a status, and its address.
fn response(path: &str, method: &str, status: u16) -> (String, &'static Value) {
    let response = &operation(path, method)["responses"][status.to_string()];
    assert!(!response.is_null(), "{method} {path} answered {status}, which is not documented");
    let pointer = match response["$ref"].as_str() {
        Some(reference) => reference.trim_start_matches('#').to_owned(),
        None => format!("/paths/{}/{method}/responses/{status}", path.replace('/', "~1")),
    };
    (pointer, resolve(response))
}

fn have_schemas(schemas: &Schemas, documented: &Value, sent: &[(String, String)]) {
    for name in ["X-Request-Id", "Cache-Control", "X-Content-Type-Options"] {
        assert!(sent.iter().any(|(sent, _)| sent.eq_ignore_ascii_case(name)), "{name} is missing: {sent:?}");
    }
    for (name, value) in sent {
        let lower = name.to_lowercase();
        if OF_HTTP.contains(&lower.as_str()) || is_in_text(&lower) {
            continue;
        }
        let known = documented["headers"]
            .as_object()
            .into_iter()
            .flatten()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, header) = known.unwrap_or_else(|| panic!("{name}: {value} is not documented"));
        let pointer = header["$ref"].as_str().unwrap().trim_start_matches('#').to_owned() + "/schema";
        let value = match resolve(header)["schema"]["type"].as_str() {
            Some("integer") => json!(value.parse::<u64>().unwrap()),
            _ => json!(value),
        };
        schemas.check(&pointer, &value);
    }
}

/// Checks one answer of an operation.
fn is_documented(schemas: &Schemas, path: &str, method: &str, answer: &Answer) {
    let (pointer, response) = response(path, method, answer.status);
    have_schemas(schemas, response, &answer.headers);
    match answer.header("content-type") {
        None => assert!(response["content"].is_null() && answer.body.is_empty(), "{answer}"),
        Some(media_type) => {
            let is_known = !response["content"][media_type].is_null();
            let media_type = if is_known { media_type } else { media_type.split(';').next().unwrap() };
            assert!(!response["content"][media_type].is_null(), "{media_type} is not documented: {answer}");
            let schema = format!("{pointer}/content/{}/schema", media_type.replace('/', "~1"));
            if media_type == "text/event-stream" {
                return events(answer.text()).for_each(|event| is_event(schemas, &event));
            }
            let value = match media_type.contains("json") && media_type != "application/x-ndjson" {
                true => answer.json(),
                false => json!(answer.text()),
            };
            schemas.check(&schema, &value);
        }
    }
}

fn is_event(schemas: &Schemas, event: &Event) {
    let event = json!({"event": event.event, "data": event.data});
    schemas.check("/components/schemas/StreamEvent", &event);
}

/// Returns the events of a stream that was read to its end, without comments.
fn events(text: &str) -> impl Iterator<Item = Event> {
    let frames = text.split("\n\n").filter_map(|frame| frame.strip_prefix("event: ")?.split_once("\ndata: "));
    frames.map(|(event, data)| Event { event: event.to_owned(), data: serde_json::from_str(data).unwrap() })
}

#[test]
fn every_event_is_as_documented() {
    let schemas = Schemas::new();
    let mut seen = BTreeSet::new();
    let mut read = |stream: EventStream| {
        for event in stream.all() {
            is_event(&schemas, &event);
            seen.insert(event.event);
        }
    };
    let server = Setup::new().all_modules().start();
    // The leads of the second one start searches.
    for (query, follow) in [("broken.smith", Value::Null), ("person8", json!({"max_searches": 1}))] {
        let body = json!({"type": "username", "query": query, "stream": true, "follow": follow});
        read(server.post_stream(&body));
    }
    let body = json!({"type": "username", "query": "alice", "stream": true});
    let server = Setup::new().all_modules().realistic().flag("--times=stream=100ms").start();
    read(server.post_stream(&body));
    let mut server = Setup::new().all_modules().realistic().start();
    let mut stream = server.post_stream(&body);
    assert_eq!(stream.next().unwrap().event, "run");
    assert!(server.terminate().success());
    read(stream);
    let events = super::DOCUMENT["components"]["schemas"]["StreamEvent"]["oneOf"].as_array().unwrap();
    let names =
        events.iter().map(|event| event["properties"]["event"]["enum"][0].as_str().unwrap().to_owned());
    let documented: BTreeSet<String> = names.collect();
    assert_eq!(seen, documented);
}
