//! A check is a module applied to a query.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::active_check::ActiveCheck;
use super::checker::Checker;
use super::confidence::{Strength, confidence};
use super::control::{ControlResult, Key, is_about_module};
use super::kept::Kept;
use super::module::Module;
use super::outcome::{
    ControlAnswer, ControlCheck, ControlVerdict, Direction, Evidence, Outcome, Pause, Report,
};
use super::query::Query;
use super::reason::Reason;
use super::terms::{BROWSER_CONTROL_TIME, CONTROL_TIME, ModuleTrial, Terms};

impl Checker {
    /// Runs one check to its end. If `terms` is only a deadline, the check and its control check end by
    /// then, and any host may be contacted.
    ///
    /// The report is in a box because hundreds of checks wait at once, each with a place for its report on its stack.
    pub fn check<'t>(&self, module: &Module, query: &Query, terms: impl Into<Terms<'t>>) -> Box<Report> {
        let terms = terms.into();
        if let Some(reason) = module.why_skipped(query, &self.keys) {
            return Box::new(Report::bare(Outcome::Skipped, reason));
        }
        match terms.trial {
            None => self.check_query(module, query, terms),
            Some(trial) => self.check_in_trial(trial, module, query, terms),
        }
    }

    /// Makes the control check that a module in quarantine failed, and checks the query if it passes.
    fn check_in_trial(
        &self,
        trial: ModuleTrial,
        module: &Module,
        query: &Query,
        terms: Terms<'_>,
    ) -> Box<Report> {
        let ModuleTrial { direction, times } = trial;
        let mut trial = Box::new(Report::bare(Outcome::Unreliable, Reason::Quarantined));
        trial.evidence.circuit = Some(times);
        let (began, mut verdict) = (Instant::now(), ControlVerdict::Passed);
        if direction.is_needed(module) && is_about_module(&direction.key(module, 0, query)) {
            let terms = control_terms(module, terms, began);
            // Any source may answer, since the others may be away.
            for source in 0..module.sources().len() {
                let key = direction.key(module, source, query);
                self.controls.cache.remove_if(&key, |_| true);
                let ask = || self.ask_control(&key, module, query, terms, &mut trial);
                verdict = self.controls.verdict(&key, None, terms, ask).verdict;
                if matches!(verdict, ControlVerdict::Passed | ControlVerdict::Failed) {
                    break;
                }
            }
        } else {
            // The entry has changed since the module failed.
            trial.evidence.controls.push(ControlCheck {
                direction,
                verdict,
                answer: ControlAnswer::default(),
            });
        }
        if verdict == ControlVerdict::Failed {
            trial.reason = Some(direction.failure());
        }
        if verdict != ControlVerdict::Passed || !self.reserve(terms) {
            return trial;
        }
        // The control check is no part of the learned deadline.
        let answer_by = terms.deadline.min(terms.answer_by + began.elapsed());
        let mut report = self.check_query(module, query, Terms { answer_by, ..terms });
        report.evidence.requests += trial.evidence.requests;
        report.evidence.contacts.splice(0..0, trial.evidence.contacts);
        report.evidence.controls.splice(0..0, trial.evidence.controls);
        report.pauses.splice(0..0, trial.pauses);
        report
    }

    fn check_query(&self, module: &Module, query: &Query, terms: Terms<'_>) -> Box<Report> {
        let mut check = ActiveCheck::ask(self, module, query, false, None, terms);
        // What a hit or a bare miss means depends on a control check.
        let direction = match check.report.outcome {
            Outcome::Hit => Some(Direction::MadeUp),
            Outcome::Miss if check.source.verdict.is_bare_miss => Some(Direction::Known),
            _ => None,
        };
        let control = direction
            .and_then(|direction| Some((direction, self.control(direction, &mut check, query, terms)?)));
        conclude(&mut check, control.as_ref());
        check.report
    }

    /// Checks a made-up name as a control check does, without findings and without another control check.
    pub fn check_made_up<'t>(&self, module: &Module, name: &Query, terms: impl Into<Terms<'t>>) -> Report {
        match module.why_skipped(name, &self.keys) {
            Some(reason) => Report::bare(Outcome::Skipped, reason),
            None => *ActiveCheck::ask(self, module, name, true, None, terms.into()).report,
        }
    }

    /// Runs the control check that a hit of a check with these terms would wait for, unless another thread runs it or has
    /// run it: then it does not wait. Returns its evidence and the pauses of its hosts.
    pub fn control_early(&self, module: &Module, query: &Query, terms: Terms<'_>) -> (Evidence, Vec<Pause>) {
        let key = Direction::MadeUp.key(module, 0, query);
        // Only its evidence and pauses are used: the control check has a verdict instead of an outcome.
        let mut report = Report::bare(Outcome::Skipped, Reason::ControlHit);
        let ask = || {
            let control_result = self.ask_control(&key, module, query, terms, &mut report);
            match control_result.verdict {
                // A check with a hit makes the control check again, so that the failure counts for its run.
                ControlVerdict::Failed => ControlVerdict::NotAsked.into(),
                _ => control_result,
            }
        };
        let now = Instant::now();
        self.controls.verdict(&key, Some(terms.since), Terms { deadline: now, ..terms }, ask);
        (report.evidence, report.pauses)
    }

    /// Runs the control check of a hit or a bare miss at the source that it comes from. Returns `None` if the module needs
    /// none.
    #[inline(never)]
    fn control(
        &self,
        direction: Direction,
        check: &mut ActiveCheck<'_>,
        query: &Query,
        terms: Terms<'_>,
    ) -> Option<ControlResult> {
        let (module, report) = (check.module, &mut check.report);
        if !direction.is_needed(module) {
            return None;
        }
        if direction.is_disproved_by_miss_of(module, query) {
            let verdict = ControlVerdict::Failed;
            let Evidence { http_status, matcher, .. } = &report.evidence;
            let answer = ControlAnswer { http_status: *http_status, matcher: matcher.clone() };
            report.evidence.controls.push(ControlCheck { direction, verdict, answer });
            return Some(verdict.into());
        }
        let key = direction.key(module, check.source.number, query);
        let terms = control_terms(module, terms, Instant::now());
        let ask = || match self.reserve(terms) {
            true => self.ask_control(&key, module, query, terms, report),
            false => ControlVerdict::NotAsked.into(),
        };
        let since = Some(terms.since).filter(|_| direction == Direction::MadeUp);
        Some(self.controls.verdict(&key, since, terms, ask))
    }

    /// Reserves a further check within the rate of the module, and waits for it if it is soon.
    fn reserve(&self, terms: Terms<'_>) -> bool {
        let now = Instant::now();
        let at = terms.hosts.reserve(now, terms.deadline.min(now + CONTROL_TIME));
        at.inspect(|at| thread::sleep(at.saturating_duration_since(now))).is_some()
    }

    fn ask_control(
        &self,
        key: &Key,
        module: &Module,
        query: &Query,
        terms: Terms<'_>,
        report: &mut Report,
    ) -> ControlResult {
        let (direction, _, source, _) = key;
        let Some(name) = direction.name(module, query) else {
            return ControlVerdict::Unclear.into();
        };
        let is_made_up = *direction == Direction::MadeUp;
        conclude_control(key, ActiveCheck::ask(self, module, &name, is_made_up, Some(*source), terms), report)
    }
}

