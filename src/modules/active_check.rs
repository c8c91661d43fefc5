//! The probes of a check: each is prepared and sent in order, until the rules reach a conclusion.

use std::ops::Range;
use std::time::{Duration, Instant};

use log::debug;

use super::answer::Answer;
use super::answer_memory::{Reservation, estimate};
use super::barrier;
use super::checker::Checker;
use super::contacts::Contacts;
use super::extract::Answers;
use super::feed::{Feed, Key};
use super::judge::{Verdict, barrier_of, judge_answers, save_one};
use super::module::Module;
use super::outcome::{Outcome, Pause};
use super::pattern::Searches;
use super::probe::{LocalFault, ProbeError, Request, Response, Trace};
use super::probe_answer::{AnswerWithBarrier, ProbeAnswer};
use super::query::Query;
use super::reason::Reason;
use super::sender::Sender;
use super::stop_reason::StopReason;
use super::template::{FillError, Saved, Values};
use super::terms::{Access, Denial, Terms};

/// The least time that a check waits for memory for its answers, even if its deadline is nearer.
const LEAST_READING_TIME: Duration = Duration::from_secs(2);

/// The check of one name with one module.
///
/// Hundreds of threads wait for answers at once. Functions that are called before and after the wait are not inlined, so
/// that their variables do not lie on the stack below it.
pub(super) struct ActiveCheck<'c> {
    checker: &'c Checker,
    module: &'c Module,
    query: &'c Query,
    name: String,
    is_control: bool,
    terms: Terms<'c>,
    sender: Sender<'c>,
    searches: Searches,
    saved: Saved,
    pub(super) answers: Vec<Option<AnswerWithBarrier>>,
    answered_in: Duration,
    stop_reason: Option<StopReason>,
    earlier_barrier: Option<EarlierBarrier>,
    pauses: Vec<Pause>,
    pub(super) contacts: Contacts,
}

/// A barrier at an earlier source. It is a better reason than the missing answer of a later source.
struct EarlierBarrier {
    verdict: Verdict,
    /// The last probe that had an answer.
    last: Option<usize>,
}

impl<'c> ActiveCheck<'c> {
    pub(super) fn new(
        checker: &'c Checker,
        module: &'c Module,
        query: &'c Query,
        is_control: bool,
        terms: Terms<'c>,
    ) -> Self {
        Self {
            checker,
            module,
            query,
            name: module.name_of(query),
            is_control,
            terms,
            sender: Sender::new(&*checker.prober, terms.answer_by),
            searches: Searches::default(),
            saved: Saved::new(),
            answers: module.entry().probes.iter().map(|_| None).collect(),
            answered_in: Duration::ZERO,
            stop_reason: None,
            earlier_barrier: None,
            pauses: Vec::new(),
            contacts: Contacts::default(),
        }
    }

    /// Sends the probes. A fallback is sent only if the answers so far led to no conclusion.
    pub(super) fn ask(&mut self) {
        let began = Instant::now();
        self.ask_sources();
        self.answered_in = began.elapsed();
    }

    fn ask_sources(&mut self) {
        for source in self.module.sources() {
            if source.start > 0 && self.stop_reason.is_none() {
                match self.is_conclusive() {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(error) => {
                        self.stop_reason = Some(StopReason::Unanswered(error));
                        return;
                    }
                }
            }
            self.ask_source(source);
        }
    }

    /// Returns whether the answers so far lead to a conclusion.
    #[inline(never)]
    fn is_conclusive(&self) -> Result<bool, ProbeError> {
        self.read(|answers| self.judge(answers).is_conclusive())
    }

