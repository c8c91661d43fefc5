//! The verdict on the answers of a check: barrier, then miss and hit, then unknown.

use super::answer::Answer;
use super::barrier::{self, Barrier};
use super::confidence::Strength;
use super::extract::{Answers, Reading};
use super::module::Module;
use super::outcome::Outcome;
use super::probe::Response;
use super::query::Query;
use super::rule::matcher::Matcher;
use super::template::{Saved, Values};

/// What the rules make of the answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// `Hit`, `Miss`, `Blocked`, `RateLimited`, or `Error` where the rules come to no conclusion.
    pub outcome: Outcome,
    /// A machine-readable word: which barrier; `conflict`, `unrecognized`, `truncated` (the rest of a
    /// body that is too large might have told), `server_error`, `forbidden`, `no_answer`; `weak` for a miss that means "nothing public".
    pub reason: Option<&'static str>,
    /// Which rule fired, and its conditions, such as `hit[0]: status 200, json /login equals_query`.
    pub matcher: Option<String>,
    /// How long the site asked us to stay away, in whole seconds.
    pub retry_after_secs: Option<u64>,
    /// What a hit rests on.
    pub strength: Option<Strength>,
}

impl Verdict {
    fn new(outcome: Outcome, reason: Option<&'static str>, matcher: Option<String>) -> Self {
        Self { outcome, reason, matcher, retry_after_secs: None, strength: None }
    }
}

/// Judges the answers of a check, by probe (`None`: not obtained).
///
/// Pure: no request is sent, nothing is kept.
pub fn judge(module: &Module, query: &Query, responses: &[Option<Response>]) -> Verdict {
    let name = module.name_of(query);
    let answers = answers(module, responses);
    let saved = saved(module, query, &name, &answers);
    let values = Values { query, name: &name, keys: None, saved: &saved, value: None };
    judge_answers(module, &answers, &values)
}

/// Wraps responses for rules and extractors.
pub(crate) fn answers<'r>(module: &'r Module, responses: &'r [Option<Response>]) -> Answers<'r> {
    let wrap = |response: &'r Response| Answer::new(response, &module.selectors);
    Answers::new(responses.iter().map(|response| response.as_ref().map(wrap)).collect())
}

/// What all probes together save.
fn saved(module: &Module, query: &Query, name: &str, answers: &Answers<'_>) -> Saved {
    let mut saved = Saved::new();
    for (index, answer) in answers.obtained() {
        save_one(module, index, query, name, answer, &mut saved);
    }
    saved
}

/// Adds what one probe saves.
pub(crate) fn save_one(
    module: &Module,
    probe: usize,
    query: &Query,
    name: &str,
    answer: &Answer<'_>,
    saved: &mut Saved,
) {
    let Some(plan) = module.plans.get(probe).filter(|plan| !plan.save.is_empty()) else { return };
    let earlier = saved.clone();
    let values = Values { query, name, keys: None, saved: &earlier, value: None };
    plan.save(&Reading { answer: Some(answer), values, item: None }, saved);
}

/// Whether the answer of that probe is a barrier: of the global list or the module's own.
pub(crate) fn wall(
    module: &Module,
    probe: usize,
    answer: &Answer<'_>,
    values: &Values<'_>,
) -> Option<(Barrier, String)> {
    if let Some(found) = barrier::find(module, answer.response) {
        return Some((found, format!("barrier: {}", found.name)));
    }
    let own = |rule: &Matcher| rule.probe.is_none_or(|index| index == probe) && rule.holds(answer, values);
    let index = module.barrier.iter().position(own)?;
    let found = Barrier { outcome: Outcome::Blocked, reason: "barrier", name: "own" };
    Some((found, format!("barrier[{index}]: {}", module.barrier[index].label())))
}

pub(crate) fn judge_answers(module: &Module, answers: &Answers<'_>, values: &Values<'_>) -> Verdict {
    let Some(last) = answers.last() else {
        return Verdict::new(Outcome::Error, Some("no_answer"), None);
    };
    // An answer that a fallback replaced counts no more.
    let first =
        (0..=last).rfind(|index| module.plans.get(*index).is_some_and(|plan| plan.fallback)).unwrap_or(0);
    let mut walled = vec![false; last + 1];
    for (index, answer) in answers.obtained() {
        if let Some((found, label)) = wall(module, index, answer, values) {
            if index >= first {
                let verdict = Verdict::new(found.outcome, Some(found.reason), Some(label));
                return Verdict { retry_after_secs: barrier::retry_after_secs(answer.response), ..verdict };
            }
            walled[index] = true;
        }
    }
    // A chain that broke off: its last answer is not the one that a rule without a probe is about. It
    // may say that nothing is there (a 404 before the value that the next probe needs), never the rest.
    let is_broken = module.plans.get(last + 1).is_some_and(|plan| !plan.fallback);
    let fires = |rule: &Matcher| {
        let index = rule.probe.unwrap_or(last);
        !walled.get(index).copied().unwrap_or(true)
            && answers.get(Some(index)).is_some_and(|answer| rule.holds(answer, values))
    };
    let hit = module.hit.iter().position(|rule| (rule.probe.is_some() || !is_broken) && fires(rule));
    let miss = module.miss.iter().position(fires);
    match (hit, miss) {
        (Some(hit), None) => {
            let rule = &module.hit[hit];
            let label = format!("hit[{hit}]: {}", rule.label());
            let strength = Some(Strength::of(rule, &module.miss));
            Verdict { strength, ..Verdict::new(Outcome::Hit, None, Some(label)) }
        }
        (None, Some(miss)) => {
            let label = format!("miss[{miss}]: {}", module.miss[miss].label());
            Verdict::new(Outcome::Miss, module.entry().weak_miss.then_some("weak"), Some(label))
        }
        (Some(hit), Some(miss)) => {
            Verdict::new(Outcome::Error, Some("conflict"), Some(format!("hit[{hit}] and miss[{miss}]")))
        }
        (None, None) => {
            let is_cut = module
                .hit
                .iter()
                .chain(&module.miss)
                .filter(|rule| rule.clues().reads_body)
                .any(|rule| answers.get(Some(rule.probe.unwrap_or(last))).is_some_and(Answer::is_cut));
            unrecognized(answers.get(Some(last)).map_or(0, |answer| answer.response.status), is_cut)
        }
    }
}

/// No rule knows the answer: the status may still say why, or that a rule did not see the whole body.
fn unrecognized(status: u16, is_cut: bool) -> Verdict {
    match status {
        401 | 403 | 407 | 451 => Verdict::new(Outcome::Blocked, Some("forbidden"), None),
        500..=599 => Verdict::new(Outcome::Error, Some("server_error"), None),
        _ if is_cut => Verdict::new(Outcome::Error, Some("truncated"), None),
        _ => Verdict::new(Outcome::Error, Some("unrecognized"), None),
    }
}
