//! The probes of a check, sent in order: prepare, send, save, until the rules know enough.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use super::answer::Answer;
use super::barrier::{self, Barrier};
use super::check::Checker;
use super::extract::Answers;
use super::feed::{Feed, Key};
use super::html::Selectors;
use super::judge::{Verdict, judge_answers, save_one, wall};
use super::module::Module;
use super::outcome::{Evidence, Outcome, Pause, RETRY_AFTER};
use super::probe::{ProbeError, Request, Response, Timing, Trace};
use super::query::Query;
use super::sender::Sender;
use super::template::{FillError, Saved, Values};
use super::terms::Terms;

/// One name asked at one module.
pub(super) struct Inquiry<'c> {
    checker: &'c Checker,
    module: &'c Module,
    query: &'c Query,
    name: String,
    is_control: bool,
    terms: Terms<'c>,
    sender: Sender<'c>,
    saved: Saved,
    obtained: Vec<Option<Taken>>,
    broken: Option<Broken>,
    shut_out: Option<ShutOut>,
    pauses: Vec<Pause>,
}

/// An earlier source kept us out: that says more than a later one's want of an answer.
struct ShutOut {
    verdict: Verdict,
    /// The probe of its last answer.
    last: Option<usize>,
}

/// The answer to a probe, and the wall of the global list that it is, if any.
struct Taken {
    obtained: Obtained,
    barrier: Option<Barrier>,
}

impl Taken {
    fn answer<'r>(&'r self, selectors: &'r Selectors) -> Answer<'r> {
        self.obtained.answer(selectors).behind(self.barrier)
    }
}

/// The answer to a probe.
enum Obtained {
    Own(Response),
    Shared {
        feed: Arc<Feed>,
        /// This check fetched it.
        is_fetched: bool,
    },
}

impl Obtained {
    fn response(&self) -> &Response {
        match self {
            Self::Own(response) => response,
            Self::Shared { feed, .. } => &feed.response,
        }
    }

    fn answer<'r>(&'r self, selectors: &'r Selectors) -> Answer<'r> {
        match self {
            Self::Own(response) => Answer::new(response, selectors),
            Self::Shared { feed, .. } => Answer::shared(&feed.response, &feed.parsed, selectors),
        }
    }

    /// What this check itself received.
    fn received(&self) -> Option<&Response> {
        match self {
            Self::Shared { is_fetched: false, .. } => None,
            _ => Some(self.response()),
        }
    }
}

/// Why the chain of probes ended early.
#[derive(Debug)]
enum Broken {
    /// A barrier: asking on would be of no use.
    Wall,
    /// The host asked to be left alone for now.
    Paused,
    /// The next request cannot be made.
    Unfilled(FillError),
    /// No answer.
    Unanswered(ProbeError),
}

