//! Checks for entries whose parts are each valid but contradict each other.

use jiff::civil::Date;
use serde_json::Value;
use url::Url;

use super::control::two_made_up;
use super::definition::{Entry, MatcherEntry, Method, Scripts, StatusRule};
use super::mistake::Mistakes;
use super::module::{Module, rules_on};
use super::pattern::Searches;
use super::plan::KEY_IS_TOLD;
use super::query::{Query, SearchType};
use super::render;
use super::rule::implication::implies;
use super::template::{Saved, Values};

/// Checks an entry before it is compiled.
pub(super) fn entry(entry: &Entry, mistakes: &mut Mistakes) {
    preconditions(entry, mistakes);
    if entry.probes.first().is_some_and(|probe| probe.fallback) {
        mistakes.add_in("probes[0].fallback", "the first probe cannot fall back on anything before it");
    }
    dates(entry, mistakes);
    order(entry, mistakes);
    redirects(entry, mistakes);
    render::lint(entry, mistakes);
}

/// Notes rules that can never decide an outcome because of other rules.
fn order(entry: &Entry, mistakes: &mut Mistakes) {
    for (index, hit) in entry.hit.iter().enumerate() {
        let place = format!("hit[{index}]");
        if entry.miss.contains(hit) {
            mistakes.add_in(&place, "the same rule is in `miss`: it would always be a conflict");
        } else if let Some(miss) =
            entry.miss.iter().position(|miss| miss.probe == hit.probe && implies(hit, miss))
        {
            let message = format!("`miss[{miss}]` holds wherever it does: it would always be a conflict");
            mistakes.add_in(&place, message);
        }
    }
    for (index, miss) in entry.miss.iter().enumerate().filter(|(_, miss)| !entry.hit.contains(miss)) {
        // If the sequence of probes ends early, this rule alone can prove a miss.
        if miss.probe.is_none() && entry.probes.len() > 1 {
            continue;
        }
        if let Some(hit) = entry.hit.iter().position(|hit| hit.probe == miss.probe && implies(miss, hit)) {
            let message = format!("`hit[{hit}]` holds wherever it does: it would always be a conflict");
            mistakes.add_in(&format!("miss[{index}]"), message);
        }
    }
    for (field, rules) in [("hit", &entry.hit), ("miss", &entry.miss)] {
        for (index, rule) in rules.iter().enumerate() {
            let is_above = |barrier: &&MatcherEntry| {
                (barrier.probe.is_none() || barrier.probe == rule.probe) && implies(rule, barrier)
            };
            if let Some(above) = entry.barrier.iter().position(|barrier| is_above(&barrier)) {
                let message = format!("`barrier[{above}]` holds wherever it does, and barriers come first");
                mistakes.add_in(&format!("{field}[{index}]"), message);
            }
        }
    }
}

/// Notes rules that expect a redirect as an answer of a probe that follows redirects.
fn redirects(entry: &Entry, mistakes: &mut Mistakes) {
    let lists = [("barrier", &entry.barrier), ("hit", &entry.hit), ("miss", &entry.miss)];
    for (field, rules) in lists {
        for (index, rule) in rules.iter().enumerate() {
            let mut probes = entry.probes.iter().enumerate();
            let is_about = |at: usize| rule.probe.is_none_or(|probe| probe == at);
            let are_followed = probes.all(|(at, probe)| probe.follows() || !is_about(at));
            let is_redirect =
                |rule: &StatusRule| matches!(rule, StatusRule::Code(301 | 302 | 303 | 307 | 308));
            if are_followed && !rule.status.is_empty() && rule.status.iter().all(is_redirect) {
                let message = "the probe follows redirects, so that none is an answer; leave `follow` out, \
                               or ask for a `final_url`";
                mistakes.add_in(&format!("{field}[{index}].status"), message);
            }
        }
    }
}