    /// Sends the probes of one source until one of them gets no usable answer.
    fn ask_source(&mut self, source: Range<usize>) {
        if source.start > 0 && self.earlier_barrier.is_none() {
            self.earlier_barrier = self.find_earlier_barrier();
        }
        let earlier = self.stop_reason.take();
        let denial = self.checker.denial(self.module, self.query, source.clone(), self.terms.hosts);
        self.stop_reason = denial.map(StopReason::Denied);
        for probe in source.clone() {
            if self.stop_reason.is_some() {
                break;
            }
            match self.fetch(probe) {
                Ok(answer) => self.store(probe, answer),
                Err(stop_reason) => self.stop_reason = Some(stop_reason),
            }
        }
        let is_unasked = source.start > 0 && self.answers[source].iter().all(Option::is_none);
        match self.stop_reason {
            // The result is the same as without this source.
            Some(StopReason::Denied(_)) if is_unasked => self.stop_reason = earlier,
            // The source was not asked because an earlier answer is missing. The cause of that is the better reason.
            Some(StopReason::Unfilled(_)) if is_unasked && earlier.is_some() => self.stop_reason = earlier,
            _ => {}
        }
    }

    /// Returns the barrier that stopped the sources so far, if there was one.
    #[inline(never)]
    fn find_earlier_barrier(&self) -> Option<EarlierBarrier> {
        let verdict = match self.stop_reason {
            None | Some(StopReason::Barrier | StopReason::Denied(_)) => {
                self.read(|answers| self.verdict(answers)).ok()?
            }
            Some(StopReason::Unfilled(_) | StopReason::Unanswered(_)) => return None,
        };
        let last = self.answers.iter().rposition(Option::is_some);
        let is_barrier = matches!(verdict.outcome, Outcome::Blocked | Outcome::RateLimited);
        is_barrier.then_some(EarlierBarrier { verdict, last })
    }

    fn fetch(&mut self, probe: usize) -> Result<ProbeAnswer, StopReason> {
        let request = self.prepare(probe).map_err(StopReason::Unfilled)?;
        let keep = self.module.entry().probes[probe].keep();
        let is_at_hand = keep.is_some() && self.checker.feeds.has(&Key::from(&request));
        let access = if is_at_hand { Access::Granted } else { self.access(probe, &request, &self.pauses) };
        let host = self.module.host(probe).fixed();
        let (began, sent) = (Instant::now(), self.sender.requests());
        let deadline = match access {
            Access::Denied(denial) => return Err(StopReason::Denied(denial)),
            Access::Trial(time) if !self.contacts.has_answer(host) => {
                self.sender.deadline().min(began + time)
            }
            Access::Granted | Access::Trial(_) => self.sender.deadline(),
        };
        let answer = match keep {
            None => self.sender.send_until(&request, deadline).map(ProbeAnswer::Own),
            Some(keep) => self.feed(probe, &request, keep, deadline),
        };
        if self.sender.requests() > sent {
            let times = [deadline.saturating_duration_since(began), began.elapsed()];
            self.contacts.note(host, &request, times, answer.as_ref().err());
        }
        answer.map_err(|error| {
            if error == ProbeError::ForbiddenAddress {
                // Callers get the error of a name that does not resolve.
                debug!("{}: not asked, its host has no public address", self.module.id());
            }
            self.checker.local_faults.note(&error);
            StopReason::Unanswered(error)
        })
    }

    /// Returns whether the host of the request may be contacted. `pauses` are those that this check received itself.
    #[inline(never)]
    pub(super) fn access(&self, probe: usize, request: &Request, pauses: &[Pause]) -> Access {
        let host = self.host(probe).or_else(|| request.url.host_str().map(str::to_owned));
        match host {
            None => Access::Granted,
            Some(host) if pauses.iter().any(|pause| pause.host == host) => Access::Denied(Denial::Pause),
            Some(host) => self.terms.hosts.access(&host),
        }
    }

    /// Returns the host under which checks of a probe are counted, if it is known before the request.
    fn host(&self, probe: usize) -> Option<String> {
        self.module.host(probe).name(&self.values())
    }

