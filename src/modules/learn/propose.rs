//! Ranks rules by how well they separate the answers, and tries entries on them.

use serde::Deserialize;
use serde_json::{Value, json};

use super::candidates::candidates;
use super::evidence::{Evidence, Fit, Side};
use super::words::WORDS;
use crate::modules::definition::{Entry, Matcher};
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
/// `entry` is the existing entry, or a new one without rules. Its existing rules are kept as far as they hold.
/// Everything but `hit` and `miss` is kept. Returns nothing if no rules separate the answers. No request is sent.
pub(super) fn propose(entry: &Entry, evidence: &Evidence) -> Vec<Entry> {
    let Ok(module) = Module::compile(observing(entry)) else { return Vec::new() };
    let before = Module::compile(entry.to_enabled()).ok();
    let hits = choices(&evidence.side(&module, true), &entry.hit);
    let misses = choices(&evidence.side(&module, false), &entry.miss);
    let mut pairs: Vec<(&Choice, &Choice)> =
        hits.iter().flat_map(|hit| misses.iter().map(move |miss| (hit, miss))).collect();
    pairs.sort_by_key(|(hit, miss)| hit.cost + miss.cost);
    let mut proposals: Vec<Entry> = Vec::new();
    for (hit, miss) in pairs {
        let made = Entry { hit: hit.rules.clone(), miss: miss.rules.clone(), ..entry.clone() };
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
    let reads_json = entry.hit.iter().chain(&entry.miss).any(|rule| !rule.json.is_empty());
    // No server answers with this status.
    let mut never = json!({"status": [599], "words": ["{query}"]});
    if reads_json {
        never["json"] = json!([{"at": "", "exists": true}]);
    }
    let hit = parse([&never]);
    Entry { hit, miss: Vec::new(), result: None, results: Vec::new(), ..entry.to_enabled() }
}

/// Returns the rules for a side that separate the answers, the best first. What still holds is tried first: the existing
/// rules, and their remaining conditions.
fn choices(side: &Side<'_>, existing: &[Matcher]) -> Vec<Choice> {
    let existing: Vec<Value> = existing.iter().map(|rule| json!(rule)).collect();
    let old = side.fits(&existing);
    let mut choices = Vec::new();
    if is_covered(&old) {
        let sound = existing.iter().zip(&old).filter(|(_, fit)| fit.is_sound);
        let rules = parse(sound.map(|(rule, _)| rule));
        choices.push(Choice { cost: existing.len() - rules.len(), rules });
    }
    let remains: Vec<Vec<Value>> = existing.iter().map(|rule| remains(side, rule)).collect();
    let replaced = old.iter().position(|fit| !fit.is_sound).unwrap_or_default();
    // What must be absent from an answer may stand on pages that were not seen, such as challenges.
    let guards: Vec<&Value> =
        remains.get(replaced).into_iter().flatten().filter(|condition| is_guard(condition)).collect();
    let remaining = remains.iter().enumerate().map(|(index, conditions)| {
        let mut rule = json!({});
        conditions.iter().for_each(|condition| add(condition, &mut rule));
        (4, index, rule)
    });
    let new = candidates(side).into_iter().map(|(cost, mut rule)| {
        guards.iter().for_each(|condition| add(condition, &mut rule));
        (cost, replaced, rule)
    });
    // Each rule with its cost, and with the index of the one that it replaces, if there is any.
    let mut made: Vec<(usize, usize, Value)> = remaining.chain(new).collect();
    made.iter_mut().for_each(|(.., rule)| rule["status"] = side.statuses());
    made.retain(|(.., rule)| is_enough(rule, side.is_hit));
    let rules: Vec<Value> = made.iter().map(|(.., rule)| rule.clone()).collect();
    for ((cost, index, rule), fit) in made.into_iter().zip(side.fits(&rules)) {
        if fit.separates() {
            // Alternatives for other kinds of accounts stay.
            let is_kept = |at: usize| at != index && old[at].is_sound && existing[at] != rule;
            let kept = (0..existing.len()).filter(|at| is_kept(*at)).map(|at| &existing[at]);
            choices.push(Choice { rules: parse(std::iter::once(&rule).chain(kept)), cost });
        }
    }
    choices.sort_by_key(|choice| choice.cost);
    choices.truncate(MAX_OPTIONS);
    choices
}

/// Returns whether each answer that the rules of this side must match is matched by a rule that matches no other.
fn is_covered(fits: &[Fit]) -> bool {
    let sound: Vec<&Fit> = fits.iter().filter(|fit| fit.is_sound).collect();
    let count = sound.first().map_or(0, |fit| fit.wanted.len());
    count > 0 && (0..count).all(|answer| sound.iter().any(|fit| fit.wanted[answer]))
}

/// Returns the conditions of an existing rule that still hold, each as a rule. Conditions that must all hold are tested
/// one by one.
fn remains(side: &Side<'_>, rule: &Value) -> Vec<Value> {
    let alone = |key: &str, value: Value| match rule["ignore_case"] == true {
        true => json!({ (key): value, "ignore_case": true }),
        false => json!({ (key): value }),
    };
    let parts = rule.as_object().into_iter().flatten().flat_map(|(key, value)| match value {
        Value::Array(all) if LISTS_OF_ALL.contains(&key.as_str()) => {
            all.iter().map(|one| alone(key, json!([one]))).collect()
        }
        _ => vec![alone(key, value.clone())],
    });
    let parts: Vec<Value> = parts.collect();
    let fits = side.fits(&parts);
    parts.into_iter().zip(fits).filter(|(_, fit)| fit.is_complete()).map(|(part, _)| part).collect()
}

/// Adds a condition to a rule.
fn add(condition: &Value, rule: &mut Value) {
    for (key, value) in condition.as_object().into_iter().flatten() {
        match (&mut rule[key.as_str()], value) {
            (Value::Array(all), Value::Array(more)) if LISTS_OF_ALL.contains(&key.as_str()) => {
                all.extend(more.iter().cloned());
            }
            (slot, value) => *slot = value.clone(),
        }
    }
}

/// Returns whether a condition requires that something is absent.
fn is_guard(condition: &Value) -> bool {
    let reads = |rule: Matcher| rule.condition_kinds().absence || !rule.no_header.is_empty();
    Matcher::deserialize(condition).is_ok_and(reads)
}

/// Returns whether a rule requires more than a status and the absence of something, which are on many other answers as
/// well. A status may say by itself that something does not exist.
fn is_enough(rule: &Value, is_hit: bool) -> bool {
    let Ok(parsed) = Matcher::deserialize(rule) else { return false };
    let kinds = parsed.condition_kinds();
    if is_hit {
        return kinds.json
            || kinds.marker
            || kinds.echo_in_json
            || kinds.echo_in_text
            || parsed.final_url.is_some();
    }
    let mut keys = rule.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
    keys.any(|key| !matches!(key, "status" | "probe" | "ignore_case" | "no_header" | "no_word"))
        || rule["status"]
            .as_array()
            .is_some_and(|codes| codes.iter().all(|code| *code == 404 || *code == 410))
}

fn parse<'v>(rules: impl IntoIterator<Item = &'v Value>) -> Vec<Matcher> {
    rules.into_iter().filter_map(|rule| Matcher::deserialize(rule).ok()).collect()
}

