//! A check: a module applied to a query.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::confidence::{Control, Strength, confidence};
use super::control::{self, ControlVerdict, Controlled, Controls, made_up};
use super::extract::Answers;
use super::feed::{Feeds, Key};
use super::inquiry::Inquiry;
use super::keys::OperatorKeys;
use super::module::Module;
use super::outcome::{Evidence, Outcome, Report};
use super::pages::Book;
use super::pattern::Remembering;
use super::plan::Plan;
use super::probe::{Prober, Trace};
use super::query::Query;
use super::template::{Saved, Values};
use super::terms::{BROWSER_CONTROL_TIME, CONTROL_TIME, PausedHosts, Terms};

/// Runs checks. Shared by all check workers.
pub struct Checker {
    /// Who sends the probes.
    pub prober: Arc<dyn Prober>,
    pub(crate) keys: OperatorKeys,
    pub(crate) user_agent: String,
    controls: Controls,
    pub(crate) feeds: Feeds,
}

impl Checker {
    /// A checker that sends its probes through `prober`, with the operator's `keys`, under the name
    /// `user_agent` (a module may say another one), and believes what a module said to a made-up name
    /// for `control_ttl` ([`DEFAULT_TTL`](super::control::DEFAULT_TTL) is an hour; zero: never).
    pub fn new(
        prober: Arc<dyn Prober>,
        keys: OperatorKeys,
        user_agent: impl Into<String>,
        control_ttl: Duration,
    ) -> Self {
        let controls = Controls::new(control_ttl);
        Self { prober, keys, user_agent: user_agent.into(), controls, feeds: Feeds::new() }
    }

    /// The operator's keys.
    pub fn keys(&self) -> &OperatorKeys {
        &self.keys
    }

    /// Drops what is kept of earlier checks and is believed no more: names of queried domains stand among it. To be
    /// called every now and then.
    pub fn keep_house(&self) {
        let now = Instant::now();
        self.controls.sweep(now);
        self.feeds.sweep(now);
        self.prober.keep_house(now);
    }

    /// Runs one check to its end. Terms of a mere deadline: all is to be done by then, and any host may
    /// be asked.
    pub fn check<'t>(&self, module: &Module, query: &Query, terms: impl Into<Terms<'t>>) -> Report {
        let terms = terms.into();
        if let Some(reason) = module.why_skipped(query, &self.keys) {
            return ended(Outcome::Skipped, reason, Evidence::default());
        }
        let _regexes = Remembering::begin();
        let mut inquiry = Inquiry::new(self, module, query, false, terms);
        inquiry.ask();
        let answers = inquiry.answers();
        let (mut report, strength) = concluded(&inquiry, &answers);
        if report.outcome != Outcome::Hit {
            return report;
        }
        let control = self.control(module, query, terms, &mut report);
        match control.as_ref().map(|control| control.verdict) {
            Some(ControlVerdict::Hit) => {
                report.outcome = Outcome::Unreliable;
                report.reason = Some("control_hit".into());
            }
            verdict => {
                let portrait = control.as_ref().and_then(|control| control.portrait.as_deref());
                let control = match verdict {
                    None => Control::NotMade,
                    Some(ControlVerdict::Missed) => Control::Passed,
                    Some(_) => Control::Shaky,
                };
                let confidence = confidence(strength, control);
                let book = Book::turn(&inquiry, &answers, &report.pauses);
                book.add_to(&mut report.evidence);
                if book.is_incomplete() {
                    report.reason = Some("pages_incomplete".into());
                }
                report.pauses.extend_from_slice(book.pauses());
                let answers = answers.with_pages(book.answers(&module.selectors));
                report.findings =
                    module.yields.read(module.platform(), &answers, inquiry.values(), confidence, portrait);
            }
        }
        report
    }

    /// The hosts that a check may ask, as far as that can be told: those of [`Module::hosts`] but for
    /// feeds that are at hand. One list for each source: what is asked first, then each fallback, which
    /// most checks never come to.
    pub fn hosts(&self, module: &Module, query: &Query) -> Vec<Vec<String>> {
        module.sources().into_iter().map(|source| self.hosts_of(module, query, source)).collect()
    }

    fn hosts_of(&self, module: &Module, query: &Query, source: Range<usize>) -> Vec<String> {
        let plans = module.plans[source].iter();
        module.hosts_of(query, plans.filter(|plan| !self.has_feed(module, plan, query)))
    }

    /// Whether a host of that source is to be left alone.
    pub(super) fn is_paused(
        &self,
        module: &Module,
        query: &Query,
        source: Range<usize>,
        paused: &dyn PausedHosts,
    ) -> bool {
        self.hosts_of(module, query, source).iter().any(|host| paused.is_paused(host))
    }

    /// Whether a check will send nothing at all: all that it reads are feeds that are at hand.
    pub fn asks_nobody(&self, module: &Module, query: &Query) -> bool {
        module.plans.iter().all(|plan| self.has_feed(module, plan, query))
    }

    fn has_feed(&self, module: &Module, plan: &Plan, query: &Query) -> bool {
        if plan.keep.is_none() {
            return false;
        }
        let saved = Saved::new();
        // The request of a feed asks for keys alone.
        let values =
            Values { query, name: query.normal(), keys: Some(&self.keys), saved: &saved, value: None };
        let trace = Trace { module: module.id().clone(), probe: 0, query: "".into(), control: false };
        let request = plan.request(&values, &self.user_agent, trace);
        request.is_ok_and(|request| self.feeds.has(&Key::from(&request)))
    }

    /// Asks for a made-up name, as a control check does: no findings, and no control check of its own.
    pub fn check_made_up<'t>(&self, module: &Module, name: &Query, terms: impl Into<Terms<'t>>) -> Report {
        if let Some(reason) = module.why_skipped(name, &self.keys) {
            return ended(Outcome::Skipped, reason, Evidence::default());
        }
        let _regexes = Remembering::begin();
        let mut inquiry = Inquiry::new(self, module, name, true, terms.into());
        inquiry.ask();
        concluded(&inquiry, &inquiry.answers()).0
    }

    /// What the module says to a made-up name; `None`: it does without a control check.
    fn control(
        &self,
        module: &Module,
        query: &Query,
        terms: Terms<'_>,
        report: &mut Report,
    ) -> Option<Controlled> {
        if !module.is_controlled() {
            return None;
        }
        let least = if module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME };
        let terms = terms.of_control(Instant::now(), least);
        let controlled = self.controls.verdict(&control::key(module, query), terms.deadline, || {
            let seed = RandomState::new().hash_one(module.id());
            let Some(name) = made_up(module, query, seed) else {
                return ControlVerdict::Unclear.into();
            };
            let mut inquiry = Inquiry::new(self, module, &name, true, terms);
            inquiry.ask();
            report.evidence.requests += inquiry.evidence().requests;
            report.pauses.extend_from_slice(inquiry.pauses());
            let answers = inquiry.answers();
            let verdict = match inquiry.verdict(&answers).outcome {
                Outcome::Hit => ControlVerdict::Hit,
                Outcome::Miss => ControlVerdict::Missed,
                Outcome::Timeout => ControlVerdict::OutOfTime,
                _ => ControlVerdict::Unclear,
            };
            let asked = inquiry.values().name;
            let portrait = module.yields.portrait(module.platform(), &answers, asked);
            let portrait = portrait.map(|portrait| Arc::new(portrait.without_name(asked)));
            Controlled { verdict, portrait }
        });
        Some(controlled)
    }
}

