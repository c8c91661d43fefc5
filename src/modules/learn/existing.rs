//! Conditions of the existing rules that still hold, and JSON members that were renamed.

use serde_json::Value;

use super::candidate::{Candidate, statuses};
use super::evidence::{Evidence, Fit, Sample, Side, fits, responses};
use super::json::values;
use crate::modules::answer::Answer;
use crate::modules::definition::{CssRule, Entry, JsonRule, Matcher};
use crate::modules::html::Selectors;
use crate::modules::module::Module;
use crate::modules::pointer::Pointer;

/// The most renamed members that are tried for one rule.
const MAX_RENAMES: usize = 60;

/// A member of JSON that has another name now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rename {
    /// The pointer to the member until now.
    from: String,
    /// The pointer to the member now.
    to: String,
}

/// An existing rule with the conditions that still hold.
#[derive(Debug, Clone)]
pub(super) struct Adapted {
    /// The index of the rule in its list.
    pub(super) index: usize,
    /// The rule.
    pub(super) candidate: Candidate,
    /// The member that was renamed.
    pub(super) rename: Option<Rename>,
}

/// Adds the conditions of `more` to a rule. Where a rule can have only one condition of a kind, the first one stays.
pub(super) fn add(rule: &mut Matcher, more: Matcher) {
    fn append<T: PartialEq>(list: &mut Vec<T>, more: Vec<T>) {
        for one in more {
            if !list.contains(&one) {
                list.push(one);
            }
        }
    }
    rule.probe = rule.probe.or(more.probe);
    rule.ignore_case |= more.ignore_case;
    rule.final_url = rule.final_url.take().or(more.final_url);
    for (name, value) in more.header {
        rule.header.entry(name).or_insert(value);
    }
    append(&mut rule.no_header, more.no_header);
    append(&mut rule.words, more.words);
    if rule.any_word.is_empty() {
        rule.any_word = more.any_word;
    }
    append(&mut rule.no_word, more.no_word);
    append(&mut rule.text, more.text);
    rule.title = rule.title.take().or(more.title);
    rule.title_is = rule.title_is.take().or(more.title_is);
    rule.body_is = rule.body_is.take().or(more.body_is);
    rule.regex = rule.regex.take().or(more.regex);
    rule.shows_query |= more.shows_query;
    append(&mut rule.json, more.json);
    append(&mut rule.css, more.css);
}

/// Returns the conditions of a rule one by one. The status is left out.
pub(super) fn parts(rule: &Matcher) -> Vec<Matcher> {
    let base = || Matcher { ignore_case: rule.ignore_case, probe: rule.probe, ..Matcher::default() };
    let mut parts = Vec::new();
    parts.extend(rule.final_url.clone().map(|it| Matcher { final_url: Some(it), ..base() }));
    parts.extend(
        rule.header
            .iter()
            .map(|(name, value)| Matcher { header: [(name.clone(), value.clone())].into(), ..base() }),
    );
    parts.extend(rule.no_header.iter().map(|it| Matcher { no_header: vec![it.clone()], ..base() }));
    parts.extend(rule.words.iter().map(|it| Matcher { words: vec![it.clone()], ..base() }));
    if !rule.any_word.is_empty() {
        parts.push(Matcher { any_word: rule.any_word.clone(), ..base() });
    }
    parts.extend(rule.no_word.iter().map(|it| Matcher { no_word: vec![it.clone()], ..base() }));
    parts.extend(rule.text.iter().map(|it| Matcher { text: vec![it.clone()], ..base() }));
    parts.extend(rule.title.clone().map(|it| Matcher { title: Some(it), ..base() }));
    parts.extend(rule.title_is.clone().map(|it| Matcher { title_is: Some(it), ..base() }));
    parts.extend(rule.body_is.clone().map(|it| Matcher { body_is: Some(it), ..base() }));
    parts.extend(rule.regex.clone().map(|it| Matcher { regex: Some(it), ..base() }));
    parts.extend(rule.shows_query.then(|| Matcher { shows_query: true, ..base() }));
    parts.extend(rule.json.iter().map(|it| Matcher { json: vec![it.clone()], ..base() }));
    parts.extend(rule.css.iter().map(|it| Matcher { css: vec![it.clone()], ..base() }));
    parts
}