fn preconditions(entry: &Entry, mistakes: &mut Mistakes) {
    let kind = entry.search_type;
    if kind != SearchType::Username {
        if entry.scripts != Scripts::default() {
            mistakes.add_in("scripts", "it is for usernames; other queries are ASCII always");
        }
        if entry.strip.is_some() {
            mistakes.add_in("strip", "it is for usernames; other queries are asked as they are");
        }
    }
    for (field, domains) in [("domain_in", &entry.domain_in), ("domain_not_in", &entry.domain_not_in)] {
        if kind != SearchType::Email && !domains.is_empty() {
            mistakes.add_in(field, "it is for email modules");
        }
    }
    if !entry.domain_in.is_empty() && !entry.domain_not_in.is_empty() {
        mistakes
            .add_in("domain_not_in", "`domain_in` says which domains are asked; leave one of the two out");
    }
    if entry.home.as_ref().is_some_and(|home| Url::parse(home).is_err()) {
        mistakes.add_in("home", "it is not a web address");
    }
}

/// Notes days that do not exist, and a reason for being disabled on an enabled module.
fn dates(entry: &Entry, mistakes: &mut Mistakes) {
    let off = entry.off.as_ref().map(|off| ("off.date", &off.date));
    let verified = entry.verified.as_ref().map(|verified| ("verified.date", &verified.date));
    for (field, date) in off.into_iter().chain(verified) {
        // A month has no day to check.
        if date.len() > "2026-08".len() && date.parse::<Date>().is_err() {
            mistakes.add_in(field, format!("the day `{date}` does not exist"));
        }
    }
    if entry.off.is_some() && entry.enabled {
        mistakes.add_in("off", "it is for disabled modules; add `\"enabled\": false`, or leave it out");
    }
}

/// Checks an entry after it is compiled.
pub(super) fn module(module: &Module, mistakes: &mut Mistakes) {
    let entry = module.entry();
    let used = module.keys();
    for (index, need) in entry.needs.iter().enumerate() {
        let name = need.strip_prefix("config.").unwrap_or(need);
        if !used.iter().any(|key| key.name == name) {
            let message = format!("no probe uses `{{config.{name}}}`; use it or remove it");
            mistakes.add_in(&format!("needs[{index}]"), message);
        }
    }
    for (index, known) in entry.known.iter().enumerate() {
        let field = format!("known[{index}]");
        match Query::parse(entry.search_type, known) {
            Err(error) => {
                mistakes.add_in(&field, format!("it is not a valid {} query: {error}", entry.search_type));
            }
            Ok(query) => {
                if let Some(reason) = module.why_refused(&query) {
                    mistakes.add_in(&field, format!("the module itself would skip it: {reason}"));
                }
            }
        }
    }
    subject(entry, mistakes);
    heads(module, mistakes);
    addresses(module, mistakes);
    keys(module, mistakes);
}

/// Notes a module that gives every query the same outcome. Barrier rules do not
/// count, because they prove neither a hit nor a miss.
fn subject(entry: &Entry, mistakes: &mut Mistakes) {
    let parts = (&entry.probes, &entry.hit, &entry.miss);
    // Serializing cannot fail, because the entry was deserialized.
    let depends = serde_json::to_value(parts).is_ok_and(|parts| is_about_query(&parts));
    if !depends {
        mistakes.add(
            "no probe and no rule of `hit` or `miss` is about the query: write it into a probe, as `{query}`, \
             or let a rule look for it, by `{query}`, `equals_query` or `shows_query`",
        );
    }
}

/// Returns whether a text inside has a part of the query as a variable, or a condition asks for the query.
fn is_about_query(part: &Value) -> bool {
    match part {
        // Two braces are a literal brace.
        Value::String(text) => {
            let text = text.replace("{{", "");
            ["{query", "{local", "{domain"].iter().any(|variable| text.contains(variable))
        }
        Value::Array(parts) => parts.iter().any(is_about_query),
        Value::Object(members) => members.iter().any(|(name, part)| {
            matches!(name.as_str(), "equals_query" | "shows_query") || is_about_query(part)
        }),
        _ => false,
    }
}

