//! Chooses rules that separate the answers for known accounts from those for made-up names.

use serde::Deserialize as _;
use serde_json::{Value, json};

use super::candidates::{WORDS, candidates};
use super::evidence::{Evidence, Fit, Side};
use crate::modules::definition::{Basis, Entry, Matcher};
use crate::modules::judge::judge;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::probe::Response;
use crate::modules::query::Query;

/// The most rules of a side that are combined with those of the other side.
const MAX_OPTIONS: usize = 10;
/// The most entries that are proposed.
const MAX_PROPOSALS: usize = 4;
/// The members of a rule that are lists of which each element must hold.
const LISTS_OF_ALL: [&str; 6] = ["words", "no_word", "text", "no_header", "json", "css"];

/// The rules of one side for an entry.
struct Choice {
    rules: Vec<Matcher>,
    cost: usize,
}

/// Returns entries whose rules separate the answers of known accounts from those of made-up names, the best first.
///
/// `entry` is the existing entry, or a new one without rules. Everything but `hit` and `miss` is kept, and so are the
/// rules that still separate the answers. Returns nothing if no rules do. No request is sent.
pub(super) fn propose(entry: &Entry, evidence: &Evidence) -> Vec<Entry> {
    let Ok(module) = Module::compile(observing(entry)) else { return Vec::new() };
    let before = Module::compile(entry.to_enabled()).ok();
    let Evidence { known, made_up } = evidence;
    let hits = choices(&Side::new(&module, true, [known, made_up]), &entry.hit);
    let misses = choices(&Side::new(&module, false, [made_up, known]), &entry.miss);
    let mut pairs: Vec<(&Choice, &Choice)> =
        hits.iter().flat_map(|hit| misses.iter().map(move |miss| (hit, miss))).collect();
    pairs.sort_by_key(|(hit, miss)| hit.cost + miss.cost);
    let mut proposals: Vec<Entry> = Vec::new();
    for (hit, miss) in pairs {
        let made = Entry { hit: hit.rules.clone().into(), miss: miss.rules.clone().into(), ..entry.clone() };
        if !proposals.contains(&made) && is_right(&made, evidence, before.as_ref()) {
            proposals.push(made);
        }
        if proposals.len() >= MAX_PROPOSALS {
            break;
        }
    }
    proposals
}

/// Returns an enabled copy of an entry whose only rule reads the whole answer and never holds, so that the answer is
/// judged as a barrier or as unrecognized.
pub(super) fn observing(entry: &Entry) -> Entry {
    let reads_json = entry.hit.iter().chain(entry.miss.iter()).any(|rule| !rule.json.is_empty());
    // No server answers with this status.
    let mut never = json!({"status": [599], "words": ["{query}"]});
    if reads_json {
        never["json"] = json!([{"at": "", "exists": true}]);
    }
    let hit = Matcher::deserialize(never).into_iter().collect();
    Entry { hit, miss: [].into(), result: None, results: [].into(), ..entry.to_enabled() }
}

/// Returns the rules for a side that separate the answers, the best first. The existing rules are tried first.
fn choices(side: &Side<'_>, existing: &[Matcher]) -> Vec<Choice> {
    let old: Vec<(&Matcher, Fit)> = existing.iter().map(|rule| (rule, side.fit(rule))).collect();
    let sound = || old.iter().filter(|(_, fit)| !fit.is_in_others);
    let mut choices = Vec::new();
    if (0..side.wanted.len()).all(|answer| sound().any(|(_, fit)| fit.wanted[answer])) {
        let rules: Vec<Matcher> = sound().map(|(rule, _)| (*rule).clone()).collect();
        choices.push(Choice { cost: existing.len() - rules.len(), rules });
    }
    // What must be absent from a hit may be on pages that were not seen, such as those of suspended accounts.
    let replaced = old.iter().find(|(_, fit)| !fit.is_complete() || fit.is_in_others);
    let absent = replaced.filter(|_| side.is_hit).map(|(rule, _)| absences(side, rule));
    for (cost, mut rule) in candidates(side) {
        absent.iter().for_each(|absent| add(&mut rule, absent));
        rule["status"] = json!(side.statuses());
        let Ok(rule) = Matcher::deserialize(rule) else { continue };
        let fit = side.fit(&rule);
        if fit.is_complete() && !fit.is_in_others {
            // Alternatives for other kinds of accounts stay.
            let kept = sound().map(|(kept, _)| (*kept).clone()).filter(|kept| *kept != rule);
            choices.push(Choice { cost, rules: std::iter::once(rule.clone()).chain(kept).collect() });
        }
    }
    choices.sort_by_key(|choice| choice.cost);
    choices.truncate(MAX_OPTIONS);
    choices
}

/// Returns those conditions of an existing rule by which something must be absent, if it still is in all answers that the
/// rule must match. Conditions that must all hold are tested one by one.
fn absences(side: &Side<'_>, rule: &Matcher) -> Value {
    let whole = json!(rule);
    let alone = |key: &str, value: Value| json!({"ignore_case": whole["ignore_case"], (key): value});
    let parts = whole.as_object().into_iter().flatten().flat_map(|(key, value)| match value {
        Value::Array(all) if LISTS_OF_ALL.contains(&key.as_str()) => {
            all.iter().map(|one| alone(key, json!([one]))).collect()
        }
        _ => vec![alone(key, value.clone())],
    });
    let mut left = json!({});
    for part in parts {
        let Ok(rule) = Matcher::deserialize(&part) else { continue };
        let is_absence = rule.rests_on(&[Basis::Absence]) || !rule.no_header.is_empty();
        if is_absence && side.fit(&rule).is_complete() {
            add(&mut left, &part);
        }
    }
    left
}

/// Adds conditions to a rule.
fn add(rule: &mut Value, conditions: &Value) {
    for (key, value) in conditions.as_object().into_iter().flatten() {
        match (&mut rule[key.as_str()], value) {
            (Value::Array(all), Value::Array(more)) => all.extend(more.iter().cloned()),
            (slot, value) => *slot = value.clone(),
        }
    }
}

/// Returns whether an entry is valid, judges every answer as it should, and takes no answer of a failing site for a
/// hit or a miss that the existing entry `before` does not take it for.
fn is_right(entry: &Entry, evidence: &Evidence, before: Option<&Module>) -> bool {
    let Ok(module) = Module::compile(entry.to_enabled()) else { return false };
    let outcome =
        |module: &Module, query: &Query, response: &Response| judge(module, query, response).outcome;
    let sides = [(&evidence.known, Outcome::Hit), (&evidence.made_up, Outcome::Miss)];
    let is_judged = sides.into_iter().all(|(samples, wanted)| {
        samples.iter().all(|it| outcome(&module, &it.query, &it.response) == wanted)
    });
    let Some(sample) = evidence.known.first().filter(|_| is_judged) else { return false };
    WORDS.failing_answers.iter().all(|(status, content_type, body)| {
        let response = Response {
            status: *status,
            final_url: sample.response.final_url.clone(),
            headers: vec![("content-type".to_owned(), content_type.clone())],
            body: body.as_bytes().to_vec(),
            truncated: false,
        };
        let found = outcome(&module, &sample.query, &response);
        !matches!(found, Outcome::Hit | Outcome::Miss)
            || before.is_some_and(|before| outcome(before, &sample.query, &response) == found)
    })
}
