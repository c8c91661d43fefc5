//! Rules for which the simulated web cannot make the answers that tell accounts apart are reported.

use serde_json::json;
use sightline::sandbox::{Sandbox, SandboxOptions};

use super::lab::module;

#[test]
fn rules_that_no_answers_tell_apart_are_reported() {
    let one_query = |word: &str| {
        json!({
            "accepts": "zedekiah|bobbybob", "known": ["zedekiah"],
            "hit": [{"words": [word], "no_word": ["{query}"]}], "miss": [{"status": [404]}],
        })
    };
    let walled = json!({"CF-Mitigated": "challenge"});
    for (rules, wanted) in [
        (json!({"hit": [{"any_word": ["here", "gone"]}], "miss": [{"regex": "gone"}]}), "makes it miss"),
        (
            json!({"hit": [{"header": {"X-A": "^[^ -~]+$"}}], "miss": [{"status": [404]}]}),
            "no answer can be made for any alternative of `hit`",
        ),
        (json!({"hit": [{"status": [200]}], "miss": [{"status": [403], "header": walled}]}), "blocked"),
        (one_query("not bobbybob"), "work for one query do not for another"),
        (one_query("somebody else"), ""),
        (json!({"hit": [{"status": [200]}]}), "no `miss` rule"),
        (json!({"hit": [{"status": [200]}], "note": "the site never says no"}), ""),
    ] {
        let sandbox = Sandbox::new([module("site", &rules)], SandboxOptions::perfect());
        let told: Vec<String> = sandbox.problems().into_iter().map(|problem| problem.what).collect();
        let is_told = told.len() == 1 && told[0].contains(wanted);
        assert!(is_told && !wanted.is_empty() || told.is_empty() && wanted.is_empty(), "{rules}: {told:?}");
    }
}
