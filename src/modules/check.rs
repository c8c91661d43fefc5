//! A check: a module applied to a query.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::confidence::{Control, Strength, confidence};
use super::control::{ControlVerdict, Controls, made_up};
use super::inquiry::Inquiry;
use super::judge::{answers, judge_answers};
use super::keys::OperatorKeys;
use super::module::Module;
use super::outcome::{Evidence, Outcome, Report};
use super::probe::Prober;
use super::query::Query;
use super::template::Values;

/// Runs checks. Shared by all check workers.
pub struct Checker {
    /// Who sends the probes.
    pub prober: Arc<dyn Prober>,
    pub(crate) keys: OperatorKeys,
    pub(crate) user_agent: String,
    controls: Controls,
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
        Self { prober, keys, user_agent: user_agent.into(), controls: Controls::new(control_ttl) }
    }

    /// The operator's keys.
    pub fn keys(&self) -> &OperatorKeys {
        &self.keys
    }

    /// Runs one check to its end, at the latest until `deadline`.
    pub fn check(&self, module: &Module, query: &Query, deadline: Instant) -> Report {
        if let Some(reason) = module.why_skipped(query, &self.keys) {
            return ended(Outcome::Skipped, reason, Evidence::default());
        }
        let mut inquiry = Inquiry::new(self, module, query, false, deadline);
        inquiry.ask();
        let mut evidence = inquiry.evidence();
        if let Some((outcome, reason)) = inquiry.failure() {
            return ended(outcome, reason, evidence);
        }
        let answers = answers(module, inquiry.responses());
        let values = Values { query, name: inquiry.name(), keys: None, saved: inquiry.saved(), value: None };
        let verdict = judge_answers(module, &answers, &values);
        let strength = verdict.strength.unwrap_or(Strength::Status);
        evidence.matcher = verdict.matcher;
        let mut report = Report {
            outcome: verdict.outcome,
            reason: verdict.reason.map(str::to_owned),
            evidence,
            findings: Vec::new(),
            retry_after_secs: verdict.retry_after_secs,
        };
        if report.outcome != Outcome::Hit {
            return report;
        }
        match self.control(module, query, deadline, &mut report.evidence.requests) {
            Some(ControlVerdict::Hit) => {
                report.outcome = Outcome::Unreliable;
                report.reason = Some("control_hit".into());
            }
            verdict => {
                let control = match verdict {
                    None => Control::NotMade,
                    Some(ControlVerdict::Missed) => Control::Passed,
                    Some(_) => Control::Shaky,
                };
                let confidence = confidence(strength, control);
                report.findings = module.yields.read(module.platform(), &answers, values, confidence);
            }
        }
        report
    }

    /// What the module says to a made-up name; `None`: it does without a control check.
    fn control(
        &self,
        module: &Module,
        query: &Query,
        deadline: Instant,
        requests: &mut u32,
    ) -> Option<ControlVerdict> {
        if !module.is_controlled() {
            return None;
        }
        let domain = query.domain().filter(|_| module.is_host_queried()).map(str::to_owned);
        let verdict = self.controls.verdict(&(module.id().clone(), domain), deadline, || {
            let seed = RandomState::new().hash_one(module.id());
            let Some(name) = made_up(module, query, seed) else { return ControlVerdict::Unclear };
            let mut inquiry = Inquiry::new(self, module, &name, true, deadline);
            inquiry.ask();
            *requests += inquiry.evidence().requests;
            match inquiry.outcome() {
                Outcome::Hit => ControlVerdict::Hit,
                Outcome::Miss => ControlVerdict::Missed,
                _ => ControlVerdict::Unclear,
            }
        });
        Some(verdict)
    }
}

fn ended(outcome: Outcome, reason: &str, evidence: Evidence) -> Report {
    Report {
        outcome,
        reason: Some(reason.to_owned()),
        evidence,
        findings: Vec::new(),
        retry_after_secs: None,
    }
}
