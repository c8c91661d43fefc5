//! Applies the rules of a module to the answers of a check: barriers first, then the rules for miss and hit.

use super::answer::Answer;
use super::barrier::{self, Barrier};
use super::confidence::Strength;
use super::definition::{Matcher, Method, Probe};
use super::extract::{Answers, Reading};
use super::identity::{self, Rejection};
use super::module::Module;
use super::outcome::Outcome;
use super::pattern::Searches;
use super::probe::Response;
use super::query::{Query, SearchType};
use super::reason::Reason;
use super::template::{Saved, Values};

/// The outcome that the rules give the answers, with its reason.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The outcome: `Hit`, `Miss`, `Blocked` or `RateLimited`; `Error` if the rules come to no conclusion;
    /// `Timeout` if they did not finish in time.
    pub outcome: Outcome,
    /// The reason of the outcome: the barrier, or the problem that the rules found.
    pub reason: Option<Reason>,
    /// The rule that held and its conditions, such as `hit[0]: status 200, json /login equals_query`.
    pub matcher: Option<String>,
    /// The strength of the evidence for a hit.
    pub strength: Option<Strength>,
    /// Whether this is a bare miss: no rule that requires some content held, only one about the status, the headers or
    /// the address, or about something that is absent or empty.
    pub is_bare_miss: bool,
}

impl Verdict {
    pub(super) fn new(outcome: Outcome, reason: Option<Reason>, matcher: Option<String>) -> Self {
        Self { outcome, reason, matcher, strength: None, is_bare_miss: false }
    }
}

/// Judges the answers of a check, in the order of the probes. `None` is an answer that was not obtained.
///
/// No request is sent and nothing is stored.
pub fn judge(module: &Module, query: &Query, responses: &[Option<Response>]) -> Verdict {
    let name = module.name_of(query);
    let searches = Searches::default();
    let mut answers: Vec<Option<Answer<'_>>> = Vec::new();
    let mut saved = Saved::new();
    for (probe, response) in responses.iter().enumerate() {
        let answer = response.as_ref().map(Answer::new);
        if let Some(answer) = &answer {
            let earlier = saved.clone();
            save_one(module, probe, answer, Values::new(query, &name, &earlier, &searches), &mut saved);
        }
        // An answer from a source that a fallback replaced does not count.
        if answer.is_some() && module.entry().probes.get(probe).is_some_and(|plan| plan.fallback) {
            answers.iter_mut().for_each(|earlier| *earlier = None);
        }
        answers.push(answer);
    }
    judge_answers(module, &Answers::new(answers), &Values::new(query, &name, &saved, &searches))
}

/// Adds the values that one probe saves. `values` contain those that earlier probes saved.
pub(crate) fn save_one(
    module: &Module,
    probe: usize,
    answer: &Answer<'_>,
    values: Values<'_>,
    saved: &mut Saved,
) {
    let Some(plan) = module.entry().probes.get(probe).filter(|plan| !plan.save.is_empty()) else { return };
    plan.save(&Reading { answer: Some(answer), values, item: None }, saved);
}

/// Returns the barrier that the answer to a probe is, from the global list or the module's own, with its
/// label.
pub(crate) fn barrier_of(
    module: &Module,
    probe: usize,
    answer: &Answer<'_>,
    values: &Values<'_>,
) -> Option<(Barrier, String)> {
    let asked = module.entry().probes.get(probe).and_then(|plan| plan.address(values));
    let names = barrier::names_in_address(values.query, values.name);
    if let Some(found) = barrier::find(module, answer.response, asked.as_ref(), &names) {
        return Some((found, format!("barrier: {}", found.name)));
    }
    let own = |rule: &Matcher| rule.probe.is_none_or(|index| index == probe) && rule.holds(answer, values);
    let index = module.entry().barrier.iter().position(own)?;
    let found = Barrier::block(Reason::Barrier);
    Some((found, format!("barrier[{index}]: {}", module.entry().barrier[index].label())))
}

