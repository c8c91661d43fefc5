//! The verdict on the answers of a check: barrier, then miss and hit, then unknown.

use super::answer::Answer;
use super::barrier::{self, Barrier};
use super::confidence::Strength;
use super::definition::Method;
use super::extract::{Answers, Reading};
use super::identity::{self, Objection};
use super::module::Module;
use super::outcome::Outcome;
use super::plan::Plan;
use super::probe::Response;
use super::query::{Query, SearchType};
use super::rule::matcher::Matcher;
use super::template::{Saved, Values};

/// What the rules make of the answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// `Hit`, `Miss`, `Blocked`, `RateLimited`, or `Error` where the rules come to no conclusion.
    pub outcome: Outcome,
    /// A machine-readable word: which barrier; `conflict`, `unrecognized`, `empty` (a 200 without a
    /// body), `truncated` (the rest of a body that is too large might have told), `json_too_large` (JSON of
    /// more values than are read), `other_account` (the page
    /// names another account), `front_page` (the request ended there), `server_error`, `forbidden`,
    /// `no_answer`; `weak` for a miss that means "nothing public".
    pub reason: Option<&'static str>,
    /// Which rule fired, and its conditions, such as `hit[0]: status 200, json /login equals_query`.
    pub matcher: Option<String>,
    /// What a hit rests on.
    pub strength: Option<Strength>,
}

impl Verdict {
    pub(super) fn new(outcome: Outcome, reason: Option<&'static str>, matcher: Option<String>) -> Self {
        Self { outcome, reason, matcher, strength: None }
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
    let asked = || module.plans.get(probe).and_then(|plan| plan.address(values));
    if let Some(found) = answer.barrier(|response| barrier::find(module, response, asked().as_ref())) {
        return Some((found, format!("barrier: {}", found.name)));
    }
    let own = |rule: &Matcher| rule.probe.is_none_or(|index| index == probe) && rule.holds(answer, values);
    let index = module.barrier.iter().position(own)?;
    let found = Barrier::block("barrier");
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
                return Verdict::new(found.outcome, Some(found.name), Some(label));
            }
            walled[index] = true;
        }
    }
    // A chain that broke off: its last answer is not the one that a rule without a probe is about. It
    // may say that nothing is there (a 404 before the value that the next probe needs), never the rest.
    let is_broken = module.plans.get(last + 1).is_some_and(|plan| !plan.fallback);
    let case_at =
        |probe: usize| answers.get(Some(probe)).map(|answer| Case { module, probe, answer, values });
    let case_of = |rule: &Matcher| case_at(rule.probe.unwrap_or(last));
    let fires = |rule: &Matcher| {
        case_of(rule).is_some_and(|case| {
            !walled.get(case.probe).copied().unwrap_or(true)
                && (rule.bears_emptiness() || !case.is_empty())
                && rule.holds(case.answer, values)
        })
    };
    let misses = |rule: &Matcher| {
        fires(rule) && !case_of(rule).is_some_and(|case| case.is_misplaced(rule) || case.leads_back(rule))
    };
    let hit = module.hit.iter().position(|rule| (rule.probe.is_some() || !is_broken) && fires(rule));
    let miss = module.miss.iter().position(misses);
    match (hit, miss) {
        (Some(hit), None) => {
            let rule = &module.hit[hit];
            let label = format!("hit[{hit}]: {}", rule.label());
            if let Some((outcome, reason)) = case_of(rule).and_then(|case| case.objection(rule)) {
                return Verdict::new(outcome, Some(reason), Some(label));
            }
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
            let rules = || module.hit.iter().chain(&module.miss);
            let answer_to = |rule: &Matcher| answers.get(Some(rule.probe.unwrap_or(last)));
            let is_cut = rules()
                .filter(|rule| rule.clues().reads_body)
                .any(|rule| answer_to(rule).is_some_and(Answer::is_cut));
            let answer = answers.get(Some(last));
            if case_at(last).is_some_and(Case::is_empty) {
                return Verdict::new(Outcome::Error, Some("empty"), None);
            }
            let is_overfull = rules()
                .filter(|rule| rule.reads_json())
                .any(|rule| answer_to(rule).is_some_and(Answer::is_overfull));
            unrecognized(answer.map_or(0, |answer| answer.response.status), is_cut, is_overfull)
        }
    }
}

