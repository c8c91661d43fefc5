//! A check of one name: its sources are asked in order, each is judged by itself, and the best verdict counts.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::debug;

use super::answer::Answer;
use super::barrier;
use super::checker::{Checker, feed_key};
use super::definition::Via;
use super::extract::Answers;
use super::judge::{Verdict, barrier_of, judge_answers};
use super::module::Module;
use super::outcome::{Outcome, Pause, Report};
use super::pattern::Searches;
use super::probe::{Answered, Contact, CookieJar, ProbeError, Prober, Request, Response, Trace};
use super::query::Query;
use super::reason::Reason;
use super::template::{FillError, Saved, Values};
use super::terms::{Access, Denial, Terms};

/// The shortest time for an answer whose lack says something about the host. A part of the shortest learned deadline,
/// two seconds, has passed when a request begins.
const FAIR_TIME: Duration = Duration::from_millis(1500);

/// The check of one name with one module.
///
/// Hundreds of threads wait for answers at once. Functions that are called before and after the wait are not inlined, so
/// that their variables do not lie on the stack below it.
pub(super) struct ActiveCheck<'c> {
    checker: &'c Checker,
    pub(super) module: &'c Module,
    query: &'c Query,
    name: String,
    is_control: bool,
    /// The number of the only source to ask, in a control check.
    only: Option<usize>,
    terms: Terms<'c>,
    searches: Searches,
    jar: CookieJar,
    saved: Saved,
    /// The report so far. It has no contacts with hosts that the query or an answer names, because they tell what was
    /// searched.
    pub(super) report: Box<Report>,
    /// The source whose verdict counts.
    pub(super) source: Source,
}

/// A source that was asked.
pub(super) struct Source {
    /// The number of the source: 0 for the first one, then those of the fallbacks.
    pub(super) number: usize,
    /// The answers to the probes of the module. Only those of this source have any.
    pub(super) answers: Vec<Option<Arc<Response>>>,
    /// The reason why a probe of the source has no answer.
    stop: Option<Stop>,
    pub(super) verdict: Verdict,
}

/// The reason why the probes of a source ended early.
#[derive(Debug)]
enum Stop {
    /// The answer is a barrier, so further requests are useless.
    Barrier(Verdict),
    /// The host must not be contacted now.
    Denied(Denial),
    /// The next request lacks a value.
    Unfilled(FillError),
    /// The request got no usable answer, or the answer could not be read.
    Unanswered(ProbeError),
}

impl Source {
    /// Returns whether this source, which was asked after `earlier`, gives the better reason for the outcome.
    fn is_better_than(&self, earlier: &Self) -> bool {
        let is_unasked = self.answers.iter().all(Option::is_none);
        let is_barrier = |outcome| matches!(outcome, Outcome::Blocked | Outcome::RateLimited);
        match &self.stop {
            // The result is the same as without this source.
            Some(Stop::Denied(_)) if is_unasked => false,
            // It was not asked because an earlier answer is missing. The cause of that is the better reason.
            Some(Stop::Unfilled(_)) if is_unasked && earlier.stop.is_some() => false,
            _ => {
                let Verdict { outcome, .. } = self.verdict;
                outcome.is_conclusive() || is_barrier(outcome) || !is_barrier(earlier.verdict.outcome)
            }
        }
    }
}

impl<'c> ActiveCheck<'c> {
    /// Asks for a name, and judges the answers. A fallback is asked only if the sources before it led to no conclusion.
    /// With `only`, the source with that number is asked alone.
    pub(super) fn ask(
        checker: &'c Checker,
        module: &'c Module,
        query: &'c Query,
        is_control: bool,
        only: Option<usize>,
        terms: Terms<'c>,
    ) -> Self {
        let mut check = Self {
            checker,
            module,
            query,
            name: module.name_of(query),
            is_control,
            only,
            terms,
            searches: Searches::default(),
            jar: CookieJar::default(),
            saved: Saved::new(),
            report: Box::new(Report::bare(Outcome::Error, Reason::NoAnswer)),
            source: Source {
                number: 0,
                answers: Vec::new(),
                stop: None,
                verdict: Verdict::new(Outcome::Error, Some(Reason::NoAnswer), None),
            },
        };
        let began = Instant::now();
        for (number, probes) in module.sources().into_iter().enumerate() {
            if only.is_some_and(|only| only != number) {
                continue;
            }
            let source = check.ask_source(number, probes);
            if check.source.answers.is_empty() || source.is_better_than(&check.source) {
                check.adopt(source);
            }
            if check.report.outcome.is_conclusive() {
                break;
            }
        }
        check.report.evidence.answered_in = began.elapsed();
        check
    }