/// What the answers come to, without findings; for a hit with what it rests on.
fn concluded(inquiry: &Inquiry<'_>, answers: &Answers<'_>) -> (Report, Strength) {
    let verdict = inquiry.verdict(answers);
    let report = Report {
        outcome: verdict.outcome,
        reason: verdict.reason.map(str::to_owned),
        evidence: Evidence { matcher: verdict.matcher, ..inquiry.evidence() },
        findings: Vec::new(),
        pauses: inquiry.pauses().to_vec(),
    };
    (report, verdict.strength.unwrap_or(Strength::Status))
}

fn ended(outcome: Outcome, reason: &str, evidence: Evidence) -> Report {
    Report { outcome, reason: Some(reason.to_owned()), evidence, findings: Vec::new(), pauses: Vec::new() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::modules::pattern::remembered;
    use crate::modules::probe::{CookieJar, ProbeError, Request, Response, Timing};
    use crate::modules::query::SearchType;

    /// A site where everybody has the same page.
    struct Site;

    impl Prober for Site {
        fn send(&self, request: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
            Ok(Response {
                status: 200,
                final_url: request.url.clone(),
                headers: vec![],
                body: b"I am alice".to_vec(),
                truncated: false,
                timing: Timing::default(),
            })
        }
    }

    #[test]
    fn a_check_leaves_no_regexes_behind_on_its_thread() {
        let entry = json!({
            "id": "m", "platform": "M", "type": "username", "category": "social",
            "probes": [{"url": "https://site.example/{query}"}],
            "hit": [{"status": [200], "regex": "I am {query}"}], "miss": [{"status": [404]}],
        });
        let module = Module::compile(serde_json::from_value(entry).unwrap()).unwrap();
        let checker = Checker::new(Arc::new(Site), OperatorKeys::default(), "t", Duration::from_secs(60));
        let query = Query::parse(SearchType::Username, "alice").unwrap();
        let report = checker.check(&module, &query, Instant::now() + Duration::from_secs(60));
        assert_eq!((report.outcome, remembered()), (Outcome::Hit, 0));
    }
}