    /// Returns the feed of a probe. It is fetched without this check's cookies, because all checks share it.
    #[inline(never)]
    fn feed(
        &mut self,
        probe: usize,
        request: &Request,
        keep: Duration,
        deadline: Instant,
    ) -> Result<ProbeAnswer, ProbeError> {
        let mut sender = Sender::new(&*self.checker.prober, deadline);
        let fetch = || sender.send(request);
        let is_sound = |feed: &Feed| {
            self.searches.allow_until(deadline);
            self.is_list(probe, feed)
        };
        let feed = self.checker.feeds.get(&Key::from(request), keep, deadline, fetch, is_sound);
        let requests = sender.requests();
        self.sender.count(requests);
        Ok(ProbeAnswer::Shared { feed: feed?, is_fetched: requests > 0 })
    }

    /// Returns whether an answer is the complete list of a feed, and not an error page or a part of the list.
    fn is_list(&self, probe: usize, feed: &Feed) -> bool {
        let Response { status, truncated, body, .. } = &feed.response;
        if !(200..300).contains(status) || *truncated || body.trim_ascii().is_empty() {
            return false;
        }
        let answer = Answer::shared(&feed.response, &feed.parsed, &self.module.selectors);
        let is_json = !self.module.needs_json(probe) || answer.json().is_some();
        is_json && !self.is_barrier(probe, &answer) && self.is_known(probe, &answer) != Some(false)
    }

    /// Returns whether a hit or miss rule about the probe holds for the answer. Returns `None` if no rule is
    /// about it.
    pub(super) fn is_known(&self, probe: usize, answer: &Answer<'_>) -> Option<bool> {
        let rules = self.module.entry().hit.iter().chain(&self.module.entry().miss);
        let mut rules = rules.filter(|rule| self.module.is_about(rule, probe)).peekable();
        rules.peek()?;
        let values = self.values();
        Some(rules.any(|rule| rule.holds(answer, &values)))
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values::new(self.query, &self.name, &self.saved, &self.searches)
    }

