//! What makes no sense in an entry although each of its parts can be read.

use serde_json::Value;
use url::Url;

use super::control::two_made_up;
use super::definition::{Entry, MatcherEntry, Method, Scripts, StatusRule};
use super::mistake::Mistakes;
use super::module::{MAX_PROBES, Module, rules_on};
use super::plan::KEY_IS_TOLD;
use super::query::{Query, SearchType};
use super::render;
use super::rule::implication::{implies, on_any_answer};
use super::template::{Saved, Values, is_name};

/// The most rules, results and known names of each list.
const MAX_LISTED: usize = 50;

/// Checks what can be seen before anything is compiled.
pub(super) fn entry(entry: &Entry, mistakes: &mut Mistakes) {
    names(entry, mistakes);
    limits(entry, mistakes);
    preconditions(entry, mistakes);
    match entry.probes.len() {
        0 => mistakes.add_in("probes", "it is empty; a module sends at least one probe"),
        1..=MAX_PROBES => {}
        count => mistakes.add_in("probes", format!("{count} are too many; at most {MAX_PROBES}")),
    }
    if entry.probes.first().is_some_and(|probe| probe.fallback) {
        mistakes.add_in("probes[0].fallback", "the first probe cannot fall back on anything before it");
    }
    if entry.hit.is_empty() {
        mistakes.add_in("hit", "it is empty; without a rule nothing can ever be found");
    }
    order(entry, mistakes);
    redirects(entry, mistakes);
    render::lint(entry, mistakes);
}

/// Rules that others never let come to a verdict.
fn order(entry: &Entry, mistakes: &mut Mistakes) {
    for (index, hit) in entry.hit.iter().enumerate() {
        let place = format!("hit[{index}]");
        if entry.miss.contains(hit) {
            mistakes.add_in(&place, "the same rule stands in `miss`: it would always be a conflict");
        } else if let Some(miss) = entry.miss.iter().position(|miss| implies(hit, miss)) {
            let message = format!("`miss[{miss}]` holds wherever it does: it would always be a conflict");
            mistakes.add_in(&place, message);
        }
    }
    for (index, miss) in entry.miss.iter().enumerate().filter(|(_, miss)| !entry.hit.contains(miss)) {
        // Where a chain of probes breaks off, a miss may tell so alone.
        if miss.probe.is_none() && entry.probes.len() > 1 {
            continue;
        }
        if let Some(hit) = entry.hit.iter().position(|hit| implies(miss, hit)) {
            let message = format!("`hit[{hit}]` holds wherever it does: it would always be a conflict");
            mistakes.add_in(&format!("miss[{index}]"), message);
        }
    }
    for (field, rules) in [("hit", &entry.hit), ("miss", &entry.miss)] {
        for (index, rule) in rules.iter().enumerate() {
            let is_above = |wall: &&MatcherEntry| {
                (wall.probe.is_none() || wall.probe == rule.probe) && on_any_answer(rule, wall)
            };
            if let Some(wall) = entry.barrier.iter().position(|wall| is_above(&wall)) {
                let message = format!("`barrier[{wall}]` holds wherever it does, and barriers come first");
                mistakes.add_in(&format!("{field}[{index}]"), message);
            }
        }
    }
}

/// Redirects are either followed or seen.
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

fn names(entry: &Entry, mistakes: &mut Mistakes) {
    let is_word = |text: &str, extra: &[u8]| {
        !text.is_empty()
            && text.len() <= 64
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || extra.contains(&b))
    };
    if !is_word(&entry.id, b"_-.") {
        mistakes.add_in(
            "id",
            format!("`{}` is no id; allowed are a-z, 0-9, `_`, `-` and `.`, at most 64", entry.id),
        );
    }
    let platform = entry.platform.chars().count();
    if entry.platform.trim() != entry.platform || !(1..=80).contains(&platform) {
        mistakes.add_in("platform", "allowed are 1 to 80 characters without white space at the ends");
    }
    let words = std::iter::once(("category".to_owned(), &entry.category));
    let tags = entry.tags.iter().enumerate().map(|(index, tag)| (format!("tags[{index}]"), tag));
    for (field, word) in words.chain(tags) {
        if !is_word(word, b"_- ") {
            mistakes.add_in(
                &field,
                format!("`{word}` is no such word; allowed are a-z, 0-9, `_`, `-` and spaces, at most 64"),
            );
        }
    }
    if let Some(home) = &entry.home
        && !(["http://", "https://"].iter().any(|start| home.starts_with(start)) && Url::parse(home).is_ok())
    {
        mistakes.add_in("home", format!("`{home}` is no web address"));
    }
}

