//! Paths, methods, statuses and codes: the document and the API have the same.

use std::collections::BTreeSet;

use serde_json::Value;

use sightline::api::routes::{self, Access};
use sightline::model::refusal::FAILURES;

use super::{DOCUMENT, operation, operations};
use crate::support::server::Setup;

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "OPTIONS"];
const NO_RUN: &str = "018f4a7e-5c1d-7b3a-9e2f-0123456789ab";

#[test]
fn the_table_of_routes_and_the_document_say_the_same() {
    let served: BTreeSet<(String, String)> =
        routes::operations().map(|route| (route.path.to_owned(), route.method.to_lowercase())).collect();
    let documented: BTreeSet<(String, String)> =
        operations().map(|(path, method, _)| (path.to_owned(), method.to_owned())).collect();
    assert_eq!(served, documented);
    let ids: BTreeSet<&str> =
        operations().map(|(_, _, operation)| operation["operationId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), served.len(), "an operation's id stands twice");
    for route in routes::operations() {
        let (operation, access) =
            (operation(route.path, &route.method.to_lowercase()), route.endpoint.access);
        let needs_key = !operation["security"].as_array().unwrap().is_empty();
        assert_eq!(needs_key, access != Access::Public, "{}", route.path);
        assert_eq!(!operation["responses"]["401"].is_null(), needs_key, "{}", route.path);
        // The limit in the description is the one in the headers of the answer.
        let text = operation["description"].as_str().unwrap_or_default().to_lowercase();
        let policy = match access {
            Access::Public | Access::Message => None,
            Access::SearchOrStream => Some("search"),
            Access::Key(policy) => Some(policy.as_str()),
        };
        let said = ["search", "stream", "read"]
            .into_iter()
            .find(|name| text.contains(&format!("counts as `{name}`")));
        assert_eq!(said, policy, "{} {}", route.method, route.path);
    }
}

/// Returns a path with an id in place of each of its segments in braces.
fn with_ids(path: &str) -> String {
    let segments = path.split('/').map(|segment| if segment.starts_with('{') { NO_RUN } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

#[test]
fn every_documented_method_answers_and_every_other_one_is_refused() {
    let server = Setup::new().start();
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        let address = with_ids(path);
        let mut want: BTreeSet<&str> = BTreeSet::from(["OPTIONS"]);
        for method in METHODS.into_iter().filter(|method| !item[method.to_lowercase()].is_null()) {
            want.insert(method);
            if method == "GET" {
                want.insert("HEAD");
            }
        }
        for method in METHODS {
            let answer = server.request(method, &address).key(&server.key).send();
            let allow = answer.header("allow").map(|allow| allow.split(", ").collect::<BTreeSet<_>>());
            match (want.contains(method), method) {
                (true, "OPTIONS") => {
                    assert_eq!((answer.status, allow), (204, Some(want.clone())), "{answer}");
                }
                (true, _) => assert_ne!(answer.status, 405, "{answer}"),
                // An answer to `HEAD` has no body.
                (false, "HEAD") => assert_eq!((answer.status, allow), (405, Some(want.clone())), "{answer}"),
                (false, _) => {
                    answer.is_error(405, "method_not_allowed");
                    assert_eq!(allow, Some(want.clone()), "{answer}");
                }
            }
        }
        let words = item["description"].as_str().unwrap();
        assert!(want.iter().all(|method| words.contains(method)), "{words}");
    }
}

#[test]
fn every_operation_with_a_key_refuses_a_request_without_one() {
    let server = Setup::new().start();
    for (path, method, operation) in operations() {
        let address = with_ids(path);
        let answer = server.request(&method.to_uppercase(), &address).send();
        if operation["security"].as_array().unwrap().is_empty() {
            assert_eq!(answer.status, 200, "{answer}");
        } else {
            answer.is_error(401, "invalid_api_key");
        }
    }
    let schemes = DOCUMENT["components"]["securitySchemes"].as_object().unwrap();
    let forms: Vec<Value> = schemes.values().map(|scheme| scheme["type"].clone()).collect();
    assert_eq!(forms, ["http", "apiKey"]);
    for (_, _, operation) in operations() {
        for alternative in operation["security"].as_array().unwrap() {
            assert!(alternative.as_object().unwrap().keys().all(|name| schemes.contains_key(name)));
        }
    }
}

/// Returns status and code of every error in the document.
fn documented() -> BTreeSet<(u16, String)> {
    let mut documented = BTreeSet::new();
    for (name, response) in DOCUMENT["components"]["responses"].as_object().unwrap() {
        let status: u16 = name.strip_prefix("Error").unwrap().parse().unwrap();
        for text in response["description"].as_str().unwrap().split("\n\n") {
            documented.insert((status, text.split('`').nth(1).unwrap().to_owned()));
        }
    }
    documented
}

#[test]
fn every_failure_is_documented() {
    let all: BTreeSet<(u16, String)> =
        FAILURES.iter().map(|(status, code)| (*status, code.as_str().to_owned())).collect();
    // No operation has this error: it is the answer to an unsupported method.
    let of_no_operation = (405, "method_not_allowed".to_owned());
    let mut said = documented();
    assert!(said.insert(of_no_operation), "no operation answers 405");
    assert_eq!(all, said);
    assert!(DOCUMENT["info"]["description"].as_str().unwrap().contains("method_not_allowed"));
    let codes = DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"].as_array().unwrap();
    let codes: BTreeSet<&str> = codes.iter().filter_map(Value::as_str).collect();
    assert_eq!(codes, all.iter().map(|(_, code)| code.as_str()).collect());
}