    /// Returns the values that requests are filled with.
    pub(super) fn request_values(&self) -> Values<'_> {
        Values { keys: Some(&self.checker.keys), ..self.values() }
    }

    /// Returns the request of a probe, with its templates filled.
    #[inline(never)]
    pub(super) fn prepare(&self, probe: usize) -> Result<Request, FillError> {
        let trace = Trace {
            module: self.module.id().clone(),
            probe,
            query: self.query.normal().into(),
            control: self.is_control,
        };
        self.module.request(&self.request_values(), &self.checker.user_agent, trace)
    }

    /// Stores an answer and the values that later probes need from it.
    #[inline(never)]
    fn store(&mut self, probe: usize, received: ProbeAnswer) {
        let memory = match self.reserve(received.own()) {
            Ok(memory) => memory,
            Err(error) => {
                let response = received.received();
                let pauses = response.map(|response| self.pauses_of(probe, response, false));
                self.pauses.extend(pauses.unwrap_or_default());
                self.stop_reason = Some(StopReason::Unanswered(error));
                return;
            }
        };
        let answer = received.answer(&self.module.selectors);
        let mut saved = self.saved.clone();
        save_one(self.module, probe, &answer, self.values(), &mut saved);
        self.saved = saved;
        let is_barrier = self.is_barrier(probe, &answer);
        if is_barrier {
            self.stop_reason = Some(StopReason::Barrier);
        }
        let response = received.received();
        let pauses = response.map(|response| self.pauses_of(probe, response, is_barrier)).unwrap_or_default();
        self.pauses.extend(pauses);
        let barrier = answer.barrier(|response| barrier::find(self.module, response, None, &[]));
        drop(answer);
        drop(memory);
        self.answers[probe] = Some(AnswerWithBarrier { answer: received, barrier });
    }

    /// Returns whether an answer to a probe is a barrier.
    pub(super) fn is_barrier(&self, probe: usize, answer: &Answer<'_>) -> bool {
        barrier_of(self.module, probe, answer, &self.values()).is_some()
    }

    /// Returns the pauses that an answer asks for: for the probe's host, and for the host that it was redirected to.
    pub(super) fn pauses_of(&self, probe: usize, response: &Response, is_barrier: bool) -> Vec<Pause> {
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

    /// Returns the pauses that hosts asked for during this check.
    pub(super) fn pauses(&self) -> &[Pause] {
        &self.pauses
    }

    /// Calls `read` with the answers so far.
    ///
    /// The parsed answers take memory that other checks may be waiting for. `read` must therefore not wait
    /// for anything and must not call this method again.
    ///
    /// # Errors
    /// Returns an error if there was not enough memory in time.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Answers<'_>) -> T) -> Result<T, ProbeError> {
        let own = self.answers.iter().flatten().filter_map(|it| it.answer.own());
        let memory = self.reserve(own)?;
        let selectors = &self.module.selectors;
        let list = self.answers.iter().map(|it| it.as_ref().map(|it| it.answer(selectors))).collect();
        let answers = Answers::new(list);
        let value = read(&answers);
        drop(answers);
        drop(memory);
        Ok(value)
    }

    /// Reserves memory for the parsed forms of these responses, and starts the time limit of their searches.
    pub(super) fn reserve<'r>(
        &self,
        responses: impl IntoIterator<Item = &'r Response>,
    ) -> Result<Reservation<'c>, ProbeError> {
        let bytes = responses.into_iter().map(estimate).sum();
        let until = self.terms.deadline.max(Instant::now() + LEAST_READING_TIME);
        let Some(memory) = self.checker.memory.reserve(bytes, until) else {
            let why = "the memory for answers is used up";
            let error = ProbeError::Local(LocalFault::Resources, why.to_owned());
            self.checker.local_faults.note(&error);
            return Err(error);
        };
        self.searches.allow_until(self.terms.deadline);
        Ok(memory)
    }

    fn judge(&self, answers: &Answers<'_>) -> Outcome {
        judge_answers(self.module, answers, &self.values()).outcome
    }

    /// Returns the verdict on the answers that were received.
    pub(super) fn verdict(&self, answers: &Answers<'_>) -> Verdict {
        if self.searches.is_out_of_time() {
            return Verdict::new(Outcome::Timeout, Some(Reason::TimeoutRules), None);
        }
        match (self.failure(answers), &self.earlier_barrier) {
            (None, _) => judge_answers(self.module, answers, &self.values()),
            (Some(_), Some(earlier_barrier)) => earlier_barrier.verdict.clone(),
            (Some((outcome, reason)), None) => Verdict::new(outcome, Some(reason), None),
        }
    }

    /// Returns the outcome of a check that ended before its rules were applied.
    fn failure(&self, answers: &Answers<'_>) -> Option<(Outcome, Reason)> {
        match &self.stop_reason {
            None | Some(StopReason::Barrier) => None,
            Some(StopReason::Denied(denial)) => Some((denial.outcome(), denial.reason())),
            Some(StopReason::Unanswered(error)) => Some(match error.of_last_hop() {
                ProbeError::Timeout(_) if self.is_cut_by_learnt_deadline() => {
                    (Outcome::Timeout, Reason::LearntDeadline)
                }
                ProbeError::Timeout(_) => (Outcome::Timeout, error.reason()),
                ProbeError::Unavailable(_) | ProbeError::Local(..) => (Outcome::Skipped, error.reason()),
                _ => (Outcome::Error, error.reason()),
            }),
            Some(StopReason::Unfilled(FillError::NoKey(_))) => Some((Outcome::Skipped, Reason::NeedsKey)),
            Some(StopReason::Unfilled(FillError::NoPart | FillError::Unfit)) if self.is_unasked() => {
                Some((Outcome::Skipped, Reason::NotAccepted))
            }
            // The answer that lacks the value may match a rule that explains why.
            Some(StopReason::Unfilled(_)) => {
                let is_told = self.judge(answers) != Outcome::Error;
                (!is_told).then_some((Outcome::Error, Reason::NotSaved))
            }
        }
    }

    /// Returns whether the time for the answers has ended before the deadline of the check.
    fn is_cut_by_learnt_deadline(&self) -> bool {
        self.terms.answer_by < self.terms.deadline && self.terms.answer_by <= Instant::now()
    }

    fn is_unasked(&self) -> bool {
        self.answers.iter().all(Option::is_none)
    }
}

mod evidence;
#[cfg(test)]
mod tests;