/// An answer, and what was asked for it.
#[derive(Clone, Copy)]
struct Case<'c, 'a> {
    module: &'c Module,
    probe: usize,
    answer: &'c Answer<'a>,
    values: &'c Values<'c>,
}

impl Case<'_, '_> {
    /// A 200 without a body where one is due says neither yes nor no.
    fn is_empty(self) -> bool {
        let has_body = self.module.plans.get(self.probe).is_some_and(|plan| plan.method != Method::Head);
        let response = self.answer.response;
        has_body && response.status == 200 && !response.truncated && response.body.trim_ascii().is_empty()
    }

    /// A page where JSON is due: a rule that only knows what is not there has nothing to say about it.
    fn is_misplaced(self, miss: &Matcher) -> bool {
        let is_about = |rule: &&Matcher| rule.probe.is_none_or(|index| index == self.probe);
        let mut hits = self.module.hit.iter().filter(is_about).peekable();
        let clues = miss.clues();
        (200..300).contains(&self.answer.response.status)
            && !(clues.json || clues.marker)
            && self.answer.is_page()
            && hits.peek().is_some()
            && hits.all(Matcher::reads_json)
    }

    /// A redirect to the very page that was asked for, perhaps written another way: a rule that does not
    /// look at its target has nothing to say about it.
    fn leads_back(self, miss: &Matcher) -> bool {
        let reads = |plan: &&Plan| matches!(plan.method, Method::Get | Method::Head);
        let response = self.answer.response;
        (300..400).contains(&response.status)
            && response.header("location").is_some()
            && !miss.judges_redirects()
            && self
                .module
                .plans
                .get(self.probe)
                .filter(reads)
                .and_then(|plan| plan.address(self.values))
                .is_some_and(|asked| identity::is_same(&asked, &barrier::landed(response)))
    }

    /// What speaks against a hit although its rule holds.
    fn objection(self, rule: &Matcher) -> Option<(Outcome, &'static str)> {
        let Self { module, answer, values, .. } = self;
        let plan = module.plans.get(self.probe)?;
        let asked = plan.address(values)?;
        let is_username = module.search_type() == SearchType::Username && plan.method == Method::Get;
        let by_address = identity::by_address(&asked, answer, values.name)
            .filter(|_| !rule.judges_redirects() && !module.entry().discovery);
        match by_address {
            Some(Objection::LoginPage) => return Some((Outcome::Blocked, "login_wall")),
            Some(Objection::FrontPage) => return Some((Outcome::Error, "front_page")),
            Some(Objection::OtherAccount) if is_username && !rule.proves_name() => {
                return Some((Outcome::Error, "other_account"));
            }
            Some(Objection::OtherAccount) | None => {}
        }
        let is_others = is_username && !rule.proves_name() && identity::by_page(&asked, answer, values);
        is_others.then_some((Outcome::Error, "other_account"))
    }
}

/// No rule knows the answer: the status may still say why, or that a rule did not see the whole body.
fn unrecognized(status: u16, is_cut: bool, is_overfull: bool) -> Verdict {
    match status {
        401 | 403 | 407 | 451 => Verdict::new(Outcome::Blocked, Some("forbidden"), None),
        500..=599 => Verdict::new(Outcome::Error, Some("server_error"), None),
        _ if is_cut => Verdict::new(Outcome::Error, Some("truncated"), None),
        _ if is_overfull => Verdict::new(Outcome::Error, Some("json_too_large"), None),
        _ => Verdict::new(Outcome::Error, Some("unrecognized"), None),
    }
}