/// Returns whether a rule requires something that is in the answer. A status, or something that is absent, is on
/// many other answers, too.
pub(super) fn is_positive(rule: &Matcher) -> bool {
    let json = |rule: &JsonRule| {
        let JsonRule { exists, null, equals_query, at, json_type, .. } = rule;
        let is_typed = json_type.is_some() && !at.is_empty();
        *exists == Some(true)
            || *null == Some(true)
            || *equals_query == Some(true)
            || is_typed
            || rule.equals.is_some()
            || !rule.any_of.is_empty()
            || rule.equals_template.is_some()
            || rule.min_length.is_some()
            || rule.max_length.is_some()
            || rule.above.is_some()
            || rule.below.is_some()
            || rule.contains.is_some()
            || rule.matches.is_some()
    };
    let css = |rule: &CssRule| match rule {
        CssRule::Found(_) => true,
        CssRule::Detailed(condition) => condition.exists,
    };
    parts(rule).iter().any(|part| {
        part.no_header.is_empty()
            && part.no_word.is_empty()
            && part.json.iter().all(json)
            && part.css.iter().all(css)
    })
}

/// Returns the existing rules of a side with the conditions that still hold, and with the status of the answers.
pub(super) fn adapted(module: &Module, evidence: &Evidence, side: Side, rules: &[Matcher]) -> Vec<Adapted> {
    let status = statuses(responses(evidence.wanted(side)));
    let mut found = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let parts = parts(rule);
        let holds = |fit: &Option<Fit>| fit.as_ref().is_some_and(|fit| fit.is_complete(side));
        let held: Vec<bool> = fits(module, evidence, &parts).iter().map(holds).collect();
        let base = Matcher { probe: rule.probe, status: status.clone(), ..Matcher::default() };
        let join = |parts: &mut dyn Iterator<Item = &Matcher>| {
            let mut joined = base.clone();
            parts.for_each(|part| add(&mut joined, part.clone()));
            joined
        };
        let kept = join(&mut parts.iter().zip(&held).filter(|(_, held)| **held).map(|(part, _)| part));
        let lost = held.iter().filter(|held| !**held).count();
        found.push(Adapted { index, candidate: Candidate::new(4 + 2 * lost, kept), rename: None });
        let broken: Vec<&JsonRule> =
            parts.iter().zip(&held).filter(|(_, held)| !**held).flat_map(|(part, _)| &part.json).collect();
        for (rename, cost) in renames(module, evidence.wanted(side), &broken) {
            let renamed: Vec<Matcher> = parts.iter().map(|part| rename.applied_to(part)).collect();
            let candidate = Candidate::new(3 + cost, join(&mut renamed.iter()));
            found.push(Adapted { index, candidate, rename: Some(rename) });
        }
    }
    found
}

/// Returns the members that may have been renamed so that these conditions no longer hold, each with its cost.
fn renames(module: &Module, samples: &[Sample], broken: &[&JsonRule]) -> Vec<(Rename, usize)> {
    let selectors = Selectors::default();
    let Some(sample) = samples.first() else { return Vec::new() };
    let Some(response) = sample.responses.first() else { return Vec::new() };
    let answer = Answer::new(response, &selectors);
    let Some(root) = answer.json() else { return Vec::new() };
    let found = values(root, &module.name_of(&sample.query));
    let mut renames: Vec<(Rename, usize)> = Vec::new();
    for rule in broken {
        let segments: Vec<&str> = rule.at.split('/').skip(1).collect();
        for (position, old) in segments.iter().enumerate() {
            let front = &segments[..position];
            if *old == "*" || is_there(root, &segments[..=position]) {
                continue;
            }
            for (pointer, _) in &found {
                let others: Vec<&str> = pointer.split('/').skip(1).collect();
                let Some((new, parent)) = others.split_last() else { continue };
                if parent.len() != front.len() || !is_alike(parent, front) || *new == "*" {
                    continue;
                }
                let path = |segments: &[&str], last: &str| {
                    segments.iter().chain([&last]).map(|segment| format!("/{segment}")).collect::<String>()
                };
                let rename = Rename { from: path(front, old), to: path(front, new) };
                let cost = distance(old, new).min(10);
                if renames.len() < MAX_RENAMES && renames.iter().all(|(known, _)| *known != rename) {
                    renames.push((rename, cost));
                }
            }
            // Segments behind a missing one say nothing.
            break;
        }
    }
    renames
}