/// Returns whether an entry is valid, judges every answer as it should, and takes no answer of a failing site for a
/// hit or a miss that the existing entry `before` does not take it for.
fn is_right(entry: &Entry, evidence: &Evidence, before: Option<&Module>) -> bool {
    let Ok(module) = Module::compile(entry.to_enabled()) else { return false };
    let outcome =
        |module: &Module, query: &Query, response: Response| judge(module, query, &[Some(response)]).outcome;
    let sides = [(&evidence.known, Outcome::Hit), (&evidence.made_up, Outcome::Miss)];
    let is_judged = sides.into_iter().all(|(samples, wanted)| {
        let mut all = samples.iter().flat_map(|it| it.responses.iter().map(|response| (&it.query, response)));
        all.all(|(query, response)| outcome(&module, query, response.clone()) == wanted)
    });
    let Some(sample) = evidence.known.first().filter(|_| is_judged) else { return false };
    let Some(response) = sample.responses.first() else { return false };
    WORDS.failing_answers.iter().all(|(status, content_type, body)| {
        let response = Response {
            status: *status,
            final_url: response.final_url.clone(),
            headers: vec![("content-type".to_owned(), content_type.clone())],
            body: body.as_bytes().to_vec(),
            truncated: false,
        };
        let found = outcome(&module, &sample.query, response.clone());
        !matches!(found, Outcome::Hit | Outcome::Miss)
            || before.is_some_and(|before| outcome(before, &sample.query, response) == found)
    })
}
