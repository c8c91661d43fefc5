//! The conformance suite of the protocol's project, in both revisions.
//!
//! Most scenarios call tools, prompts and resources of a reference server by their names (`test_simple_text`,
//! `test://static-text`, …). No other server has them, so these scenarios say nothing about this one. Others test features
//! that are not offered: prompts, completion, logging, sampling, elicitation, subscriptions, custom headers, and sessions,
//! which are optional in the earlier revision. What is left is run here.

use super::super::{PACKAGES, path_with_node};
use crate::support::folder::Folder;
use crate::support::nginx::NginxSetup;
use crate::support::npm;
use crate::support::server::Setup;

/// The scenarios that apply, with the revision in which they are run.
const SCENARIOS: [(&str, &str); 12] = [
    ("server-initialize", "2025-11-25"),
    ("server-session-lifecycle", "2025-11-25"),
    ("ping", "2025-11-25"),
    ("tools-list", "2025-11-25"),
    ("resources-list", "2025-11-25"),
    ("dns-rebinding-protection", "2025-11-25"),
    ("tools-list", "2026-07-28"),
    ("resources-list", "2026-07-28"),
    ("server-sse-multiple-streams", "2026-07-28"),
    ("dns-rebinding-protection", "2026-07-28"),
    ("sep-2164-resource-not-found", "2026-07-28"),
    ("http-header-validation", "2026-07-28"),
];

/// Scenarios of which some checks apply: the checks that must fail or cannot be made, because they need a tool of the
/// reference server or a feature that is not offered. All others must succeed.
const PARTLY: [(&str, &[&str]); 2] = [
    (
        "server-stateless",
        &[
            // Need the tools `test_missing_capability`, `test_streaming_elicitation` and `test_logging_tool`.
            "sep-2575-server-rejects-undeclared-capability",
            "sep-2575-missing-capability-http-400",
            "sep-2575-http-server-no-independent-requests-on-stream",
            "sep-2575-server-no-log-without-loglevel",
        ],
    ),
    // There are no prompts.
    ("caching", &["sep-2549-prompts-list-caching-hints"]),
];

/// Runs a scenario, and returns the ids of the checks that did not succeed, with what the suite says.
fn failed(packages: &npm::Packages, url: &str, scenario: &str, revision: &str) -> (Vec<String>, String) {
    let mut command = packages.command("conformance");
    command.env("PATH", path_with_node(packages));
    command.args(["server", "--url", url, "--scenario", scenario, "--spec-version", revision, "--verbose"]);
    // The suite ends before a pipe has taken all of its output.
    let folder = Folder::new();
    let file = folder.path("checks");
    let output = command.stdout(std::fs::File::create(&file).unwrap()).output().unwrap();
    let said = std::fs::read_to_string(&file).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let checks = said.find("[\n").map(|at| &said[at..]).unwrap_or_default();
    let mut checks = serde_json::Deserializer::from_str(checks).into_iter::<serde_json::Value>();
    let checks = checks.next().and_then(Result::ok).unwrap_or_else(|| panic!("{scenario}: {said}\n{errors}"));
    let checks = checks.as_array().unwrap().clone();
    assert!(!checks.is_empty(), "{scenario}: no checks\n{said}");
    let bad = checks.iter().filter(|check| matches!(check["status"].as_str(), Some("FAILURE" | "WARNING")));
    (bad.map(|check| check["id"].as_str().unwrap().to_owned()).collect(), said)
}

#[test]
fn the_scenarios_that_apply_pass() {
    let server = Setup::new().start();
    server.finished(&server.search("username", "octocat"));
    // The suite sends no key, so a proxy adds it.
    let authorization: &'static str =
        Box::leak(format!("Authorization   \"Bearer {}\"", server.key).into_boxed_str());
    let nginx =
        NginxSetup::before(server.address).with("Authorization   $http_authorization", authorization).start();
    let packages = npm::packages("mcp", &PACKAGES);
    let url = format!("http://{}/mcp", nginx.address);
    for (scenario, revision) in SCENARIOS {
        let (failed, said) = failed(&packages, &url, scenario, revision);
        assert!(failed.is_empty(), "{scenario} in {revision}: {failed:?}\n{said}");
    }
    for (scenario, excused) in PARTLY {
        let (failed, said) = failed(&packages, &url, scenario, "2026-07-28");
        let surprising: Vec<&String> = failed.iter().filter(|id| !excused.contains(&id.as_str())).collect();
        assert!(surprising.is_empty(), "{scenario}: {surprising:?}\n{said}");
    }
}