/// Returns whether two pointers lead to the same place. An index may stand for any element.
fn is_alike(found: &[&str], wanted: &[&str]) -> bool {
    let is_index = |segment: &str| segment == "*" || segment.bytes().all(|b| b.is_ascii_digit());
    found.iter().zip(wanted).all(|(one, other)| one == other || (*one == "*" && is_index(other)))
}

/// Returns whether the document has a value at these segments.
fn is_there(root: &Value, segments: &[&str]) -> bool {
    let pointer: String = segments.iter().map(|segment| format!("/{segment}")).collect();
    Pointer::parse(&pointer).is_ok_and(|pointer| !pointer.select(root).is_empty())
}

/// Returns how different two names are: the number of letters that only one of them has at its ends.
fn distance(one: &str, other: &str) -> usize {
    let common = |a: &mut dyn Iterator<Item = (char, char)>| a.take_while(|(a, b)| a == b).count();
    let front = common(&mut one.chars().zip(other.chars()));
    let back = common(&mut one.chars().rev().zip(other.chars().rev()));
    one.chars().count().max(other.chars().count()).saturating_sub(front.max(back)) / 2
}

impl Rename {
    fn applied_to(&self, rule: &Matcher) -> Matcher {
        let mut rule = rule.clone();
        for condition in &mut rule.json {
            if let Some(at) = self.renamed(&condition.at).and_then(|at| Pointer::parse(&at).ok()) {
                condition.at = at;
            }
        }
        rule
    }

    /// Returns a pointer with the new name of the member. Returns `None` if the pointer does not contain the member.
    fn renamed(&self, pointer: &str) -> Option<String> {
        let rest = pointer.strip_prefix(&self.from)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("{}{rest}", self.to))
    }

    /// Returns the entry with the new name in the extractors of its results.
    pub(super) fn applied_to_results(&self, entry: &Entry) -> Entry {
        let parts = (&entry.result, &entry.results);
        let renamed = serde_json::to_value(parts).and_then(|mut value| {
            self.rename_texts(&mut value);
            serde_json::from_value(value)
        });
        match renamed {
            Ok((result, results)) => Entry { result, results, ..entry.clone() },
            Err(_) => entry.clone(),
        }
    }

    fn rename_texts(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                let renamed = text.split_once(':').filter(|(kind, _)| matches!(*kind, "json" | "count"));
                if let Some(renamed) =
                    renamed.and_then(|(kind, pointer)| Some(format!("{kind}:{}", self.renamed(pointer)?)))
                {
                    *text = renamed;
                }
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.rename_texts(element)),
            Value::Object(members) => members.values_mut().for_each(|member| self.rename_texts(member)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_is_the_sum_of_its_conditions() {
        let rule: Matcher = serde_json::from_value(json!({
            "status": [200], "final_url": "a", "header": {"A": "b"}, "no_header": ["C"], "words": ["d", "e"],
            "any_word": ["f", "g"], "no_word": ["h"], "text": ["i"], "title": "j", "title_is": "k",
            "ignore_case": true, "body_is": "l", "regex": "m", "shows_query": true,
            "json": [{"at": "/n", "exists": true}], "css": ["p", {"select": "q", "exists": false}],
        }))
        .unwrap();
        let parts = parts(&rule);
        assert_eq!(parts.len(), 16);
        let mut sum = Matcher { status: rule.status.clone(), ..Matcher::default() };
        parts.iter().for_each(|part| add(&mut sum, part.clone()));
        assert_eq!(sum, rule);
        let negative = parts.iter().filter(|part| !is_positive(part)).count();
        assert_eq!(negative, 3, "no_header, no_word and the absent element");
    }

    #[test]
    fn a_renamed_member_is_renamed_in_the_results_too() {
        let rename = Rename { from: "/user/login".to_owned(), to: "/user/handle".to_owned() };
        let entry: Entry = serde_json::from_value(json!({
            "id": "a", "platform": "A", "type": "username", "category": "x",
            "probes": [{"url": "https://a.example/{query}"}], "hit": [{"status": [200]}],
            "result": {"type": "profile", "metadata": {"a": "json:/user/login", "b": "json:/user/login_at",
                "c": {"from": ["json:/user/login/x", "const:json"]}}},
        }))
        .unwrap();
        let renamed = serde_json::to_value(rename.applied_to_results(&entry).result).unwrap();
        assert_eq!(
            renamed["metadata"],
            json!({"a": "json:/user/handle", "b": "json:/user/login_at",
                "c": {"from": ["json:/user/handle/x", "const:json"]}})
        );
    }
}
