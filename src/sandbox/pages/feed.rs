//! Feeds: lists that are the same for every query, so that they contain all existing names at once.

use crate::modules::definition::{Entry, Matcher};
use crate::modules::module::Module;
use crate::modules::query::{Query, SearchType};

/// The suffixes of the domains in a list of domains.
const SUFFIXES: [&str; 36] = [
    "com", "org", "net", "info", "biz", "io", "dev", "app", "co", "me", "tv", "ai", "xyz", "online", "site",
    "shop", "eu", "de", "fr", "nl", "it", "es", "pl", "ch", "at", "be", "se", "no", "dk", "fi", "cz", "us",
    "ca", "co.uk", "com.au", "com.br",
];
/// The mail domains of the addresses in a list of addresses.
pub(super) const MAIL_DOMAINS: [&str; 3] = ["example.com", "example.org", "example.net"];
/// The suffixes of the usernames in a list of usernames.
const ENDS: [&str; 4] = ["", "7", "-seven", "0000001"];

/// Returns whether a hit depends on the answer of a feed. If so, only names in that list exist.
pub(in crate::sandbox) fn decides(entry: &Entry) -> bool {
    let usual = entry.probes.iter().rposition(|probe| !probe.fallback).unwrap_or(0);
    let is_feed = |at: usize| entry.probes.get(at).is_some_and(|probe| probe.feed.is_some());
    entry.hit.iter().any(|rule: &Matcher| is_feed(rule.probe.unwrap_or(usual)))
}

/// Returns the names in a module's feeds, if it has any: its known names, then names that exist everywhere.
pub(super) fn names(module: &Module) -> Vec<Query> {
    let entry = module.entry();
    if entry.probes.iter().all(|probe| probe.feed.is_none()) {
        return Vec::new();
    }
    let everybody: Vec<String> = match entry.search_type {
        SearchType::Username => ENDS.iter().map(|end| format!("everybody{end}")).collect(),
        SearchType::Email => {
            let given = entry.domain_in.iter().map(String::as_str);
            given.chain(MAIL_DOMAINS).map(|domain| format!("everybody@{domain}")).collect()
        }
        SearchType::Domain => SUFFIXES.iter().map(|suffix| format!("everybody.{suffix}")).collect(),
    };
    let texts = entry.known.iter().chain(&everybody);
    texts
        .filter_map(|text| Query::parse(entry.search_type, text).ok())
        .filter(|query| module.why_refused(query).is_none())
        .collect()
}
