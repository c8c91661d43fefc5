//! Rules that never decide, because no answer fulfils them or another rule always contradicts them.

use serde_json::{Value, json};

use super::lab::module;
use super::language::problems;

/// Returns the report on a module with this rule as its second hit rule.
fn told(rule: &Value) -> Vec<String> {
    let more = json!({
        "hit": [{"status": [200], "words": ["profile of {query}"]}, rule], "miss": [{"status": [404]}],
        "note": "a test",
    });
    problems(module("dead", &more))
}

fn on_json(conditions: &Value) -> Value {
    json!({"status": [200], "json": conditions})
}

#[test]
fn rules_that_no_answer_can_fulfil_are_reported() {
    for rule in [
        json!({"words": ["not found"], "no_word": ["found"]}),
        json!({"any_word": ["a", "A"], "no_word": ["a"], "ignore_case": true}),
        json!({"header": {"X-A": ""}, "no_header": ["x-a"]}),
        json!({"css": ["a", {"select": "a", "exists": false}]}),
        json!({"status": [429]}),
        json!({"status": [101]}),
        json!({"status": ["1xx", 103], "words": ["{query}"]}),
        json!({"status": [204, 304], "json": [{"at": "/a", "exists": true}]}),
        json!({"status": [204], "body_is": "x"}),
        json!({"body_is": "", "words": ["a"]}),
        json!({"body_is": "", "regex": "a"}),
        json!({"body_is": "taken", "words": ["free"]}),
        json!({"body_is": "taken", "any_word": ["free", "gone"]}),
        json!({"body_is": "Taken", "no_word": ["take"], "ignore_case": true}),
        json!({"body_is": "yes", "regex": "^no$"}),
        json!({"body_is": "yes", "shows_query": true}),
        json!({"shows_query": true, "no_word": ["{query}"]}),
        json!({"title": "a", "title_is": "b"}),
        json!({"title": "a", "json": [{"at": "/a", "exists": true}]}),
    ] {
        let told = told(&rule);
        assert!(told.len() == 1 && told[0].starts_with("hit[1] never decides: "), "{rule}: {told:?}");
    }
}

#[test]
fn contradicting_json_conditions_are_reported() {
    for conditions in [
        json!([{"at": "/a", "exists": true}, {"at": "/a", "exists": false}]),
        json!([{"at": "/a", "equals": 1}, {"at": "/a", "equals": 2}]),
        json!([{"at": "/a", "exists": false, "equals": 1}]),
        json!([{"at": "/a", "exists": true, "null": true}]),
        json!([{"at": "/a", "null": true, "min_length": 1}]),
        json!([{"at": "/a", "equals": 1, "not_equals": 1}]),
        json!([{"at": "/a", "equals": 1, "any_of": [2]}]),
        json!([{"at": "/a", "contains": "a", "not_contains": "a"}]),
        json!([{"at": "/a", "min_length": 3, "max_length": 2}]),
        json!([{"at": "/a", "above": 3, "below": 3}]),
        json!([{"at": "/a", "null": true, "type": "string"}]),
        json!([{"at": "/a", "equals": "x", "matches": "^[0-9]+$"}]),
        json!([{"at": "/a", "any_of": ["x", "yy"], "min_length": 3}]),
        json!([{"at": "/a", "equals_query": true, "max_length": 0}]),
        json!([{"at": "/a", "type": "string", "contains": "xy", "not_contains": "x"}]),
        json!([{"at": "/a", "contains": "hello", "max_length": 2, "matches": "l"}]),
        json!([{"at": "/a", "exists": false}, {"at": "/a/b", "exists": true}]),
        json!([{"at": "", "type": "array"}, {"at": "/a", "equals_query": true}]),
        json!([{"at": "/a", "type": "string"}, {"at": "/a", "type": "number"}]),
        json!([{"at": "/a", "min_length": 3}, {"at": "/b", "exists": true}, {"at": "/a", "max_length": 2}]),
        json!([{"at": "/a", "type": "string", "equals": 1}]),
        json!([{"at": "/a", "type": "number", "any_of": ["a", true]}]),
        json!([{"at": "/a", "type": "string", "above": 1}]),
        json!([{"at": "/a", "type": "array", "below": 1}]),
        json!([{"at": "/a", "type": "number", "matches": "a"}]),
        json!([{"at": "/a", "type": "object", "contains": "a"}]),
        json!([{"at": "/a", "type": "number", "min_length": 1}]),
        json!([{"at": "/a", "type": "boolean", "max_length": 1}]),
        json!([{"at": "/a", "type": "array", "equals_query": true}]),
    ] {
        let told = told(&on_json(&conditions));
        assert!(told.len() == 1 && told[0].starts_with("hit[1] never decides: "), "{conditions}: {told:?}");
    }
}

#[test]
fn rules_that_contradict_another_rule_are_reported() {
    let hit = json!([{"status": [200], "words": ["profile of {query}"]}, {"words": ["hello {query}"]}]);
    for more in [
        json!({"hit": hit, "miss": [{"status": [404]}], "barrier": [{"words": ["hello"]}]}),
        json!({"hit": hit, "miss": [{"status": [404]}, {"words": ["hello"]}]}),
    ] {
        let told = problems(module("dead", &more));
        assert!(told.iter().any(|told| told.starts_with("hit[1] never decides: ")), "{more}: {told:?}");
    }
}

#[test]
fn satisfiable_rules_are_not_reported() {
    for rule in [
        json!({"body_is": "{query} is taken", "words": ["taken"], "any_word": ["x", "{query}"]}),
        json!({"body_is": "yes", "regex": "^yes$"}),
        json!({"body_is": "YES", "regex": "(?i)yes", "ignore_case": true}),
        json!({"status": [200], "header": {"X-A": "^a$"}, "no_header": ["X-B"]}),
        on_json(&json!([{"at": "/a", "type": "array", "min_length": 1, "contains": "a"}])),
        on_json(&json!([{"at": "", "type": "array"}, {"at": "/0/a", "exists": true}])),
        on_json(
            &json!([{"at": "/a", "exists": false}, {"at": "/a/b", "exists": false}, {"at": "/ab", "exists": true}]),
        ),
        on_json(&json!([{"at": "/a", "type": "object"}, {"at": "/a/b", "equals": 1}])),
        on_json(&json!([{"at": "/a", "not_equals": 1}, {"at": "/a", "not_equals": 2}])),
    ] {
        assert_eq!(told(&rule), [""; 0], "{rule}");
    }
}