/// Applies the rules to the answers of one source. If a search did not end in time, the verdict is a timeout. If one
/// found nothing and did not read to the end, there is no conclusion.
pub(crate) fn judge_answers(module: &Module, answers: &Answers<'_>, values: &Values<'_>) -> Verdict {
    let verdict = apply_rules(module, answers, values);
    if values.searches.is_out_of_time() {
        return Verdict::new(Outcome::Timeout, Some(Reason::TimeoutRules), None);
    }
    match values.searches.is_cut_short() {
        true => Verdict::new(Outcome::Error, Some(Reason::Truncated), None),
        false => verdict,
    }
}

fn apply_rules(module: &Module, answers: &Answers<'_>, values: &Values<'_>) -> Verdict {
    let entry = module.entry();
    let Some(last) = answers.last() else {
        return Verdict::new(Outcome::Error, Some(Reason::NoAnswer), None);
    };
    for (index, answer) in answers.obtained() {
        if let Some((found, label)) = barrier_of(module, index, answer, values) {
            return Verdict::new(found.outcome, Some(found.name), Some(label));
        }
    }
    // The sequence of probes ended early, so the last answer is not the one that a rule without a probe is
    // about. It may still prove a miss (a 404 instead of the value that the next probe needs, or a page that says so), but
    // not a hit.
    let is_broken = entry.probes.get(last + 1).is_some_and(|plan| !plan.fallback);
    let case_at =
        |probe: usize| answers.get(Some(probe)).map(|answer| Case { module, probe, answer, values });
    let case_of = |rule: &Matcher| case_at(rule.probe.unwrap_or(last));
    let fires = |rule: &Matcher| {
        case_of(rule).is_some_and(|case| {
            (rule.allows_empty_body() || !case.is_empty()) && rule.holds(case.answer, values)
        })
    };
    let misses = |rule: &Matcher| {
        let is_about_next = |case: Case<'_, '_>| {
            is_broken
                && rule.probe.is_none()
                && rule.is_bare()
                && !matches!(case.answer.response.status, 404 | 410)
        };
        fires(rule)
            && !case_of(rule)
                .is_some_and(|case| is_about_next(case) || case.is_misplaced(rule) || case.leads_back(rule))
    };
    let hit = entry.hit.iter().position(|rule| (rule.probe.is_some() || !is_broken) && fires(rule));
    let miss = entry.miss.iter().position(misses);
    match (hit, miss) {
        (Some(hit), None) => {
            let rule = &entry.hit[hit];
            let label = format!("hit[{hit}]: {}", rule.label());
            if let Some((outcome, reason)) = case_of(rule).and_then(|case| case.rejection(rule)) {
                return Verdict::new(outcome, Some(reason), Some(label));
            }
            let strength = Some(Strength::of(rule, &entry.miss));
            Verdict { strength, ..Verdict::new(Outcome::Hit, None, Some(label)) }
        }
        (None, Some(miss)) => {
            let label = format!("miss[{miss}]: {}", entry.miss[miss].label());
            let reason = entry.weak_miss.then_some(Reason::Weak);
            let is_bare_miss = !entry.miss[miss..].iter().any(|rule| !rule.is_bare() && misses(rule));
            Verdict { is_bare_miss, ..Verdict::new(Outcome::Miss, reason, Some(label)) }
        }
        (Some(hit), Some(miss)) => {
            Verdict::new(Outcome::Error, Some(Reason::Conflict), Some(format!("hit[{hit}] and miss[{miss}]")))
        }
        (None, None) => no_rule_fired(module, answers, last, case_at(last).is_some_and(Case::is_empty)),
    }
}

/// Returns the verdict if no rule held. `is_empty` says whether the answer to the probe `last` has no content.
fn no_rule_fired(module: &Module, answers: &Answers<'_>, last: usize, is_empty: bool) -> Verdict {
    if is_empty {
        return Verdict::new(Outcome::Error, Some(Reason::Empty), None);
    }
    let rules = || module.entry().hit.iter().chain(&module.entry().miss);
    let answer_to = |rule: &Matcher| answers.get(Some(rule.probe.unwrap_or(last)));
    let is_cut = rules()
        .filter(|rule| rule.condition_kinds().reads_body)
        .any(|rule| answer_to(rule).is_some_and(Answer::is_cut));
    let is_json_too_large = rules()
        .filter(|rule| rule.reads_json())
        .any(|rule| answer_to(rule).is_some_and(Answer::is_json_too_large));
    let status = answers.get(Some(last)).map_or(0, |answer| answer.response.status);
    unrecognized(status, is_cut, is_json_too_large)
}

