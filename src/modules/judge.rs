//! Applies the rules of a module to the answers of a check: barriers first, then the rules for miss and hit.

use url::Url;

use super::answer::Answer;
use super::barrier;
use super::confidence::Strength;
use super::definition::{Basis, Matcher, Method, Probe};
use super::extract::Answers;
use super::extract::findings::Findings;
use super::identity;
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
    /// The probe whose answer is a hit.
    pub(super) probe: Option<usize>,
    /// The strength of the evidence for a hit.
    pub strength: Option<Strength>,
    /// Whether this is a bare miss: no rule that requires some content held, only one about the status, the headers or
    /// the address, or about something that is absent or empty.
    pub is_bare_miss: bool,
    /// What a check reads for the query, or for the name of a control check. It is read together with the verdict, so that
    /// each answer is parsed once.
    pub(crate) findings: Findings,
}

impl Verdict {
    pub(super) fn new(outcome: Outcome, reason: Option<Reason>, matcher: Option<String>) -> Self {
        let findings = Findings::default();
        Self { outcome, reason, matcher, probe: None, strength: None, is_bare_miss: false, findings }
    }
}

/// Judges the answer to the first probe. No request is sent and nothing is stored.
pub fn judge(module: &Module, query: &Query, response: &Response) -> Verdict {
    let (name, searches, saved) = (module.name_of(query), Searches::default(), Saved::new());
    let values = Values::new(module.entry().host(), query, &name, &saved, &searches);
    let answer = Answer::new(response);
    match barrier_of(module, 0, &answer, &values) {
        Some(barrier) => barrier,
        None => judge_answers(module, &Answers(vec![Some(answer)]), &values),
    }
}

/// Returns the verdict on the answer to a probe if it is a barrier, from the global list or the module's own.
pub(super) fn barrier_of(
    module: &Module,
    probe: usize,
    answer: &Answer<'_>,
    values: &Values<'_>,
) -> Option<Verdict> {
    let entry = module.entry();
    let asked = entry.probes[probe].address(values);
    if let Some((outcome, reason)) = barrier::find(module, answer, asked.as_ref(), values) {
        return Some(Verdict::new(outcome, Some(reason), Some(format!("barrier: {reason}"))));
    }
    let own = |rule: &Matcher| rule.probe.is_none_or(|index| index == probe) && rule.holds(answer, values);
    let index = entry.barrier.iter().position(own)?;
    let label = format!("barrier[{index}]: {}", entry.barrier[index].label());
    Some(Verdict::new(Outcome::Blocked, Some(Reason::Barrier), Some(label)))
}

/// Applies the rules to the answers of one source, none of which is a barrier. If a search did not end in time, the verdict
/// is a timeout. If one found nothing and did not read to the end, there is no conclusion.
pub(super) fn judge_answers(module: &Module, answers: &Answers<'_>, values: &Values<'_>) -> Verdict {
    values.searches.set_cut(false);
    let verdict = apply_rules(module, answers, values);
    if values.searches.is_out_of_time() {
        return Verdict::new(Outcome::Timeout, Some(Reason::TimeoutRules), None);
    }
    match values.searches.is_cut() {
        true => Verdict::new(Outcome::Error, Some(Reason::Truncated), None),
        false => verdict,
    }
}

fn apply_rules(module: &Module, answers: &Answers<'_>, values: &Values<'_>) -> Verdict {
    let entry = module.entry();
    let Some(last) = answers.last() else {
        return Verdict::new(Outcome::Error, Some(Reason::NoAnswer), None);
    };
    // The sequence of probes ended early, so the last answer is not the one that a rule without a probe is
    // about. It may still prove a miss (a 404 instead of the value that the next probe needs, or a page that says so), but
    // not a hit.
    let is_broken = entry.probes.get(last + 1).is_some_and(|probe| !probe.fallback);
    let case_of = |rule: &Matcher| {
        let index = rule.probe.unwrap_or(last);
        let answer = answers.get(Some(index))?;
        Some(Case { module, index, probe: &entry.probes[index], answer, values })
    };
    let hits = |rule: &Matcher| {
        case_of(rule).filter(|case| (rule.probe.is_some() || !is_broken) && case.fires(rule))
    };
    let misses = |rule: &Matcher| {
        let is_about_next = |case: &Case<'_, '_>| {
            is_broken
                && rule.probe.is_none()
                && rule.is_bare()
                && !matches!(case.answer.response.status, 404 | 410)
        };
        case_of(rule).is_some_and(|case| {
            case.fires(rule) && !is_about_next(&case) && !case.is_misplaced(rule) && !case.leads_back(rule)
        })
    };
    let hit = entry.hit.iter().enumerate().find_map(|(index, rule)| Some((index, rule, hits(rule)?)));
    let miss = entry.miss.iter().position(misses);
    match (hit, miss) {
        (Some((hit, rule, case)), None) => {
            let label = Some(format!("hit[{hit}]: {}", rule.label()));
            if let Some((outcome, reason)) = case.rejection(rule) {
                return Verdict::new(outcome, Some(reason), label);
            }
            let strength = Some(Strength::of(rule, &entry.miss));
            Verdict { probe: Some(case.index), strength, ..Verdict::new(Outcome::Hit, None, label) }
        }
        (None, Some(miss)) => {
            let reason = entry.weak_miss.then_some(Reason::Weak);
            let (rule, others) = (&entry.miss[miss], &entry.miss[miss + 1..]);
            let is_bare_miss = rule.is_bare() && !others.iter().any(|rule| !rule.is_bare() && misses(rule));
            let label = Some(format!("miss[{miss}]: {}", rule.label()));
            Verdict { is_bare_miss, ..Verdict::new(Outcome::Miss, reason, label) }
        }
        (Some((hit, ..)), Some(miss)) => {
            Verdict::new(Outcome::Error, Some(Reason::Conflict), Some(format!("hit[{hit}] and miss[{miss}]")))
        }
        (None, None) => {
            let (outcome, reason) = case_of(&Matcher::default())
                .map_or((Outcome::Error, Reason::NoAnswer), |last| unrecognized(last, case_of));
            Verdict::new(outcome, Some(reason), None)
        }
    }
}