    /// Makes the verdict of a source that of the check.
    fn adopt(&mut self, source: Source) {
        let Report { outcome, reason, evidence, .. } = &mut *self.report;
        (*outcome, *reason) = (source.verdict.outcome, source.verdict.reason);
        evidence.matcher.clone_from(&source.verdict.matcher);
        // Without its own answer, the source shows the last one of those before it.
        if let Some(last) = source.answers.iter().flatten().next_back() {
            evidence.http_status = Some(last.status);
            evidence.final_host = last.final_url.host_str().map(str::to_owned);
        }
        evidence.circuit = match &source.stop {
            Some(Stop::Denied(denial)) => denial.end().2,
            _ => None,
        };
        self.source = source;
    }

    /// Sends the probes of a source until one of them gets no usable answer, and judges what was received.
    fn ask_source(&mut self, number: usize, probes: Range<usize>) -> Source {
        let mut answers = vec![None; self.module.entry().probes.len()];
        let earlier = self.report.evidence.contacts.len();
        // What an earlier source saved under the same names is not about this one.
        for name in self.module.entry().probes[probes.clone()].iter().flat_map(|probe| probe.save.keys()) {
            self.saved.remove(name);
        }
        let asked = match self.denial(probes.clone()) {
            Some(denial) => Err(Stop::Denied(denial)),
            None => probes.clone().try_for_each(|probe| {
                let (response, is_received) = self.fetch(probe)?;
                let response = answers[probe].insert(response);
                self.note_answer(probe, response, is_received)
            }),
        };
        let stop = asked.err();
        let verdict = self.verdict(&answers, stop.as_ref());
        for contact in &mut self.report.evidence.contacts[earlier..] {
            contact.is_in_vain = verdict.outcome.is_failure();
        }
        Source { number, answers, stop, verdict }
    }

    /// Returns the reason for which a host of one of these probes must not be contacted now, if there is one.
    #[inline(never)]
    fn denial(&self, probes: Range<usize>) -> Option<Denial> {
        let hosts = self.module.hosts_of(self.query, probes);
        hosts.iter().find_map(|host| match self.terms.hosts.access(host) {
            Access::Denied(denial) => Some(denial),
            Access::Granted | Access::Trial(_) => None,
        })
    }

    /// Returns the answer to a probe, and whether it was received for this check.
    fn fetch(&mut self, probe: usize) -> Result<(Arc<Response>, bool), Stop> {
        let request = self.prepare(probe).map_err(Stop::Unfilled)?;
        let feed = self.module.entry().probes[probe].feed.as_ref();
        let feed = feed.map(|feed| (feed_key(&request), Duration::from_secs(feed.keep_s.into())));
        if let Some(at_hand) = feed.as_ref().and_then(|(key, _)| self.checker.feeds.get(key)) {
            return at_hand.map(|list| (list, false)).map_err(Stop::Unanswered);
        }
        let access = self.access(probe, &request);
        let host = self.module.host(probe).fixed();
        let (began, mut sent, prober) = (Instant::now(), 0, &*self.checker.prober);
        let evidence = &mut self.report.evidence;
        let deadline = match access {
            Access::Denied(denial) => return Err(Stop::Denied(denial)),
            Access::Trial(time) if !has_answer(&evidence.contacts, host) => {
                self.terms.answer_by.min(began + time)
            }
            Access::Granted | Access::Trial(_) => self.terms.answer_by,
        };
        let answer = match feed {
            None => send(prober, &request, &mut self.jar, deadline, &mut sent).map(Arc::new),
            // It is fetched without the cookies of this check, because all checks share it.
            Some((key, keep)) => self.checker.feed(&key, keep, deadline, || {
                send(prober, &request, &mut CookieJar::default(), deadline, &mut sent)
            }),
        };
        evidence.requests += sent;
        if sent > 0 {
            let times = [deadline.saturating_duration_since(began), began.elapsed()];
            let contact = contact(&evidence.contacts, host, &request, times, answer.as_ref().err());
            evidence.contacts.extend(contact);
            evidence.bytes_read += answer.as_ref().map_or(0, |response| response.body.len());
        }
        answer.map(|response| (response, sent > 0)).map_err(|error| {
            if error == ProbeError::forbidden() {
                // Callers get the error of a name that does not resolve.
                debug!("{}: not asked, its host has no public address", self.module.id());
            }
            self.checker.note_local_fault(&error);
            Stop::Unanswered(error)
        })
    }

