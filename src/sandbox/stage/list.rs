//! Feeds: lists that are the same for every query, so they name all that exists at once.

use serde_json::{Map, Value};

use crate::modules::definition::{Entry, MatcherEntry};
use crate::modules::module::Module;
use crate::modules::query::{Query, SearchType};

/// Suffixes that a list of domains knows.
const SUFFIXES: [&str; 36] = [
    "com", "org", "net", "info", "biz", "io", "dev", "app", "co", "me", "tv", "ai", "xyz", "online", "site",
    "shop", "eu", "de", "fr", "nl", "it", "es", "pl", "ch", "at", "be", "se", "no", "dk", "fi", "cz", "us",
    "ca", "co.uk", "com.au", "com.br",
];
/// Mail domains that a list of addresses knows.
pub(super) const MAIL_DOMAINS: [&str; 3] = ["example.com", "example.org", "example.net"];
/// How names that exist everywhere go on.
const ENDS: [&str; 4] = ["", "7", "-seven", "0000001"];

/// Whether the rules find a hit in the answer of a feed: then it exists or not by that list alone.
pub(in crate::sandbox) fn decides(entry: &Entry) -> bool {
    let usual = entry.probes.iter().rposition(|probe| !probe.fallback).unwrap_or(0);
    let is_feed = |at: usize| entry.probes.get(at).is_some_and(|probe| probe.feed.is_some());
    entry.hit.iter().any(|rule: &MatcherEntry| is_feed(rule.probe.unwrap_or(usual)))
}

/// What a module's lists name: its known names, then names that exist everywhere.
pub(super) fn names(module: &Module) -> Vec<Query> {
    let entry = module.entry();
    let everybody: Vec<String> = match entry.search_type {
        SearchType::Username => ENDS.iter().map(|end| format!("everybody{end}")).collect(),
        SearchType::Email => {
            let given = entry.domain_in.iter().map(String::as_str);
            given.chain(MAIL_DOMAINS).map(|domain| format!("everybody@{domain}")).collect()
        }
        SearchType::Domain => SUFFIXES.iter().map(|suffix| format!("everybody.{suffix}")).collect(),
    };
    let mut names: Vec<Query> = Vec::new();
    for text in entry.known.iter().chain(&everybody) {
        let query =
            Query::parse(entry.search_type, text).ok().filter(|query| module.why_refused(query).is_none());
        if let Some(query) = query.filter(|query| !names.iter().any(|known| known.normal() == query.normal()))
        {
            names.push(query);
        }
    }
    names
}

/// Both documents in one: what stands in lists is listed together, of two other values the first stays.
pub(super) fn union(one: &mut Value, other: Value) {
    match (one, other) {
        (one @ Value::Null, other) => *one = other,
        (Value::Array(one), Value::Array(other)) => {
            for element in other {
                if !one.contains(&element) {
                    one.push(element);
                }
            }
        }
        (Value::Object(one), Value::Object(other)) => join_members(one, other),
        _ => {}
    }
}

fn join_members(one: &mut Map<String, Value>, other: Map<String, Value>) {
    for (key, value) in other {
        match one.get_mut(&key) {
            None => {
                one.insert(key, value);
            }
            Some(known) if *known == value => {}
            // A member that stands for any name: both are meant.
            Some(_) if key.starts_with("sample") => {
                one.insert(format!("sample{}", one.len()), value);
            }
            Some(known) => union(known, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_two_documents_stand_in_one() {
        let mut document =
            json!({"services": [[["com"], ["a"]]], "version": 1, "names": {"sample0": {"n": 1}}});
        union(
            &mut document,
            json!({"services": [[["org"], ["b"]], [["com"], ["a"]]], "version": 2, "names": {"sample0": {"n": 2}}}),
        );
        assert_eq!(
            document,
            json!({
                "services": [[["com"], ["a"]], [["org"], ["b"]]], "version": 1,
                "names": {"sample0": {"n": 1}, "sample1": {"n": 2}},
            })
        );
    }
}