/// Returns the outcome of answers that no rule matches. The status of the last one may be a reason, or that a rule did not
/// see the whole of its answer.
fn unrecognized<'c, 'a>(
    last: Case<'c, 'a>,
    case_of: impl Fn(&Matcher) -> Option<Case<'c, 'a>>,
) -> (Outcome, Reason) {
    let entry = last.module.entry();
    let any = |reads: fn(&Matcher) -> bool, fails: fn(&Answer<'a>) -> bool| {
        let mut rules = entry.hit.iter().chain(entry.miss.iter()).filter(|rule| reads(rule));
        rules.any(|rule| case_of(rule).is_some_and(|case| fails(case.answer)))
    };
    match last.answer.response.status {
        _ if last.is_empty() => (Outcome::Error, Reason::Empty),
        401 | 403 | 407 | 451 => (Outcome::Blocked, Reason::Forbidden),
        500..=599 => (Outcome::Error, Reason::ServerError),
        _ if any(Matcher::reads_body, Answer::is_cut) => (Outcome::Error, Reason::Truncated),
        _ if any(|rule| !rule.json.is_empty(), Answer::is_json_too_large) => {
            (Outcome::Error, Reason::JsonTooLarge)
        }
        _ => (Outcome::Error, Reason::Unrecognized),
    }
}

/// An answer, with the probe and the values of its request.
#[derive(Clone, Copy)]
struct Case<'c, 'a> {
    module: &'c Module,
    index: usize,
    probe: &'c Probe,
    answer: &'c Answer<'a>,
    values: &'c Values<'c>,
}

impl Case<'_, '_> {
    /// Returns whether a rule holds on the answer.
    fn fires(self, rule: &Matcher) -> bool {
        (rule.allows_empty_body() || !self.is_empty()) && rule.holds(self.answer, self.values)
    }

    /// Returns whether the answer is a 200 without a body although a body is expected. It proves neither hit nor miss.
    fn is_empty(self) -> bool {
        let has_body = self.probe.method != Method::Head;
        let response = self.answer.response;
        has_body && response.status == 200 && !response.truncated && response.body.trim_ascii().is_empty()
    }

    /// Returns whether the answer is a page where JSON is expected. A miss rule with only negative
    /// conditions then proves nothing.
    fn is_misplaced(self, miss: &Matcher) -> bool {
        let is_about = |rule: &&Matcher| rule.probe.is_none_or(|index| index == self.index);
        let mut hits = self.module.entry().hit.iter().filter(is_about).peekable();
        (200..300).contains(&self.answer.response.status)
            && !miss.rests_on(&[Basis::Json, Basis::Header, Basis::Marker])
            && self.answer.is_page()
            && hits.peek().is_some()
            && hits.all(|rule| !rule.json.is_empty())
    }

    /// Returns whether the answer redirects to the requested page itself, perhaps spelt differently. A miss
    /// rule that does not test the redirect's target then proves nothing.
    fn leads_back(self, miss: &Matcher) -> bool {
        let response = self.answer.response;
        let is_read = matches!(self.probe.method, Method::Get | Method::Head);
        let is_same = |asked: Url| identity::is_same(&asked, &barrier::final_target(response));
        (300..400).contains(&response.status)
            && response.header("location").is_some()
            && !miss.judges_redirects()
            && is_read
            && self.probe.address(self.values).is_some_and(is_same)
    }

    /// Returns the reason to reject a hit whose rule holds.
    fn rejection(self, rule: &Matcher) -> Option<(Outcome, Reason)> {
        let Self { module, probe, answer, values, .. } = self;
        let asked = probe.address(values)?;
        let may_be_others = module.search_type() == SearchType::Username
            && probe.method == Method::Get
            && !rule.proves_name();
        let knows_addresses = rule.judges_redirects() || module.entry().discovery;
        let by_address = identity::by_address(&asked, answer, values).filter(|_| !knows_addresses);
        match by_address {
            Some(Reason::LoginWall) => Some((Outcome::Blocked, Reason::LoginWall)),
            Some(Reason::FrontPage) => Some((Outcome::Error, Reason::FrontPage)),
            Some(_) if may_be_others => Some((Outcome::Error, Reason::OtherAccount)),
            _ if may_be_others && identity::by_page(&asked, answer, values) => {
                Some((Outcome::Error, Reason::OtherAccount))
            }
            _ => None,
        }
    }
}
