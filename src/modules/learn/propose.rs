//! Ranks rules by how well they separate the answers, and tries entries on them.

use super::candidate::{Candidate, statuses, template};
use super::evidence::{Evidence, Fit, Share, Side, fits, responses};
use super::existing::{Adapted, Rename, adapted, add, is_positive, parts};
use super::failures::is_misled;
use super::{head, json, page};
use crate::modules::definition::{Entry, Matcher, StatusRule};
use crate::modules::judge::judge;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;

/// The most rules of a side that are combined with those of the other side.
const MAX_OPTIONS: usize = 10;
/// The most entries that are proposed.
const MAX_PROPOSALS: usize = 4;
/// The most new conditions that are combined with what remains of an existing rule.
const MAX_COMBINED: usize = 12;

/// The rules of one side for an entry.
#[derive(Debug, Clone)]
struct Choice {
    rules: Vec<Matcher>,
    rename: Option<Rename>,
    cost: usize,
}

/// Returns entries whose rules separate the answers of known accounts from those of made-up names, the best first.
///
/// `entry` is the existing entry, or a new one without rules. Its existing rules are kept as far as they hold.
/// Everything but `hit`, `miss` and renamed members of JSON is kept. Returns nothing if no rules separate the answers.
/// No request is sent.
pub fn propose(entry: &Entry, evidence: &Evidence) -> Vec<Entry> {
    let Ok(module) = Module::compile(observing(entry)) else { return Vec::new() };
    let before = Module::compile(entry.to_enabled()).ok();
    let choices = |side| choices(&module, evidence, side, rules_of(entry, side));
    let (hits, misses) = (choices(Side::Hit), choices(Side::Miss));
    let mut pairs: Vec<(&Choice, &Choice)> =
        hits.iter().flat_map(|hit| misses.iter().map(move |miss| (hit, miss))).collect();
    pairs.sort_by_key(|(hit, miss)| hit.cost + miss.cost);
    let mut proposals: Vec<Entry> = Vec::new();
    for (hit, miss) in pairs {
        let mut made = Entry { hit: hit.rules.clone(), miss: miss.rules.clone(), ..entry.clone() };
        for rename in [&hit.rename, &miss.rename].into_iter().flatten() {
            made = rename.applied_to_results(&made);
        }
        if !proposals.contains(&made) && is_right(&made, evidence, before.as_ref()) {
            proposals.push(made);
        }
        if proposals.len() >= MAX_PROPOSALS {
            break;
        }
    }
    proposals
}

fn rules_of(entry: &Entry, side: Side) -> &[Matcher] {
    match side {
        Side::Hit => &entry.hit,
        Side::Miss => &entry.miss,
    }
}

/// Returns an enabled copy of an entry whose only rule reads the whole answer and never holds, so that the answer is
/// judged as a barrier or as unrecognized.
pub(super) fn observing(entry: &Entry) -> Entry {
    let reads_json = entry.hit.iter().chain(&entry.miss).any(|rule| !rule.json.is_empty());
    let never = Matcher {
        // No server answers with this status.
        status: vec![StatusRule::Code(599)],
        words: vec![template("{query}")],
        ..Matcher::default()
    };
    let rule = match reads_json {
        true => serde_json::from_value(serde_json::json!({"at": "", "exists": true})).ok(),
        false => None,
    };
    let hit = vec![Matcher { json: rule.into_iter().collect(), ..never }];
    Entry { hit, miss: Vec::new(), result: None, results: Vec::new(), ..entry.to_enabled() }
}

/// Returns the rules for a side that separate the answers, the best first.
fn choices(module: &Module, evidence: &Evidence, side: Side, existing: &[Matcher]) -> Vec<Choice> {
    let old = fits(module, evidence, existing);
    let is_sound = |index: usize| old[index].as_ref().is_some_and(|fit| fit.others(side) == Share::None);
    let mut choices = Vec::new();
    if is_covered(&old, side) {
        let rules: Vec<Matcher> = existing
            .iter()
            .enumerate()
            .filter(|(index, _)| is_sound(*index))
            .map(|(_, rule)| rule.clone())
            .collect();
        choices.push(Choice { cost: existing.len() - rules.len(), rules, rename: None });
    }
    let adapted = adapted(module, evidence, side, existing);
    let replaced = (0..existing.len()).find(|index| !is_sound(*index)).unwrap_or_default();
    let mut made: Vec<Adapted> = Vec::new();
    for new in new_conditions(module, evidence, side) {
        made.push(with_remains(&new, existing.get(replaced), replaced, evidence, side, module));
        for base in adapted.iter().filter(|base| base.rename.is_none() && is_positive(&base.candidate.rule)) {
            let mut rule = base.candidate.rule.clone();
            add(&mut rule, new.rule.clone());
            let candidate = Candidate::new(new.cost.saturating_sub(2), rule);
            made.push(Adapted { index: base.index, candidate, rename: None });
        }
    }
    made.extend(adapted);
    made.retain(|made| is_enough(&made.candidate.rule, side));
    let rules: Vec<Matcher> = made.iter().map(|made| made.candidate.rule.clone()).collect();
    for (made, fit) in made.into_iter().zip(fits(module, evidence, &rules)) {
        if !fit.is_some_and(|fit| fit.separates(side)) {
            continue;
        }
        let Adapted { index, candidate, rename } = made;
        // Alternatives for other kinds of accounts stay.
        let mut rules: Vec<Matcher> = Vec::new();
        for (at, rule) in existing.iter().enumerate() {
            if at == index {
                rules.push(candidate.rule.clone());
            } else if is_sound(at) && *rule != candidate.rule {
                rules.push(rule.clone());
            }
        }
        if existing.is_empty() {
            rules.push(candidate.rule);
        }
        choices.push(Choice { rules, rename, cost: candidate.cost });
    }
    choices.sort_by_key(|choice| choice.cost);
    choices.truncate(MAX_OPTIONS);
    choices
}

