//! The document itself: it is valid, and the same from the server and the
//! command.

use std::collections::BTreeSet;

use sightline::http::Traffic;

use super::{DOCUMENT, operations, resolve};
use crate::cli::ran;
use crate::support::folder::Folder;
use crate::support::python::venv;
use crate::support::server::Setup;
use serde_json::{Value, json};

const VALIDATOR: &str = "openapi-spec-validator==0.9.0";

#[test]
fn the_command_prints_what_the_server_serves() {
    let base_url = "https://search.example.org/sightline";
    let printed = ran(&["openapi", "--base-url", base_url], &[]).code_is(0);
    let printed_document: Value = serde_json::from_str(&printed.out).unwrap();
    assert!(printed.out.lines().count() > 1000, "not pretty");
    let server = Setup::new().flag(&format!("--base-url={base_url}")).start();
    let served = server.request("GET", "/openapi.json").send();
    assert_eq!((served.status, served.header("content-type")), (200, Some("application/json")));
    assert_eq!(served.json(), printed_document);
    assert_eq!(printed_document["servers"][0]["url"], base_url);
    let capabilities = server.request("GET", "/v1/capabilities").send().json();
    assert_eq!(capabilities["openapi_url"], format!("{base_url}/openapi.json"));
    let default: Value = serde_json::from_str(&ran(&["openapi"], &[]).code_is(0).out).unwrap();
    assert_eq!(default, *DOCUMENT);
    ran(&["openapi", "--base-url", "ftp://x"], &[]).code_is(2).err_has("--base-url");
}

#[test]
fn the_document_is_cached_and_compressed() {
    let server = Setup::new().start();
    let first = server.request("GET", "/openapi.json").send();
    assert_eq!(first.header("cache-control"), Some("public, max-age=300"));
    assert_eq!(first.header("vary"), Some("Accept-Encoding"));
    let tag = first.header("etag").unwrap().to_owned();
    let again = server.request("GET", "/openapi.json").header("If-None-Match", &tag).send();
    assert_eq!(
        (again.status, again.header("etag"), again.body.len()),
        (304, Some(tag.as_str()), 0),
        "{again}"
    );
    let packed = server.request("GET", "/openapi.json").header("Accept-Encoding", "gzip").send();
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(packed.body.len() * 4 < first.body.len(), "{} of {}", packed.body.len(), first.body.len());
    let weak = packed.header("etag").unwrap();
    assert_eq!(weak, format!("W/{tag}"));
    let head = server.request("HEAD", "/openapi.json").send();
    assert_eq!((head.status, head.header("etag")), (200, Some(tag.as_str())));
}

/// Combines all examples of the members of a search into one valid search.
#[test]
fn the_examples_of_a_search_begin_one() {
    let server = Setup::new().all_modules().start();
    let properties = DOCUMENT["components"]["schemas"]["SearchRequest"]["properties"].as_object().unwrap();
    let members =
        properties.iter().filter(|(name, _)| !matches!(name.as_str(), "type" | "stream" | "follow"));
    let example = |property: &Value| property.pointer("/examples/0").cloned().unwrap_or_else(|| json!(true));
    let mut body: Value = members.map(|(name, property)| (name.clone(), example(property))).collect();
    (body["type"], body["follow"]) = ("username".into(), json!({"depth": 1, "max_searches": 10}));
    let answer = server.post(&body);
    assert_eq!(answer.status, 200, "{answer}");
    assert_eq!(answer.json()["status"], "completed", "{answer}");
}

/// Asserts that every component is referenced.
#[test]
fn every_component_is_used_and_the_document_says_whose_it_is() {
    let mut used = BTreeSet::new();
    collect_references(&DOCUMENT, &mut used);
    for (kind, components) in DOCUMENT["components"].as_object().unwrap() {
        for name in components.as_object().unwrap().keys() {
            assert!(used.contains(&format!("#/components/{kind}/{name}")), "nothing refers to {kind}/{name}");
        }
    }
    let info = &DOCUMENT["info"];
    assert_eq!(info["license"]["identifier"], env!("CARGO_PKG_LICENSE"));
    assert!(info["license"]["url"].is_null(), "OpenAPI 3.1: an identifier or an address");
    assert_eq!(info["contact"]["url"], super::BASE_URL);
    assert!(info["contact"]["name"].is_string() && info["license"]["name"].is_string(), "{info}");
}