    /// Returns whether the host of the request may be contacted.
    #[inline(never)]
    fn access(&self, probe: usize, request: &Request) -> Access {
        let host = self.host(probe).or_else(|| request.url.host_str().map(str::to_owned));
        match host {
            None => Access::Granted,
            Some(host) if self.report.pauses.iter().any(|pause| pause.host == host) => {
                Access::Denied(Denial::Pause)
            }
            Some(host) => self.terms.hosts.access(&host),
        }
    }

    /// Returns the host under which checks of a probe are counted, if it is known before the request.
    fn host(&self, probe: usize) -> Option<String> {
        self.module.host(probe).name(&self.values())
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values::new(self.module.entry().host(), self.query, &self.name, &self.saved, &self.searches)
    }

    /// Returns the request of a probe, with its templates filled.
    #[inline(never)]
    fn prepare(&self, probe: usize) -> Result<Request, FillError> {
        let trace = Trace {
            module: self.module.id().clone(),
            probe,
            query: self.query.normal().into(),
            control: self.is_control,
        };
        let values = Values { keys: Some(&self.checker.keys), ..self.values() };
        self.module.request(&values, &self.checker.user_agent, trace)
    }

    /// Notes the pauses that an answer asks for, and the values that later probes need from it. A barrier ends the
    /// source.
    #[inline(never)]
    fn note_answer(&mut self, probe: usize, response: &Response, is_received: bool) -> Result<(), Stop> {
        let (saved, barrier) = self.reading(|| {
            let (answer, mut saved) = (Answer::new(response), self.saved.clone());
            self.module.entry().probes[probe].save(&answer, self.values(), &mut saved);
            (saved, barrier_of(self.module, probe, &answer, &self.values()))
        });
        if is_received {
            self.report.pauses.extend(self.pauses_of(probe, response, barrier.is_some()));
        }
        self.saved = saved;
        barrier.map_or(Ok(()), |verdict| Err(Stop::Barrier(verdict)))
    }