/// Judges the answers to a control check, and adds it to the report.
#[inline(never)]
fn conclude_control(key: &Key, check: ActiveCheck<'_>, report: &mut Report) -> ControlResult {
    let direction = key.0;
    let mut result = ControlResult::from(match (check.report.outcome, direction) {
        (Outcome::Miss, Direction::MadeUp) | (Outcome::Hit, Direction::Known) => ControlVerdict::Passed,
        (Outcome::Hit | Outcome::Miss, _) => ControlVerdict::Failed,
        (Outcome::Timeout, _) => ControlVerdict::OutOfTime,
        (Outcome::Skipped, _) if check.report.reason.is_some_and(Reason::is_local_fault) => {
            ControlVerdict::NotAsked
        }
        _ => ControlVerdict::Unclear,
    });
    let found = check.source.verdict.findings.page_profile.as_ref();
    result.page_profile = found.map(|found| Arc::new(found.without_name(check.values().name)));
    let Evidence { requests, contacts, http_status, matcher, .. } = check.report.evidence;
    report.evidence.requests += requests;
    report.evidence.contacts.extend(contacts);
    report.pauses.extend(check.report.pauses);
    if is_about_module(key) {
        let (verdict, answer) = (result.verdict, ControlAnswer { http_status, matcher });
        report.evidence.controls.push(ControlCheck { direction, verdict, answer });
    }
    result
}

