//! What makes no sense in an entry although each of its parts can be read.

use std::collections::BTreeSet;

use url::Url;

use super::definition::{Entry, Method, Scripts, Via};
use super::mistake::Mistakes;
use super::module::{MAX_PROBES, Module, keys_used, rules_on};
use super::query::{Query, SearchType};
use super::template::is_name;

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
    for (index, rule) in entry.hit.iter().enumerate() {
        if entry.miss.contains(rule) {
            mistakes.add_in(
                &format!("hit[{index}]"),
                "the same rule stands in `miss`: it would always be a conflict",
            );
        }
    }
    let is_premium = entry.probes.iter().any(|probe| probe.via == Via::Browser);
    if is_premium && entry.search_type != SearchType::Username {
        mistakes.add_in("probes", "`\"via\": \"browser\"` is for username modules only");
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
        && !Url::parse(home).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
    {
        mistakes.add_in("home", format!("`{home}` is no web address"));
    }
}

fn limits(entry: &Entry, mistakes: &mut Mistakes) {
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
    if kind != SearchType::Email && !entry.domain_in.is_empty() {
        mistakes.add_in("domain_in", "it is for email modules");
    }
    for (index, domain) in entry.domain_in.iter().enumerate() {
        let is_domain = domain.contains('.')
            && domain.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b));
        if !is_domain {
            mistakes.add_in(&format!("domain_in[{index}]"), format!("`{domain}` is no domain in lower case"));
        }
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
    let used: BTreeSet<&str> = keys_used(module);
    for (index, need) in entry.needs.iter().enumerate() {
        let name = need.strip_prefix("config.").unwrap_or(need);
        if !used.contains(name) {
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
    heads(module, mistakes);
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
