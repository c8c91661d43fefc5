//! Each tool: its answer is as its schema says, states coverage, and agrees with the API.

use boon::{Compiler, Draft};
use serde_json::{Value, json};

use super::{call, content, stateless};
use crate::support::server::{Server, Setup};

/// Checks a value against the output schema of a tool.
#[track_caller]
fn fits(server: &Server, tool: &str, value: &Value) {
    let tools = stateless(server, "tools/list", json!({})).send().json()["result"]["tools"].clone();
    let found = tools.as_array().unwrap().iter().find(|known| known["name"] == tool);
    let schema = found.unwrap_or_else(|| panic!("no tool {tool}"))["outputSchema"].clone();
    assert_eq!(schema["type"], "object");
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    compiler.enable_format_assertions();
    compiler.add_resource("http://tool.example/schema.json", schema).unwrap();
    let mut schemas = boon::Schemas::new();
    let index = compiler.compile("http://tool.example/schema.json", &mut schemas).unwrap();
    if let Err(error) = schemas.validate(value, index) {
        panic!("{tool}: {error:#}\n{value:#}");
    }
}

#[test]
fn every_tool_answers_as_its_schema_says() {
    let server = Setup::new().start();
    let search = json!({"type": "username", "query": "person1"});
    let answer = content(&server, "search", &search);
    let run = answer["run"]["run_id"].as_str().unwrap().to_owned();
    fits(&server, "search", &answer);
    let truth = server.get(&format!("/v1/searches/{run}")).json();
    assert_eq!(answer["results"].as_array().unwrap().len(), truth["results"].as_array().unwrap().len());
    assert_eq!(answer["coverage"]["counts"], truth["coverage"]);
    let again = content(&server, "search", &search)["run"]["run_id"].as_str().unwrap().to_owned();
    for (tool, arguments) in [
        ("get_run", json!({"run_id": run, "wait": true})),
        ("people", json!({"run_id": run})),
        ("diff", json!({"before": run, "after": again})),
        ("list_modules", json!({"type": "username", "limit": 3.0})),
    ] {
        let answer = content(&server, tool, &arguments);
        fits(&server, tool, &answer);
        assert!(answer["coverage"]["statement"].as_str().unwrap().len() > 20, "{tool}: {answer}");
    }
    let credits = content(&server, "get_credits", &json!({}));
    fits(&server, "get_credits", &credits);
    assert_eq!(credits["credits"], server.get("/v1/credits").json());
}

#[test]
fn the_schemas_of_arguments_are_plain() {
    let server = Setup::new().start();
    let tools = stateless(&server, "tools/list", json!({})).send().json()["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert!(tool["description"].as_str().unwrap().len() > 20, "{tool}");
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        // Some clients follow no references, and some allow one type only.
        let text = schema.to_string();
        assert!(
            !["$ref", "null", "oneOf"].iter().any(|word| text.contains(&format!("\"{word}\""))),
            "{text}"
        );
    }
    let search = &tools[0]["inputSchema"];
    assert_eq!(search["required"], json!(["type", "query"]));
    assert_eq!(search["properties"]["wait"]["default"], true);
    assert!(search["properties"].get("stream").is_none(), "{search}");
}

#[test]
fn a_lead_is_followed() {
    let server = Setup::new().start();
    let search = json!({"type": "username", "query": "everybody", "categories": ["coding"]});
    let answer = content(&server, "search", &search);
    let lead = answer["leads"].as_array().unwrap().iter().find(|lead| lead["reason"] == "not_requested");
    let lead = lead.unwrap_or_else(|| panic!("no lead: {}", answer["leads"]));
    let arguments = json!({"run_id": answer["run"]["run_id"], "lead_id": lead["lead_id"], "wait": false});
    let followed = content(&server, "follow_lead", &arguments);
    fits(&server, "follow_lead", &followed);
    assert_eq!(followed["run"]["parent_run_id"], answer["run"]["run_id"], "{followed}");
    assert_eq!(content(&server, "follow_lead", &arguments)["run"]["run_id"], followed["run"]["run_id"]);
}

#[test]
fn coverage_says_what_is_not_known() {
    let server = Setup::new().start();
    let blocked = content(&server, "search", &json!({"type": "username", "query": "blocked.smith"}));
    let coverage = &blocked["coverage"];
    let statement = coverage["statement"].as_str().unwrap();
    assert!(statement.contains("failed (no_conclusion)") && statement.contains("blocked"), "{statement}");
    assert!(statement.contains("must not be reported as absent"), "{statement}");
    assert_eq!(coverage["is_complete"], false);
    let asked = coverage["counts"]["blocked"].as_u64().unwrap();
    let unanswered = blocked["unanswered"].as_array().unwrap();
    assert!(asked > 0 && unanswered.len() as u64 >= asked, "{blocked}");
    let complete = json!({"type": "username", "query": "octocat", "modules": ["github"]});
    let complete = content(&server, "search", &complete)["coverage"].clone();
    assert_eq!(complete["is_complete"], true, "{complete}");
    // The statement stands in a block of its own before the data.
    let result = call(&server, "search", &json!({"type": "username", "query": "nobody.smith"}));
    let statement = &result["structuredContent"]["coverage"]["statement"];
    assert_eq!(&result["content"][0]["text"], statement);
    let data: Value = serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(data, result["structuredContent"]);
}
