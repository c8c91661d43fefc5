//! The rule language: every kind of condition and extractor gets an answer; rules that cannot be told
//! apart are reported.

use std::sync::Arc;

use serde_json::json;
use sightline::modules::module::Module;
use sightline::sandbox::{Sandbox, SandboxOptions};

use super::lab::module;

pub(super) fn problems(module: Arc<Module>) -> Vec<String> {
    let sandbox = Sandbox::new([module], SandboxOptions::perfect());
    sandbox.problems().into_iter().map(|problem| problem.what).collect()
}

#[test]
fn indistinguishable_rules_are_reported() {
    let always = json!({"hit": [{"any_word": ["here", "gone"]}], "miss": [{"regex": "gone"}]});
    let told = problems(module("always", &always));
    assert!(told.len() == 1 && told[0].contains("makes it miss") && told[0].contains("conflict"), "{told:?}");
    let unsent = json!({"hit": [{"header": {"X-A": "^[^ -~]+$"}}], "miss": [{"status": [404]}]});
    let told = problems(module("unsent", &unsent));
    assert!(
        told.len() == 1 && told[0].contains("no answer can be made for any alternative of `hit`"),
        "{told:?}"
    );
    let walled = json!({"hit": [{"status": [200]}], "miss": [{"status": [403], "header": {"CF-Mitigated": "challenge"}}]});
    let told = problems(module("walled", &walled));
    assert!(told.len() == 1 && told[0].contains("blocked"), "{told:?}");
}

#[test]
fn answers_that_work_for_one_query_only_are_reported() {
    let rules = |word: &str| {
        json!({
            "accepts": "zedekiah|bobbybob", "known": ["zedekiah"],
            "hit": [{"words": [word], "no_word": ["{query}"]}], "miss": [{"status": [404]}],
        })
    };
    let told = problems(module("single", &rules("not bobbybob")));
    assert!(told.len() == 1 && told[0].contains("work for one query do not for another"), "{told:?}");
    assert_eq!(problems(module("both", &rules("somebody else"))), [] as [String; 0]);
}

#[test]
fn a_module_without_a_miss_rule_is_reported() {
    let told = problems(module("one_sided", &json!({"hit": [{"status": [200]}]})));
    assert!(told.len() == 1 && told[0].contains("no `miss` rule"), "{told:?}");
    let noted = json!({"hit": [{"status": [200]}], "note": "the site never says no"});
    assert_eq!(problems(module("noted", &noted)), [""; 0]);
}