/// An answer, with the probe and the values of its request.
#[derive(Clone, Copy)]
struct Case<'c, 'a> {
    module: &'c Module,
    probe: usize,
    answer: &'c Answer<'a>,
    values: &'c Values<'c>,
}

impl<'c> Case<'c, '_> {
    fn plan(self) -> Option<&'c Probe> {
        self.module.entry().probes.get(self.probe)
    }

    /// Returns whether the answer is a 200 without a body although a body is expected. It proves neither hit nor miss.
    fn is_empty(self) -> bool {
        let has_body = self.plan().is_some_and(|plan| plan.method != Method::Head);
        let response = self.answer.response;
        has_body && response.status == 200 && !response.truncated && response.body.trim_ascii().is_empty()
    }

    /// Returns whether the answer is a page where JSON is expected. A miss rule with only negative
    /// conditions then proves nothing.
    fn is_misplaced(self, miss: &Matcher) -> bool {
        let is_about = |rule: &&Matcher| rule.probe.is_none_or(|index| index == self.probe);
        let mut hits = self.module.entry().hit.iter().filter(is_about).peekable();
        let condition_kinds = miss.condition_kinds();
        (200..300).contains(&self.answer.response.status)
            && !(condition_kinds.json || condition_kinds.marker)
            && self.answer.is_page()
            && hits.peek().is_some()
            && hits.all(Matcher::reads_json)
    }

    /// Returns whether the answer redirects to the requested page itself, perhaps spelt differently. A miss
    /// rule that does not test the redirect's target then proves nothing.
    fn leads_back(self, miss: &Matcher) -> bool {
        let reads = |probe: &&Probe| matches!(probe.method, Method::Get | Method::Head);
        let response = self.answer.response;
        (300..400).contains(&response.status)
            && response.header("location").is_some()
            && !miss.judges_redirects()
            && self
                .plan()
                .filter(reads)
                .and_then(|plan| plan.address(self.values))
                .is_some_and(|asked| identity::is_same(&asked, &barrier::final_target(response)))
    }

    /// Returns the reason to reject a hit whose rule holds.
    fn rejection(self, rule: &Matcher) -> Option<(Outcome, Reason)> {
        let Self { module, answer, values, .. } = self;
        let plan = self.plan()?;
        let asked = plan.address(values)?;
        let is_username = module.search_type() == SearchType::Username && plan.method == Method::Get;
        let by_address = identity::by_address(&asked, answer, values)
            .filter(|_| !rule.judges_redirects() && !module.entry().discovery);
        match by_address {
            Some(Rejection::LoginPage) => return Some((Outcome::Blocked, Reason::LoginWall)),
            Some(Rejection::FrontPage) => return Some((Outcome::Error, Reason::FrontPage)),
            Some(Rejection::OtherAccount) if is_username && !rule.proves_name() => {
                return Some((Outcome::Error, Reason::OtherAccount));
            }
            Some(Rejection::OtherAccount) | None => {}
        }
        let is_others = is_username && !rule.proves_name() && identity::by_page(&asked, answer, values);
        is_others.then_some((Outcome::Error, Reason::OtherAccount))
    }
}

/// Returns the verdict on an answer that no rule matches. The status may be a
/// reason, or that a rule did not see the whole body.
fn unrecognized(status: u16, is_cut: bool, is_json_too_large: bool) -> Verdict {
    match status {
        401 | 403 | 407 | 451 => Verdict::new(Outcome::Blocked, Some(Reason::Forbidden), None),
        500..=599 => Verdict::new(Outcome::Error, Some(Reason::ServerError), None),
        _ if is_cut => Verdict::new(Outcome::Error, Some(Reason::Truncated), None),
        _ if is_json_too_large => Verdict::new(Outcome::Error, Some(Reason::JsonTooLarge), None),
        _ => Verdict::new(Outcome::Error, Some(Reason::Unrecognized), None),
    }
}