/// Returns whether each answer that the rules of this side must match is matched by a rule that matches no other.
fn is_covered(fits: &[Option<Fit>], side: Side) -> bool {
    let sound: Vec<&Fit> = fits.iter().flatten().filter(|fit| fit.others(side) == Share::None).collect();
    let count = sound.first().map_or(0, |fit| fit.wanted(side).len());
    count > 0 && (0..count).all(|answer| sound.iter().any(|fit| fit.wanted(side)[answer]))
}

/// Returns new conditions for a side, the best first.
fn new_conditions(module: &Module, evidence: &Evidence, side: Side) -> Vec<Candidate> {
    let mut found = head::candidates(module, evidence, side);
    found.extend(json::candidates(module, evidence, side));
    found.extend(page::candidates(module, evidence, side));
    let status = statuses(responses(evidence.wanted(side)));
    for candidate in &mut found {
        candidate.rule.status.clone_from(&status);
    }
    let rules: Vec<Matcher> = found.iter().map(|candidate| candidate.rule.clone()).collect();
    let fits = fits(module, evidence, &rules);
    let mut sound: Vec<Candidate> = found
        .into_iter()
        .zip(fits)
        .filter(|(_, fit)| fit.as_ref().is_some_and(|fit| fit.separates(side)))
        .map(|(candidate, _)| candidate)
        .collect();
    sound.sort_by_key(|candidate| candidate.cost);
    sound.truncate(MAX_COMBINED);
    sound
}

/// Returns a new rule, with what the rule that it replaces excludes, as far as that still holds.
fn with_remains(
    new: &Candidate,
    replaced: Option<&Matcher>,
    index: usize,
    evidence: &Evidence,
    side: Side,
    module: &Module,
) -> Adapted {
    let mut candidate = new.clone();
    let excluding: Vec<Matcher> =
        replaced.map(parts).unwrap_or_default().into_iter().filter(|part| !is_positive(part)).collect();
    for (part, fit) in excluding.iter().zip(fits(module, evidence, &excluding)) {
        if fit.is_some_and(|fit| fit.is_complete(side)) {
            add(&mut candidate.rule, part.clone());
        }
    }
    Adapted { index, candidate, rename: None }
}

/// Returns whether a new rule requires enough for its side. A hit needs something that is in the answer. A miss may
/// rest on a status that says by itself that something does not exist.
fn is_enough(rule: &Matcher, side: Side) -> bool {
    let is_told = |status: &StatusRule| matches!(status, StatusRule::Code(404 | 410));
    is_positive(rule) || (side == Side::Miss && !rule.status.is_empty() && rule.status.iter().all(is_told))
}

/// Returns whether an entry is valid, judges every answer as it should, and takes no answer of a failing site for a
/// hit or a miss that the existing entry `before` does not take it for.
fn is_right(entry: &Entry, evidence: &Evidence, before: Option<&Module>) -> bool {
    let Ok(module) = Module::compile(entry.to_enabled()) else { return false };
    let judged = |side: Side, wanted: Outcome| {
        evidence.wanted(side).iter().all(|sample| {
            sample
                .responses
                .iter()
                .all(|response| judge(&module, &sample.query, &[Some(response.clone())]).outcome == wanted)
        })
    };
    let Some(sample) = evidence.known.first() else { return false };
    let Some(response) = sample.responses.first() else { return false };
    judged(Side::Hit, Outcome::Hit)
        && judged(Side::Miss, Outcome::Miss)
        && !is_misled(&module, before, &sample.query, &response.final_url)
}