fn limits(entry: &Entry, mistakes: &mut Mistakes) {
    for (field, count) in [
        ("barrier", entry.barrier.len()),
        ("hit", entry.hit.len()),
        ("miss", entry.miss.len()),
        ("results", entry.results.len()),
        ("known", entry.known.len()),
    ] {
        if count > MAX_LISTED {
            mistakes.add_in(field, format!("{count} are too many; at most {MAX_LISTED}"));
        }
    }
    if entry.rank == Some(0) {
        mistakes.add_in("rank", "the most popular site has rank 1");
    }
    if entry.every_ms.is_some_and(|pause| !(1..=86_400_000).contains(&pause)) {
        mistakes.add_in("every_ms", "allowed are 1 to 86400000 (a day)");
    }
    if entry.per_day == Some(0) {
        mistakes.add_in("per_day", "0 checks a day are none; say `\"enabled\": false`");
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
    if entry.strip.as_deref() == Some("") {
        mistakes.add_in("strip", "it is empty; leave it out");
    }
    for (field, domains) in [("domain_in", &entry.domain_in), ("domain_not_in", &entry.domain_not_in)] {
        if kind != SearchType::Email && !domains.is_empty() {
            mistakes.add_in(field, "it is for email modules");
        }
        for (index, domain) in domains.iter().enumerate() {
            let is_domain = domain.contains('.')
                && domain.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b));
            if !is_domain {
                let message = format!("`{domain}` is no domain in lower case");
                mistakes.add_in(&format!("{field}[{index}]"), message);
            }
        }
    }
    if !entry.domain_in.is_empty() && !entry.domain_not_in.is_empty() {
        mistakes
            .add_in("domain_not_in", "`domain_in` says which domains are asked; leave one of the two out");
    }
    for (index, need) in entry.needs.iter().enumerate() {
        if !need.strip_prefix("config.").is_some_and(is_name) {
            let message = format!("`{need}` names no key; write `config.NAME`, NAME of a-z, 0-9 and `_`");
            mistakes.add_in(&format!("needs[{index}]"), message);
        }
    }
}

/// Checks what can be seen once everything is compiled.
pub(super) fn module(module: &Module, mistakes: &mut Mistakes) {
    let entry = module.entry();
    let used = module.keys();
    for (index, need) in entry.needs.iter().enumerate() {
        let name = need.strip_prefix("config.").unwrap_or(need);
        if !used.iter().any(|key| key.name == name) {
            let message = format!("no probe uses `{{config.{name}}}`; use it or take it out");
            mistakes.add_in(&format!("needs[{index}]"), message);
        }
    }
    for (index, known) in entry.known.iter().enumerate() {
        let field = format!("known[{index}]");
        match Query::parse(entry.search_type, known) {
            Err(error) => mistakes.add_in(&field, format!("it is no {} query: {error}", entry.search_type)),
            Ok(query) => {
                if let Some(reason) = module.why_refused(&query) {
                    mistakes.add_in(&field, format!("the module itself would skip it: {reason}"));
                }
            }
        }
    }
    subject(entry, mistakes);
    heads(module, mistakes);
    for (index, _) in module.plans.iter().enumerate().filter(|(_, plan)| plan.pages.is_some()) {
        let is_read = module.yields.list_probes().any(|probe| probe.is_none_or(|at| at == index));
        if !is_read {
            let message = "no `results` read this probe's answer: its further pages are of no use";
            mistakes.add_in(&format!("probes[{index}].pages"), message);
        }
    }
    addresses(module, mistakes);
    keys(module, mistakes);
}

/// A module that says the same of everyone. What a barrier asks for decides on no verdict.
fn subject(entry: &Entry, mistakes: &mut Mistakes) {
    let parts = (&entry.probes, &entry.hit, &entry.miss);
    // An entry that was read can be written.
    let depends = serde_json::to_value(parts).is_ok_and(|parts| is_about_query(&parts));
    if !depends {
        mistakes.add(
            "no probe and no rule of `hit` or `miss` is about the query: write it into a probe, as `{query}`, \
             or let a rule look for it, by `{query}`, `equals_query` or `shows_query`",
        );
    }
}

/// Whether the query, or a part of it, is a variable in a text anywhere inside, or what a condition asks for.
fn is_about_query(part: &Value) -> bool {
    match part {
        // Two braces are one brace of the text.
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

/// No key gets into a result.
fn keys(module: &Module, mistakes: &mut Mistakes) {
    for (index, _) in module.plans.iter().enumerate().filter(|(_, plan)| plan.has_key_in_address()) {
        if module.yields.told_addresses().any(|probe| probe.is_none_or(|at| at == index)) {
            mistakes.add_in(&format!("probes[{index}].url"), KEY_IS_TOLD);
        }
    }
}

/// A probe that follows no redirects is answered where it asked.
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
            // Few modules come this far: names are made up for them alone.
            let queries = queries.get_or_insert_with(|| some_queries(module));
            let is_found = queries.iter().any(|query| {
                let (name, saved) = (module.name_of(query), Saved::new());
                let values = Values { query, name: &name, keys: None, saved: &saved, value: None };
                // What only an earlier answer knows could be anything.
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

/// Its known names, and made-up ones.
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

/// An answer to HEAD has no body.
fn heads(module: &Module, mistakes: &mut Mistakes) {
    let is_head = |index: usize| module.plans[index].method == Method::Head;
    let all_head = module.plans.iter().all(|plan| plan.method == Method::Head);
    for (index, plan) in module.plans.iter().enumerate().filter(|(index, _)| is_head(*index)) {
        let reads_body =
            rules_on(module, index).any(|rule| rule.clues().reads_body && (rule.probe.is_some() || all_head));
        let saves_body = plan.save.iter().any(|(_, extractor)| extractor.body_need().is_some());
        let result_body = module.yields.extractors().any(|(probe, extractor)| {
            extractor.body_need().is_some() && (probe == Some(index) || (probe.is_none() && all_head))
        });
        let list_body =
            module.yields.list_probes().any(|probe| probe == Some(index) || (probe.is_none() && all_head));
        if reads_body || saves_body || result_body || list_body {
            let message = "HEAD brings no body, but a rule or an extractor reads it; say GET";
            mistakes.add_in(&format!("probes[{index}].method"), message);
        }
    }
}