/// Collects the targets of all references: `$ref`, values of discriminators, security schemes.
fn collect_references(value: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            used.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            let mapped =
                value["discriminator"]["mapping"].as_object().into_iter().flat_map(|map| map.values());
            used.extend(mapped.filter_map(Value::as_str).map(str::to_owned));
            let schemes = members.get("security").and_then(Value::as_array).into_iter().flatten();
            for name in schemes.filter_map(Value::as_object).flat_map(|scheme| scheme.keys()) {
                used.insert(format!("#/components/securitySchemes/{name}"));
            }
            members.values().for_each(|member| collect_references(member, used));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_references(item, used)),
        _ => {}
    }
}

/// Every schema, field, parameter, header and answer has a description. Texts without a format have an example: tools make
/// up one for anything else.
#[test]
fn everything_has_a_description_and_an_example() {
    let mut missing = Vec::new();
    for (name, schema) in DOCUMENT["components"]["schemas"].as_object().unwrap() {
        describe(&format!("schema {name}"), schema, &mut missing);
    }
    for (path, method, operation) in operations() {
        let place = format!("{method} {path}");
        for word in ["summary", "description", "operationId"] {
            if operation[word].as_str().is_none_or(str::is_empty) {
                missing.push(format!("{place}: {word}"));
            }
        }
        for parameter in operation["parameters"].as_array().unwrap() {
            let parameter = resolve(parameter);
            let place = format!("{place}: {}", parameter["name"]);
            is_described(&place, parameter, &mut missing);
            has_example(&place, &parameter["schema"], &mut missing);
        }
        for (status, response) in operation["responses"].as_object().unwrap() {
            let response = resolve(response);
            is_described(&format!("{place} {status}"), response, &mut missing);
            for (name, header) in response["headers"].as_object().unwrap() {
                let place = format!("{place} {status}: {name}");
                is_described(&place, resolve(header), &mut missing);
                has_example(&place, &resolve(header)["schema"], &mut missing);
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn describe(place: &str, schema: &Value, missing: &mut Vec<String>) {
    is_described(place, schema, missing);
    let parts = ["allOf", "oneOf"].into_iter().filter_map(|word| schema[word].as_array()).flatten();
    for object in parts.chain([schema]) {
        for (name, property) in object["properties"].as_object().into_iter().flatten() {
            let place = format!("{place}.{name}");
            is_described(&place, property, missing);
            if property["$ref"].is_null() {
                has_example(&place, property, missing);
            }
        }
    }
}

fn is_described(place: &str, value: &Value, missing: &mut Vec<String>) {
    let text = value["description"].as_str().unwrap_or_default();
    if text.trim().len() < 4 || text.contains("[`") {
        missing.push(format!("{place}: description {text:?}"));
    }
}

fn has_example(place: &str, schema: &Value, missing: &mut Vec<String>) {
    let schema = resolve(schema);
    let kind = schema["type"].as_array().map_or(&schema["type"], |types| &types[0]);
    let named_elsewhere = matches!(kind.as_str(), Some("boolean" | "integer" | "number"))
        || schema["format"].is_string()
        || schema["items"]["$ref"].is_string()
        || schema["items"]["oneOf"].is_array()
        || schema["items"]["type"] == "string"
        || schema["enum"].is_array()
        || schema["contentSchema"].is_object()
        || schema["oneOf"].is_array();
    if schema["examples"].as_array().is_none_or(Vec::is_empty) && !named_elsewhere {
        missing.push(format!("{place}: example"));
    }
}

#[test]
fn each_status_of_the_api_has_a_label_of_its_own_in_the_metrics() {
    let traffic = Traffic::new([("GET", "/")], "none");
    let documented =
        operations().flat_map(|(_, _, operation)| operation["responses"].as_object().unwrap().keys());
    // The addresses of the pages are not in the document.
    for status in documented.map(String::as_str).chain(["303", "308"]) {
        traffic.answered(&traffic.begin(None, Some(0)), status.parse().unwrap(), "", None);
    }
    let unnamed: Vec<_> = traffic.answers().filter(|answers| answers.status == "other").collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}

mod campaigns {
    use super::*;

    #[test]
    fn the_document_is_valid_openapi_3_1() {
        let folder = Folder::new();
        let validated = |name: &str, document: &Value| {
            let file = folder.path(name);
            std::fs::write(&file, document.to_string()).unwrap();
            let output = venv(&[VALIDATOR])
                .command("openapi-spec-validator")
                .args(["--schema", "3.1", "--errors", "all", &file])
                .output()
                .unwrap();
            let said = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            (output.status.success(), said)
        };
        let (valid, said) = validated("openapi.json", &DOCUMENT);
        assert!(valid, "{said}");
        assert_eq!(DOCUMENT["openapi"], "3.1.0");
        let mut broken = DOCUMENT.clone();
        broken["paths"]["/v1/health"]["get"]["responses"]["200"]["description"].take();
        assert!(!validated("broken.json", &broken).0, "the validator finds nothing");
    }
}
