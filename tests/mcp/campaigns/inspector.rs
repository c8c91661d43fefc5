//! The inspector of the protocol's project lists and calls each tool, over HTTP and over lines.

use std::process::Command;

use serde_json::Value;

use super::super::{PACKAGES, path_with_node};
use crate::support::npm::{self, Packages};
use crate::support::server::{BINARY, Setup};

/// Runs the inspector's command line, and returns what it prints.
fn inspected(packages: &Packages, target: &[&str], words: &[&str]) -> Value {
    let mut command: Command = packages.command("mcp-inspector");
    command.env("PATH", path_with_node(packages)).env("HOME", packages.file("")).arg("--cli");
    let output = command.args(target).args(words).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}\n{errors}");
    serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}\n{errors}"))
}

#[test]
fn the_inspector_lists_and_calls_each_tool() {
    let server = Setup::new().start();
    let packages = npm::packages("mcp", &PACKAGES);
    let url = format!("http://{}/mcp", server.address);
    let key = format!("Authorization: Bearer {}", server.key);
    let target = [url.as_str(), "--transport", "http", "--header", &key];
    let tools = inspected(&packages, &target, &["--method", "tools/list", "--strict"]);
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["search", "get_run", "follow_lead", "people", "diff", "list_modules", "get_credits"]);
    let called = |tool: &str, arguments: &[&str]| {
        let mut words = vec!["--method", "tools/call", "--tool-name", tool];
        for argument in arguments {
            words.extend(["--tool-arg", argument]);
        }
        let result = inspected(&packages, &target, &words);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        result["structuredContent"].clone()
    };
    let answer = called("search", &["type=username", "query=person1"]);
    let run = format!("run_id={}", answer["run"]["run_id"].as_str().unwrap());
    let id = run.trim_start_matches("run_id=");
    called("get_run", &[&run]);
    called("people", &[&run]);
    called("diff", &[&format!("before={id}"), &format!("after={id}")]);
    called("list_modules", &["type=username", "limit=2"]);
    called("get_credits", &[]);
    if let Some(lead) =
        answer["leads"].as_array().unwrap().iter().find(|lead| lead["reason"] == "not_requested")
    {
        called(
            "follow_lead",
            &[&run, &format!("lead_id={}", lead["lead_id"].as_str().unwrap()), "wait=false"],
        );
    }
    let resources = inspected(&packages, &target, &["--method", "resources/list"]);
    let uri = resources["resources"][0]["uri"].as_str().unwrap();
    inspected(&packages, &target, &["--method", "resources/read", "--uri", uri]);
    let lines = [BINARY, "mcp", "--sandbox=perfect"];
    let same = inspected(&packages, &lines, &["--method", "tools/list"]);
    assert_eq!(same["tools"].as_array().unwrap().len(), names.len());
}
