//! A check is a module applied to a query.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use super::active_check::ActiveCheck;
use super::checker::Checker;
use super::confidence::{Control, Strength, confidence};
use super::control::{ControlResult, Key, is_about_module};
use super::control_check::{ControlAnswer, ControlCheck, ControlVerdict, Direction};
use super::judge::Verdict;
use super::module::Module;
use super::outcome::{Evidence, Outcome, Pause, Report};
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
        let began = Instant::now();
        let verdict = if direction.is_needed(module) && is_about_module(&direction.key(module, 0, query)) {
            let terms = control_terms(module, terms, began);
            let mut verdict = ControlVerdict::Unclear;
            // Any source may answer, since the others may be away.
            for source in 0..module.sources().len() {
                let key = direction.key(module, source, query);
                self.controls.forget(&key);
                let ask = || self.ask_control(&key, module, query, terms, &mut trial);
                verdict = self.controls.verdict(&key, None, terms.deadline, ask).verdict;
                if matches!(verdict, ControlVerdict::Passed | ControlVerdict::Failed) {
                    break;
                }
            }
            verdict
        } else {
            // The entry has changed since the module failed.
            let (verdict, answer) = (ControlVerdict::Passed, ControlAnswer::default());
            trial.evidence.controls.push(ControlCheck { direction, verdict, answer });
            verdict
        };
        match verdict {
            ControlVerdict::Failed => {
                trial.reason = Some(direction.failure());
                trial
            }
            ControlVerdict::Unclear | ControlVerdict::OutOfTime | ControlVerdict::NotAsked => trial,
            ControlVerdict::Passed if !self.reserve(terms) => trial,
            ControlVerdict::Passed => {
                // The control check is no part of the learnt deadline.
                let answer_by = terms.deadline.min(terms.answer_by + began.elapsed());
                let mut report = self.check_query(module, query, Terms { answer_by, ..terms });
                report.evidence.requests += trial.evidence.requests;
                report.evidence.contacts.splice(0..0, trial.evidence.contacts);
                report.evidence.controls.splice(0..0, trial.evidence.controls);
                report.pauses.splice(0..0, trial.pauses);
                report
            }
        }
    }

    fn check_query(&self, module: &Module, query: &Query, terms: Terms<'_>) -> Box<Report> {
        let check = ActiveCheck::ask(self, module, query, false, None, terms);
        let mut report = report(&check);
        // What a hit or a bare miss means depends on a control check.
        let direction = match report.outcome {
            Outcome::Hit => Some(Direction::MadeUp),
            Outcome::Miss if check.source.verdict.is_bare_miss => Some(Direction::Known),
            _ => None,
        };
        let control =
            direction.and_then(|direction| self.control(direction, &check, query, terms, &mut report));
        conclude(&check, &mut report, control.as_ref());
        report
    }

    /// Checks a made-up name as a control check does, without findings and without a control check of its own.
    pub fn check_made_up<'t>(&self, module: &Module, name: &Query, terms: impl Into<Terms<'t>>) -> Report {
        if let Some(reason) = module.why_skipped(name, &self.keys) {
            return Report::bare(Outcome::Skipped, reason);
        }
        *report(&ActiveCheck::ask(self, module, name, true, None, terms.into()))
    }

    /// Returns whether a hit of the first source of `module` would wait for a control check, if it is asked from `since`
    /// on: no verdict that it may use is cached, and none is being obtained.
    pub fn needs_control(&self, module: &Module, query: &Query, since: Instant) -> bool {
        let direction = Direction::MadeUp;
        direction.is_needed(module) && !self.controls.contains(&direction.key(module, 0, query), since)
    }

    /// Runs the control check that a hit of a check with these terms would wait for, unless another thread runs it or has
    /// run it. Returns its evidence and the pauses of its hosts.
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
        self.controls.verdict(&key, Some(terms.since), Instant::now(), ask);
        (report.evidence, report.pauses)
    }

    /// Runs the control check of a hit or a bare miss at the source that it comes from. Returns `None` if the module needs
    /// none.
    #[inline(never)]
    fn control(
        &self,
        direction: Direction,
        check: &ActiveCheck<'_>,
        query: &Query,
        terms: Terms<'_>,
        report: &mut Report,
    ) -> Option<ControlResult> {
        let module = check.module;
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
        Some(self.controls.verdict(&key, since, terms.deadline, ask))
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
        let check =
            ActiveCheck::ask(self, module, &name, *direction == Direction::MadeUp, Some(*source), terms);
        conclude_control(key, &check, report)
    }
}

