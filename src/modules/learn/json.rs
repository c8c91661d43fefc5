//! New conditions on JSON.

use serde_json::Value;

use super::candidate::{Candidate, template, templated};
use super::evidence::{Evidence, Side};
use super::wording::{is_of_failure, says_missing};
use crate::modules::answer::Answer;
use crate::modules::definition::{JsonRule, JsonType};
use crate::modules::html::Selectors;
use crate::modules::module::Module;
use crate::modules::pointer::Pointer;
use crate::modules::text::same_name;

/// The most values of a document that are looked at.
const MAX_VALUES: usize = 400;
/// The deepest values that are looked at.
const MAX_DEPTH: usize = 6;
/// The most characters of a text that a condition repeats.
const MAX_TEXT_CHARS: usize = 120;

/// Members that name the owner of an account.
const NAMES: [&str; 8] = ["login", "user", "nick", "handle", "name", "slug", "screen", "acct"];
/// Members that every account has.
const IDENTIFIERS: [&str; 6] = ["id", "uid", "uuid", "userid", "accountid", "profileid"];
/// Parts of members that say how a request ended, and those that change with every request.
const ABOUT_REQUEST: [&str; 14] = [
    "error",
    "message",
    "code",
    "status",
    "success",
    "ok",
    "meta",
    "request",
    "timestamp",
    "version",
    "trace",
    "took",
    "detail",
    "reason",
];
/// Members that all accounts of a site have, as far as a single one can show it.
const COMMON: [&str; 12] = [
    "login",
    "user",
    "nick",
    "handle",
    "name",
    "slug",
    "account",
    "profile",
    "created",
    "joined",
    "registered",
    "data",
];

/// Returns the values of a document with their pointers, in document order. Elements of an array have the index
/// `*`, and only the first one is looked at. A member whose name is `name` has the segment `*`.
pub(super) fn values<'v>(root: &'v Value, name: &str) -> Vec<(String, &'v Value)> {
    let mut found = vec![(String::new(), root)];
    let mut at = 0;
    while let Some((pointer, value)) = found.get(at).cloned() {
        at += 1;
        if pointer.matches('/').count() >= MAX_DEPTH {
            continue;
        }
        match value {
            Value::Object(members) => {
                for (key, member) in members {
                    let segment = match same_name(key, name) {
                        true => "*".to_owned(),
                        false => key.replace('~', "~0").replace('/', "~1"),
                    };
                    found.push((format!("{pointer}/{segment}"), member));
                }
            }
            Value::Array(elements) => {
                found.extend(elements.first().map(|element| (format!("{pointer}/*"), element)));
            }
            _ => {}
        }
        if found.len() >= MAX_VALUES {
            break;
        }
    }
    found
}

/// Returns the conditions of this kind that may hold for the answers of a side.
pub(super) fn candidates(module: &Module, evidence: &Evidence, side: Side) -> Vec<Candidate> {
    let Some(sample) = evidence.wanted(side).first() else { return Vec::new() };
    let Some(response) = sample.responses.first() else { return Vec::new() };
    let selectors = Selectors::default();
    let answer = Answer::new(response, &selectors);
    let Some(root) = answer.json() else { return Vec::new() };
    let name = module.name_of(&sample.query);
    let values = values(root, &name);
    let made = values.into_iter().flat_map(|(at, value)| match side {
        Side::Hit => of_hit(&at, value, &name, evidence.known.len() > 1),
        Side::Miss => of_miss(&at, value, &name),
    });
    made.collect()
}

/// Returns conditions on one value of a known account. `is_compared` says whether there are several known accounts. A
/// single one does not show which members only some accounts have.
fn of_hit(at: &str, value: &Value, name: &str, is_compared: bool) -> Vec<Candidate> {
    let last = last_member(at);
    if !at.is_empty() && is_part(&last, &ABOUT_REQUEST) {
        return Vec::new();
    }
    let depth = depth_cost(at);
    let rule = JsonRule { at: Pointer::parse(at).unwrap_or_default(), ..JsonRule::default() };
    let mut found = Vec::new();
    if let Some(text) = text_of(value) {
        if same_name(&text, name) {
            let cost = 10 + depth + if is_part(&last, &NAMES) { 0 } else { 3 };
            found.push(Candidate::json(cost, JsonRule { equals_query: Some(true), ..rule.clone() }));
        } else if let Some(text) = general_template(&text, name) {
            let cost = 16 + depth;
            found.push(Candidate::json(
                cost,
                JsonRule { equals_template: Some(template(&text)), ..rule.clone() },
            ));
        }
    }
    let kind = match () {
        () if IDENTIFIERS.contains(&last.as_str()) => 0,
        () if is_part(&last, &COMMON) => 4,
        () if is_compared => 8,
        () => return found,
    };
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Array(elements) if elements.is_empty() => {}
        Value::Object(members) if members.is_empty() => {}
        Value::Array(_) => {
            let (json_type, min_length) = (Some(JsonType::Array), Some(1));
            found.push(Candidate::json(26 + depth + kind, JsonRule { json_type, min_length, ..rule }));
        }
        Value::Object(_) if rule.at.is_empty() => {}
        Value::Object(_) => {
            let json_type = Some(JsonType::Object);
            found.push(Candidate::json(25 + depth + kind, JsonRule { json_type, ..rule }));
        }
        Value::String(text) if text.is_empty() => {}
        Value::String(_) | Value::Number(_) => {
            found.push(Candidate::json(24 + depth + kind, JsonRule { exists: Some(true), ..rule }));
        }
    }
    found
}