/// Notes keys that could get into a result.
fn keys(module: &Module, mistakes: &mut Mistakes) {
    for (index, _) in module.plans.iter().enumerate().filter(|(_, plan)| plan.has_key_in_address()) {
        if module.result_fields.address_probes().any(|probe| probe.is_none_or(|at| at == index)) {
            mistakes.add_in(&format!("probes[{index}].url"), KEY_IS_TOLD);
        }
    }
}

/// Notes rules on `final_url` that cannot hold, because their probe does not follow redirects.
fn addresses(module: &Module, mistakes: &mut Mistakes) {
    let mut queries = None;
    for (field, rules) in [("barrier", &module.barrier), ("hit", &module.hit), ("miss", &module.miss)] {
        for (index, rule) in rules.iter().enumerate() {
            let only = (module.plans.len() == 1).then_some(0);
            let plan = rule.probe.or(only).and_then(|probe| module.plans.get(probe));
            let (Some(pattern), Some(plan)) = (rule.final_url(), plan.filter(|plan| !plan.follow)) else {
                continue;
            };
            let mut missed = None;
            // Few modules reach this line, so that names are made up only for them.
            let queries = queries.get_or_insert_with(|| some_queries(module));
            let is_found = queries.iter().any(|query| {
                let (name, saved) = (module.name_of(query), Saved::new());
                let searches = Searches::default();
                let values = Values::new(query, &name, &saved, &searches);
                // An address that depends on an earlier answer could be anything.
                let Some(url) = plan.address(&values) else { return true };
                let is_found = pattern.is_found(url.as_str(), &values);
                missed.get_or_insert(url);
                is_found
            });
            if let Some(url) = missed.filter(|_| !is_found) {
                let message = format!(
                    "the probe follows no redirects, so that its address stays such as `{url}`, in which this \
                     is not found; say `\"follow\": true`, or ask for the header `Location`"
                );
                mistakes.add_in(&format!("{field}[{index}].final_url"), message);
            }
        }
    }
}

/// Returns the known queries of the module, and made-up ones.
fn some_queries(module: &Module) -> Vec<Query> {
    let kind = module.search_type();
    let usual = match kind {
        SearchType::Username => "example",
        SearchType::Email => "someone@example.com",
        SearchType::Domain => "example.com",
    };
    let known = module.entry().known.iter().map(String::as_str).chain([usual]);
    let mut queries: Vec<Query> = known.filter_map(|text| Query::parse(kind, text).ok()).collect();
    queries.retain(|query| module.why_refused(query).is_none());
    let made_up = queries.first().map(|query| two_made_up(module, query, 0));
    queries.extend(made_up.into_iter().flatten());
    queries
}

/// Notes a HEAD probe whose body is read, because the answer to HEAD has no body.
fn heads(module: &Module, mistakes: &mut Mistakes) {
    let is_head = |index: usize| module.plans[index].method == Method::Head;
    let all_head = module.plans.iter().all(|plan| plan.method == Method::Head);
    for (index, plan) in module.plans.iter().enumerate().filter(|(index, _)| is_head(*index)) {
        let reads_body = rules_on(module, index)
            .any(|rule| rule.condition_kinds().reads_body && (rule.probe.is_some() || all_head));
        let saves_body = plan.save.iter().any(|(_, extractor)| extractor.body_need().is_some());
        let result_body = module.result_fields.extractors().any(|(probe, extractor)| {
            extractor.body_need().is_some() && (probe == Some(index) || (probe.is_none() && all_head))
        });
        let list_body = module
            .result_fields
            .list_probes()
            .any(|probe| probe == Some(index) || (probe.is_none() && all_head));
        if reads_body || saves_body || result_body || list_body {
            let message = "HEAD has no body, but a rule or an extractor reads it; use GET";
            mistakes.add_in(&format!("probes[{index}].method"), message);
        }
    }
}