/// Judges the answers to a control check, and adds it to the report.
#[inline(never)]
fn conclude_control(key: &Key, check: &ActiveCheck<'_>, report: &mut Report) -> ControlResult {
    let direction = key.0;
    let Evidence { requests, contacts, http_status, matcher, .. } = check.evidence();
    report.evidence.requests += requests;
    report.evidence.contacts.extend(contacts);
    report.pauses.extend_from_slice(&check.pauses);
    let Verdict { outcome, reason, .. } = check.source.verdict;
    let verdict = match outcome {
        outcome if outcome == direction.passing() => ControlVerdict::Passed,
        Outcome::Hit | Outcome::Miss => ControlVerdict::Failed,
        Outcome::Timeout => ControlVerdict::OutOfTime,
        Outcome::Skipped if reason.is_some_and(Reason::is_local_fault) => ControlVerdict::NotAsked,
        _ => ControlVerdict::Unclear,
    };
    let mut result = ControlResult::from(verdict);
    if direction == Direction::MadeUp {
        let asked = check.values().name;
        let page_profile = check.read_source(|answers| check.module.entry().page_profile(answers, asked));
        let Ok(page_profile) = page_profile else { return ControlVerdict::NotAsked.into() };
        result.page_profile = page_profile.map(|page_profile| Arc::new(page_profile.without_name(asked)));
    }
    if is_about_module(key) {
        let answer = ControlAnswer { http_status, matcher };
        report.evidence.controls.push(ControlCheck { direction, verdict, answer });
    }
    result
}

/// Returns the terms of a control check that begins at `now`.
fn control_terms<'t>(module: &Module, terms: Terms<'t>, now: Instant) -> Terms<'t> {
    terms.of_control(now, if module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME })
}

/// Returns the report of a check without findings.
#[inline(never)]
fn report(check: &ActiveCheck<'_>) -> Box<Report> {
    let Verdict { outcome, reason, .. } = check.source.verdict;
    let (evidence, pauses) = (check.evidence(), check.pauses.clone());
    Box::new(Report { outcome, reason, evidence, findings: Vec::new(), pauses })
}

/// Completes the report of a check after its control check, with the findings of a hit.
#[inline(never)]
fn conclude(check: &ActiveCheck<'_>, report: &mut Report, control: Option<&ControlResult>) {
    match (report.outcome, control.map(|control| control.verdict)) {
        (Outcome::Hit, Some(ControlVerdict::Failed)) => mark_unreliable(report, Direction::MadeUp),
        (Outcome::Hit, _) => read_findings(check, control, report),
        (Outcome::Miss, Some(ControlVerdict::Failed)) => mark_unreliable(report, Direction::Known),
        (Outcome::Miss, None | Some(ControlVerdict::Passed)) => note_rules(report, check),
        (Outcome::Miss, Some(_)) => report.reason = Some(Reason::KnownUnclear),
        _ => {}
    }
}

fn mark_unreliable(report: &mut Report, direction: Direction) {
    report.outcome = Outcome::Unreliable;
    report.reason = Some(direction.failure());
}

/// Adds the findings of a hit to its report.
fn read_findings(check: &ActiveCheck<'_>, control_result: Option<&ControlResult>, report: &mut Report) {
    let module = check.module;
    let page_profile = control_result.and_then(|control_result| control_result.page_profile.as_deref());
    let control = match control_result.map(|control_result| control_result.verdict) {
        None => Control::NotMade,
        Some(ControlVerdict::Passed) => Control::Passed,
        Some(_) => Control::Shaky,
    };
    let confidence = confidence(check.source.verdict.strength.unwrap_or(Strength::Status), control);
    let values = check.values();
    let findings =
        check.read_source(|answers| module.entry().findings(answers, values, confidence, page_profile));
    let is_list_cut = match findings {
        Ok((findings, is_list_cut)) => {
            report.findings = findings;
            is_list_cut
        }
        Err(error) => {
            (report.outcome, report.reason) = (Outcome::Skipped, Some(error.reason()));
            report.evidence.matcher = None;
            return;
        }
    };
    // Without the page of a made-up name, what it has in common with the page of the hit counts as profile data.
    let lacks_control = matches!(control, Control::Shaky) && module.entry().reads_page_profile();
    report.evidence.partial = is_list_cut || lacks_control || check.is_cut() || values.searches.is_cut();
    note_rules(report, check);
    if values.searches.is_out_of_time() {
        report.reason = Some(Reason::TimeoutRules);
    }
}