impl<'c> Inquiry<'c> {
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
            sender: Sender::new(&*checker.prober, terms.deadline),
            saved: Saved::new(),
            obtained: module.plans.iter().map(|_| None).collect(),
            broken: None,
            shut_out: None,
            pauses: Vec::new(),
        }
    }

    /// Sends the probes. A fallback is sent only where the answers so far led to no conclusion.
    pub(super) fn ask(&mut self) {
        for source in self.module.sources() {
            if source.start > 0 && self.broken.is_none() && self.judge().is_conclusive() {
                return;
            }
            self.ask_source(source);
        }
    }

    /// Sends the probes of one source, up to one without an answer of use.
    fn ask_source(&mut self, source: Range<usize>) {
        if source.start > 0 && self.shut_out.is_none() {
            self.shut_out = self.is_shut_out();
        }
        let earlier = self.broken.take();
        if self.checker.is_paused(self.module, self.query, source.clone(), self.terms.paused) {
            self.broken = Some(Broken::Paused);
        }
        for probe in source.clone() {
            if self.broken.is_some() {
                break;
            }
            match self.obtain(probe) {
                Ok(obtained) => self.take(probe, obtained),
                Err(broken) => self.broken = Some(broken),
            }
        }
        let is_unasked = source.start > 0 && self.obtained[source].iter().all(Option::is_none);
        match self.broken {
            // As if it were not there.
            Some(Broken::Paused) if is_unasked => self.broken = earlier,
            // It could not be asked for want of an earlier answer: why that did not come says more.
            Some(Broken::Unfilled(_)) if is_unasked && earlier.is_some() => self.broken = earlier,
            _ => {}
        }
    }

    /// Whether the site kept us out so far.
    fn is_shut_out(&self) -> Option<ShutOut> {
        let verdict = match self.broken {
            None | Some(Broken::Wall | Broken::Paused) => self.verdict(&self.answers()),
            Some(Broken::Unfilled(_) | Broken::Unanswered(_)) => return None,
        };
        let last = self.obtained.iter().rposition(Option::is_some);
        let is_shut = matches!(verdict.outcome, Outcome::Blocked | Outcome::RateLimited);
        is_shut.then_some(ShutOut { verdict, last })
    }

    fn obtain(&mut self, probe: usize) -> Result<Obtained, Broken> {
        let request = self.prepare(probe).map_err(Broken::Unfilled)?;
        let keep = self.module.plans[probe].keep;
        let is_at_hand = keep.is_some() && self.checker.feeds.has(&Key::from(&request));
        if !is_at_hand && self.is_paused(probe, &request, &self.pauses) {
            return Err(Broken::Paused);
        }
        let answer = match keep {
            None => self.sender.send(&request).map(Obtained::Own),
            Some(keep) => self.feed(probe, &request, keep),
        };
        answer.map_err(Broken::Unanswered)
    }

    /// Whether the host that a request of that probe asks wants to be left alone; `pauses` are those
    /// that this check found out itself.
    pub(super) fn is_paused(&self, probe: usize, request: &Request, pauses: &[Pause]) -> bool {
        let host = self.host(probe).or_else(|| request.url.host_str().map(str::to_owned));
        host.is_some_and(|host| {
            self.terms.paused.is_paused(&host) || pauses.iter().any(|pause| pause.host == host)
        })
    }

    /// The host of that probe as checks of it are counted, where that can be told beforehand.
    fn host(&self, probe: usize) -> Option<String> {
        self.module.plans[probe].host.name(&self.values())
    }

    /// The feed of that probe; fetched without this check's cookies, for it is everybody's.
    fn feed(&mut self, probe: usize, request: &Request, keep: Duration) -> Result<Obtained, ProbeError> {
        let deadline = self.sender.deadline();
        let mut sender = Sender::new(&*self.checker.prober, deadline);
        let fetch = || sender.send(request);
        let is_sound = |feed: &Feed| self.is_list(probe, feed);
        let feed = self.checker.feeds.get(&Key::from(request), keep, deadline, fetch, is_sound);
        let requests = sender.requests();
        self.sender.count(requests);
        Ok(Obtained::Shared { feed: feed?, is_fetched: requests > 0 })
    }

    /// Whether a feed is the list, and no error page or a part of it.
    fn is_list(&self, probe: usize, feed: &Feed) -> bool {
        let Response { status, truncated, body, .. } = &feed.response;
        if !(200..300).contains(status) || *truncated || body.trim_ascii().is_empty() {
            return false;
        }
        let answer = Answer::shared(&feed.response, &feed.parsed, &self.module.selectors);
        let is_json = !self.module.needs_json(probe) || answer.json().is_some();
        is_json && !self.wall(probe, &answer) && self.is_known(probe, &answer) != Some(false)
    }

    /// Whether a rule for a hit or a miss that is about answers of that probe holds for this one; `None`:
    /// there is no such rule.
    pub(super) fn is_known(&self, probe: usize, answer: &Answer<'_>) -> Option<bool> {
        let rules = self.module.hit.iter().chain(&self.module.miss);
        let mut rules = rules.filter(|rule| self.module.is_about(rule, probe)).peekable();
        rules.peek()?;
        let values = self.values();
        Some(rules.any(|rule| rule.holds(answer, &values)))
    }

    pub(super) fn values(&self) -> Values<'_> {
        Values { query: self.query, name: &self.name, keys: None, saved: &self.saved, value: None }
    }

    /// What requests are filled with.
    pub(super) fn request_values(&self) -> Values<'_> {
        Values { keys: Some(&self.checker.keys), ..self.values() }
    }

    /// The request of that probe.
    pub(super) fn prepare(&self, probe: usize) -> Result<Request, FillError> {
        let trace = Trace {
            module: self.module.id().clone(),
            probe,
            query: self.query.normal().into(),
            control: self.is_control,
        };
        self.module.plans[probe].request(&self.request_values(), &self.checker.user_agent, trace)
    }

    /// Keeps an answer, and what later probes need of it.
    fn take(&mut self, probe: usize, obtained: Obtained) {
        let answer = obtained.answer(&self.module.selectors);
        save_one(self.module, probe, self.query, &self.name, &answer, &mut self.saved);
        let is_wall = self.wall(probe, &answer);
        if is_wall {
            self.broken = Some(Broken::Wall);
        }
        let received = obtained.received();
        let pauses = received.map(|response| self.pauses_of(probe, response, is_wall)).unwrap_or_default();
        self.pauses.extend(pauses);
        let barrier = answer.barrier(|response| barrier::find(self.module, response, None));
        self.obtained[probe] = Some(Taken { obtained, barrier });
    }

    /// Whether an answer of that probe is a barrier.
    pub(super) fn wall(&self, probe: usize, answer: &Answer<'_>) -> bool {
        wall(self.module, probe, answer, &self.values()).is_some()
    }

    /// The hosts that an answer asks to leave alone, if any: the one that the probe is about, and the one
    /// that it was sent on to.
    pub(super) fn pauses_of(&self, probe: usize, response: &Response, is_wall: bool) -> Vec<Pause> {
        let Some(secs) = barrier::pause_secs(response, is_wall) else { return Vec::new() };
        let asked = self.host(probe);
        let is_of = |host: &str| {
            asked.as_deref().is_some_and(|asked| {
                host.strip_suffix(asked).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        };
        let answered = response.final_url.host_str().filter(|host| !is_of(host)).map(str::to_owned);
        asked.into_iter().chain(answered).map(|host| Pause { host, secs }).collect()
    }

    /// The hosts that asked to be left alone.
    pub(super) fn pauses(&self) -> &[Pause] {
        &self.pauses
    }

    /// The answers, for rules and extractors.
    pub(super) fn answers(&self) -> Answers<'_> {
        let selectors = &self.module.selectors;
        Answers::new(self.obtained.iter().map(|it| it.as_ref().map(|it| it.answer(selectors))).collect())
    }

    fn judge(&self) -> Outcome {
        judge_answers(self.module, &self.answers(), &self.values()).outcome
    }

    /// What it comes to.
    pub(super) fn verdict(&self, answers: &Answers<'_>) -> Verdict {
        match (self.failure(), &self.shut_out) {
            (None, _) => judge_answers(self.module, answers, &self.values()),
            (Some(_), Some(shut_out)) => shut_out.verdict.clone(),
            (Some((outcome, reason)), None) => Verdict::new(outcome, Some(reason), None),
        }
    }

    /// How it ended before the rules could be asked, if it did.
    fn failure(&self) -> Option<(Outcome, &'static str)> {
        match &self.broken {
            None | Some(Broken::Wall) => None,
            Some(Broken::Paused) => Some((Outcome::RateLimited, RETRY_AFTER)),
            Some(Broken::Unanswered(error)) => Some(match error {
                ProbeError::Timeout(_) => (Outcome::Timeout, error.reason()),
                ProbeError::Unavailable(_) => (Outcome::Skipped, error.reason()),
                _ => (Outcome::Error, error.reason()),
            }),
            Some(Broken::Unfilled(FillError::NoKey(_))) => Some((Outcome::Skipped, "needs_key")),
            Some(Broken::Unfilled(FillError::NoPart | FillError::Unfit)) if self.is_unasked() => {
                Some((Outcome::Skipped, "not_accepted"))
            }
            // The answer that should have held the value may well say why it does not.
            Some(Broken::Unfilled(_)) => {
                let is_told = self.judge() != Outcome::Error;
                (!is_told).then_some((Outcome::Error, "not_saved"))
            }
        }
    }

    fn is_unasked(&self) -> bool {
        self.obtained.iter().all(Option::is_none)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let obtained = match &self.shut_out {
            Some(shut_out) if self.failure().is_some() => {
                &self.obtained[..shut_out.last.map_or(0, |last| last + 1)]
            }
            _ => &self.obtained,
        };
        let last = obtained.iter().flatten().next_back().map(|taken| taken.obtained.response());
        let received = || self.obtained.iter().flatten().filter_map(|taken| taken.obtained.received());
        Evidence {
            http_status: last.map(|response| response.status),
            final_host: last.and_then(|response| response.final_url.host_str()).map(str::to_owned),
            matcher: None,
            bytes_read: received().map(|response| response.body.len()).sum(),
            requests: self.sender.requests(),
            timing: received().fold(Timing::default(), |sum, response| sum + response.timing),
        }
    }

    pub(super) fn module(&self) -> &'c Module {
        self.module
    }

    /// Sends what comes after: with the cookies so far.
    pub(super) fn sender(&self) -> Sender<'c> {
        self.sender.going_on()
    }
}

#[cfg(test)]
mod tests;