/// Returns the terms of a control check that begins at `now`.
fn control_terms<'t>(module: &Module, terms: Terms<'t>, now: Instant) -> Terms<'t> {
    let least = if module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME };
    let deadline = terms.deadline.max(terms.ceiling.min(now + least));
    Terms { answer_by: deadline, deadline, ..terms }
}

/// Completes the report of a check after its control check, with the findings of a hit.
#[inline(never)]
fn conclude(check: &mut ActiveCheck<'_>, control: Option<&(Direction, ControlResult)>) {
    let report = &mut check.report;
    match (report.outcome, control.map(|(direction, result)| (direction, result.verdict))) {
        (_, Some((direction, ControlVerdict::Failed))) => {
            (report.outcome, report.reason) = (Outcome::Unreliable, Some(direction.failure()));
        }
        (Outcome::Hit, _) => read_findings(check, control.map(|(_, result)| result)),
        (_, None | Some((_, ControlVerdict::Passed))) => {}
        (_, Some(_)) => report.reason = Some(Reason::KnownUnclear),
    }
    let is_unclear = check.report.reason == Some(Reason::KnownUnclear);
    if check.report.outcome.is_conclusive() && !is_unclear {
        let version = check.module.rules_version().with_fallback(check.source.number);
        check.report.evidence.rules = Some(version);
    }
}

/// Adds the findings of a hit to its report.
fn read_findings(check: &mut ActiveCheck<'_>, control_result: Option<&ControlResult>) {
    let findings = std::mem::take(&mut check.source.verdict.findings);
    let (entry, values) = (check.module.entry(), check.values());
    let page_profile = control_result.and_then(|result| result.page_profile.as_deref());
    let control = control_result.map(|result| result.verdict);
    let strength = check.source.verdict.strength.unwrap_or(Strength::Status);
    let is_cut = findings.is_cut || values.searches.is_cut() || check.is_cut();
    let is_out_of_time = values.searches.is_out_of_time();
    let findings = findings.complete(entry, values.name, page_profile);
    // Without the page of a made-up name, what it has in common with the page of the hit counts as profile data.
    let lacks_control = control.is_some_and(|verdict| verdict != ControlVerdict::Passed);
    // A list that all checks share is no answer to this one.
    let is_kept = |probe: &usize| check.keeps() && entry.probes[*probe].feed.is_none();
    let probe = check.source.verdict.probe.filter(is_kept);
    let kept = probe.and_then(|probe| {
        // The values have no keys, so an address with one cannot be filled.
        let address = entry.probes[probe].address(&values).map(String::from);
        Some(Kept::new(check.source.answers[probe].as_deref()?, address))
    });
    let report = &mut check.report;
    (report.findings, report.kept) = (findings, kept);
    report.evidence.confidence = confidence(strength, control);
    report.evidence.partial = is_cut || (lacks_control && entry.reads_page_profile());
    report.reason = is_out_of_time.then_some(Reason::TimeoutRules);
}