/// Adds the version of the rules to the report of a check that has come to a conclusion.
fn note_rules(report: &mut Report, check: &ActiveCheck<'_>) {
    report.evidence.rules = Some(check.module.rules_version().with_fallback(check.source.number));
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::modules::keys::OperatorKeys;
    use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
    use crate::modules::query::SearchType;

    /// A site that has the same page for every name.
    struct Site;

    impl Prober for Site {
        fn send(&self, request: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
            Ok(Response {
                status: 200,
                final_url: request.url.clone(),
                headers: vec![],
                body: b"I am alice".to_vec(),
                truncated: false,
            })
        }
    }

    /// A site that exists for `alice` only, and records the time and the deadline of each request.
    #[derive(Default)]
    struct Recorder {
        asked_at: parking_lot::Mutex<Vec<Instant>>,
        deadlines: parking_lot::Mutex<Vec<Instant>>,
    }

    impl Prober for Recorder {
        fn send(&self, request: &Request, _: &mut CookieJar, by: Instant) -> Result<Response, ProbeError> {
            self.asked_at.lock().push(Instant::now());
            self.deadlines.lock().push(by);
            if request.trace.control {
                // This simulates a slow answer. Nothing waits for it.
                std::thread::sleep(Duration::from_millis(20));
            }
            let status = if request.url.path() == "/alice" { 200 } else { 404 };
            Site.send(request, &mut CookieJar::default(), by).map(|response| Response { status, ..response })
        }
    }

    #[test]
    fn only_the_own_probes_of_a_check_end_early_and_count_for_its_latency() {
        let entry = json!({
            "id": "m", "platform": "M", "type": "username", "category": "social",
            "probes": [{"url": "https://site.example/{query}"}],
            "hit": [{"status": [200]}], "miss": [{"status": [404]}],
        });
        let module = Module::compile(serde_json::from_value(entry).unwrap()).unwrap();
        let prober = Arc::new(Recorder::default());
        let keys = OperatorKeys::default();
        let checker = Checker::new(Arc::clone(&prober) as _, keys, "t", Duration::from_secs(60));
        let query = Query::parse(SearchType::Username, "alice").unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        let answer_by = deadline - Duration::from_secs(30);
        let began = Instant::now();
        let report = checker.check(&module, &query, Terms { answer_by, ..Terms::from(deadline) });
        assert_eq!(
            (report.outcome, prober.deadlines.lock().clone()),
            (Outcome::Hit, vec![answer_by, deadline])
        );
        assert!(began + report.evidence.answered_in <= prober.asked_at.lock()[1], "the control check counts");

        let answer_by = Instant::now();
        let report = checker.check(&module, &query, Terms { answer_by, ..Terms::from(deadline) });
        assert_eq!((report.outcome, report.reason), (Outcome::Timeout, Some(Reason::LearntDeadline)));
        let report = checker.check(&module, &query, Terms::from(answer_by));
        assert_eq!((report.outcome, report.reason), (Outcome::Timeout, Some(Reason::TimeoutConnect)));
    }

    #[test]
    fn an_early_control_check_spares_that_of_a_hit_unless_it_failed() {
        let entry = json!({
            "id": "m", "platform": "M", "type": "username", "category": "social",
            "probes": [{"url": "https://site.example/{query}"}],
            "hit": [{"status": [200]}], "miss": [{"status": [404]}],
        });
        let module = Module::compile(serde_json::from_value(entry).unwrap()).unwrap();
        let query = Query::parse(SearchType::Username, "alice").unwrap();
        let terms = Terms::from(Instant::now() + Duration::from_secs(60));
        let sites: [(Arc<dyn Prober>, bool, Outcome, u32); 2] = [
            (Arc::new(Recorder::default()), false, Outcome::Hit, 1),
            (Arc::new(Site), true, Outcome::Unreliable, 2),
        ];
        for (site, needs_another, outcome, requests) in sites {
            let checker = Checker::new(site, OperatorKeys::default(), "t", Duration::from_secs(60));
            assert!(checker.needs_control(&module, &query, terms.since));
            let (evidence, pauses) = checker.control_early(&module, &query, terms);
            assert_eq!((evidence.requests, pauses.len()), (1, 0));
            assert_eq!(checker.needs_control(&module, &query, terms.since), needs_another);
            assert!(
                checker.needs_control(&module, &query, Instant::now()),
                "a check that begins later needs its own"
            );
            let report = checker.check(&module, &query, terms);
            assert_eq!((report.outcome, report.evidence.requests), (outcome, requests));
            let later = Terms { since: Instant::now(), ..terms };
            let (evidence, _) = checker.control_early(&module, &query, later);
            assert_eq!(
                evidence.requests,
                u32::from(outcome == Outcome::Hit),
                "a failure is known for a minute"
            );
        }
    }

    #[test]
    fn without_memory_for_its_answer_a_check_is_skipped() {
        let entry = json!({
            "id": "m", "platform": "M", "type": "username", "category": "social", "control": false,
            "probes": [{"url": "https://site.example/{query}"}],
            "hit": [{"status": [200], "regex": "I am {query}"}], "miss": [{"status": [404]}],
        });
        let module = Module::compile(serde_json::from_value(entry).unwrap()).unwrap();
        let checker = Checker::new(Arc::new(Site), OperatorKeys::default(), "t", Duration::from_secs(60));
        let checker = checker.with_answer_memory(1);
        let query = Query::parse(SearchType::Username, "alice").unwrap();
        let check = |deadline| checker.check(&module, &query, deadline);
        let now = Instant::now();
        let all = checker.permits.acquire(now).unwrap();
        let report = check(now + Duration::from_secs(1));
        assert_eq!((report.outcome, report.reason), (Outcome::Skipped, Some(Reason::LocalResources)));
        assert_eq!((report.evidence.requests, report.findings.len()), (1, 0));
        drop(all);
        assert_eq!(check(Instant::now() + Duration::from_secs(60)).outcome, Outcome::Hit);
    }
}