    /// Returns the pauses that an answer asks for: for the probe's host, and for the host that it was redirected to.
    fn pauses_of(&self, probe: usize, response: &Response, is_barrier: bool) -> Vec<Pause> {
        let Some(secs) = barrier::pause_secs(response, is_barrier) else { return Vec::new() };
        let asked = self.host(probe);
        let is_of = |host: &str| {
            asked.as_deref().is_some_and(|asked| {
                host.strip_suffix(asked).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        };
        let answered = response.final_url.host_str().filter(|host| !is_of(host)).map(str::to_owned);
        asked.into_iter().chain(answered).map(|host| Pause { host, secs }).collect()
    }

    /// Returns the verdict on the answers of a source, and what they give.
    #[inline(never)]
    fn verdict(&self, answers: &[Option<Arc<Response>>], stop: Option<&Stop>) -> Verdict {
        let judge = || self.reading(|| self.judge(answers));
        let (outcome, reason) = match stop {
            _ if self.searches.is_out_of_time() => (Outcome::Timeout, Reason::TimeoutRules),
            None => return judge(),
            Some(Stop::Barrier(verdict)) => return verdict.clone(),
            Some(Stop::Denied(denial)) => {
                let (outcome, reason, _) = denial.end();
                (outcome, reason)
            }
            Some(Stop::Unanswered(error)) => {
                // The time for the answers may end before the deadline of the check.
                let Terms { answer_by, deadline, .. } = self.terms;
                let is_early = answer_by < deadline && answer_by <= Instant::now();
                match error.reason {
                    reason if reason.is_timeout() && is_early => (Outcome::Timeout, Reason::LearntDeadline),
                    reason if reason.is_timeout() => (Outcome::Timeout, reason),
                    reason if reason == Reason::Unavailable || reason.is_local_fault() => {
                        (Outcome::Skipped, reason)
                    }
                    reason => (Outcome::Error, reason),
                }
            }
            Some(Stop::Unfilled(FillError::NoKey)) => (Outcome::Skipped, Reason::NeedsKey),
            Some(Stop::Unfilled(FillError::NoPart | FillError::Unfit))
                if self.report.evidence.requests == 0 =>
            {
                (Outcome::Skipped, Reason::NotAccepted)
            }
            // The answer that lacks the value may match a rule that explains why.
            Some(Stop::Unfilled(_)) => match judge() {
                Verdict { outcome: Outcome::Error, .. } => (Outcome::Error, Reason::NotSaved),
                verdict => return verdict,
            },
        };
        Verdict::new(outcome, Some(reason), None)
    }

    /// Applies the rules to the answers of a source, and reads what they give for the query or for a control check.
    fn judge(&self, answers: &[Option<Arc<Response>>]) -> Verdict {
        let answers = Answers(answers.iter().map(|response| response.as_deref().map(Answer::new)).collect());
        let (entry, values) = (self.module.entry(), self.values());
        let mut verdict = judge_answers(self.module, &answers, &values);
        match (verdict.outcome, self.is_control, self.only) {
            (Outcome::Hit, false, None) => verdict.findings = entry.findings(&answers, values),
            (_, true, Some(_)) => {
                verdict.findings.page_profile = entry.page_profile(&answers, values.name);
            }
            _ => {}
        }
        verdict
    }

    /// Calls `read`, which parses answers, when it may, and starts the time limit of its searches. `read` must not wait
    /// for anything.
    fn reading<T>(&self, read: impl FnOnce() -> T) -> T {
        let _permit = self.checker.permits.acquire();
        self.searches.allow_until(self.terms.deadline);
        read()
    }

    /// Returns whether the judged answer of a hit is kept.
    pub(super) fn keeps(&self) -> bool {
        self.terms.keeps
    }

    /// Returns whether a request of the source got no usable answer, or an answer is larger than what is read.
    pub(super) fn is_cut(&self) -> bool {
        let mut answers = self.source.answers.iter().enumerate();
        self.source.stop.is_some()
            || answers.any(|(probe, answer)| {
                // Of other answers, only the part that is needed was requested.
                answer.as_ref().is_some_and(|answer| answer.truncated) && self.module.reads_body(probe, true)
            })
    }
}

/// Sends a request. After a connection error it is sent once more, if the deadline has not passed.
fn send(
    prober: &dyn Prober,
    request: &Request,
    jar: &mut CookieJar,
    deadline: Instant,
    sent: &mut u32,
) -> Result<Response, ProbeError> {
    if Instant::now() >= deadline {
        return Err(ProbeError::late(Reason::TimeoutConnect));
    }
    *sent += 1;
    let answer = prober.send(request, jar, deadline);
    if !answer.as_ref().is_err_and(ProbeError::is_connection_error) || Instant::now() >= deadline {
        return answer;
    }
    *sent += 1;
    prober.send(request, jar, deadline)
}

/// Returns whether a host has answered a request of the check.
fn has_answer(contacts: &[Contact], host: Option<&str>) -> bool {
    contacts.iter().any(|contact| Some(&*contact.host) == host && contact.answer == Answered::Yes)
}

/// Returns the contact with `host` by a request that had `time` for its answer, and `took` so long. Returns `None` for a
/// failure that may have another cause than the host.
fn contact(
    contacts: &[Contact],
    host: Option<&str>,
    request: &Request,
    [time, took]: [Duration; 2],
    error: Option<&ProbeError>,
) -> Option<Contact> {
    let host = host?;
    // A browser takes its own time.
    let took = if request.via == Via::Browser { Duration::ZERO } else { took };
    let answer = match error {
        None => Answered::Yes,
        // The browser or its session may be the cause.
        Some(_) if request.via == Via::Browser => return None,
        // The certificate of a host may not be valid for each name below it.
        Some(ProbeError { reason: Reason::Tls, is_after_redirect: false, .. })
            if request.url.host_str() != Some(host) =>
        {
            return None;
        }
        Some(error) => match error.answered() {
            // A host that has used up the time itself gets no more.
            Some(Answered::TooLate) if time < FAIR_TIME && !has_answer(contacts, Some(host)) => return None,
            Some(answer) => answer,
            None if error.reason == Reason::Dns && took >= FAIR_TIME => Answered::NoConnection,
            None => return None,
        },
    };
    Some(Contact { host: host.to_owned(), answer, took, is_in_vain: false })
}