fn of_miss(at: &str, value: &Value, name: &str) -> Vec<Candidate> {
    let depth = depth_cost(at);
    let last = last_member(at);
    let rule = JsonRule { at: Pointer::parse(at).unwrap_or_default(), ..JsonRule::default() };
    let one = |cost: usize, rule: JsonRule| vec![Candidate::json(cost + depth, rule)];
    match value {
        Value::Null => one(24, JsonRule { null: Some(true), ..rule }),
        Value::Array(elements) if elements.is_empty() => {
            one(22, JsonRule { json_type: Some(JsonType::Array), max_length: Some(0), ..rule })
        }
        Value::Object(members) if members.is_empty() => {
            one(22, JsonRule { json_type: Some(JsonType::Object), max_length: Some(0), ..rule })
        }
        // `"ok": false` says only that something failed.
        Value::Bool(_) if is_part(&last, &ABOUT_REQUEST) => Vec::new(),
        Value::Bool(_) => one(30, JsonRule { equals: Some(value.clone()), ..rule }),
        Value::Number(number) => match number.as_u64() {
            Some(0) => one(22, JsonRule { equals: Some(value.clone()), ..rule }),
            Some(400 | 401 | 403 | 429 | 500..=599) => Vec::new(),
            Some(_) if is_part(&last, &ABOUT_REQUEST) => {
                one(20, JsonRule { equals: Some(value.clone()), ..rule })
            }
            _ => Vec::new(),
        },
        Value::String(text) => {
            text_of_miss(text, name, rule).map_or_else(Vec::new, |(cost, rule)| one(cost, rule))
        }
        Value::Array(_) | Value::Object(_) => Vec::new(),
    }
}

/// Returns the condition that a member says in words or by a code that something does not exist.
fn text_of_miss(text: &str, name: &str, rule: JsonRule) -> Option<(usize, JsonRule)> {
    let is_code = !text.contains(char::is_whitespace);
    if text.chars().count() > MAX_TEXT_CHARS || is_of_failure(text) || (!is_code && !says_missing(text)) {
        return None;
    }
    let last = last_member(&rule.at);
    if is_code && !is_part(&last, &ABOUT_REQUEST) && !super::wording::names_missing(text) {
        return None;
    }
    let cost = if is_code { 20 } else { 40 };
    let (written, count) = templated(text, name);
    Some(match count {
        0 => (cost, JsonRule { equals: Some(Value::from(text)), ..rule }),
        _ => (cost + 2, JsonRule { equals_template: Some(template(&written)), ..rule }),
    })
}

/// Returns a text with the name as a template, unless the rest of it may be of one account only.
fn general_template(text: &str, name: &str) -> Option<String> {
    let (template, count) = templated(text, name);
    let is_plain = !text.contains(char::is_whitespace) && text.chars().count() <= MAX_TEXT_CHARS;
    let has_number = template.replace("{query}", "").chars().any(|c| c.is_ascii_digit());
    (count == 1 && is_plain && !has_number).then_some(template)
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the last named segment of a pointer, in lower case and without signs.
fn last_member(at: &str) -> String {
    let last = at.rsplit('/').find(|segment| *segment != "*").unwrap_or_default();
    last.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

fn is_part(member: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| match part.len() {
        // A short word is part of many others.
        ..=3 => member == *part,
        _ => member.contains(part),
    })
}

/// Returns the cost of the place of a value: a deep one, or one of many, proves less.
fn depth_cost(at: &str) -> usize {
    at.matches('/').count() + 4 * at.matches("/*").count()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn best(side: Side, root: &Value) -> Option<Candidate> {
        let found = values(root, "bob").into_iter().flat_map(|(at, value)| match side {
            Side::Hit => of_hit(&at, value, "bob", false),
            Side::Miss => of_miss(&at, value, "bob"),
        });
        found.min_by_key(|candidate| candidate.cost)
    }

    #[test]
    fn a_repeated_name_is_the_best_sign_of_a_hit() {
        for (root, at) in [
            (json!({"bio": "bob", "user": {"login": "Bob"}}), "/user/login"),
            (json!({"bob": {"id": 7, "bio": "x"}}), "/*/id"),
            (json!([{"id": 7, "email": "x"}]), "/*/id"),
        ] {
            assert_eq!(best(Side::Hit, &root).unwrap().rule.json[0].at.as_str(), at, "{root}");
        }
        assert_eq!(best(Side::Hit, &json!({"error": "x", "ok": true, "list": []})), None);
    }

    #[test]
    fn a_vague_failure_is_no_sign_of_a_miss() {
        for root in [
            json!({"ok": false, "error": "error"}),
            json!({"status": 403, "message": "Please log in"}),
            json!({"message": "Something went wrong"}),
        ] {
            assert_eq!(best(Side::Miss, &root), None, "{root}");
        }
        for (root, at) in [
            (json!({"error": {"code": "USER_NOT_FOUND"}}), "/error/code"),
            (json!({"users": [], "message": "No such user"}), "/users"),
            (json!({"message": "User bob does not exist"}), "/message"),
            (json!([]), ""),
        ] {
            assert_eq!(best(Side::Miss, &root).unwrap().rule.json[0].at.as_str(), at, "{root}");
        }
    }
}
