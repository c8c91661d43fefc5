//! The probes of a check, sent in order: prepare, send, save, until the rules know enough.

use std::time::Instant;

use super::answer::Answer;
use super::check::Checker;
use super::extract::Answers;
use super::judge::{answers, judge_answers, save_one, wall};
use super::module::Module;
use super::outcome::{Evidence, Outcome};
use super::plan::Plan;
use super::probe::{CookieJar, Phase, ProbeError, Request, Response, Timing, Trace};
use super::query::Query;
use super::template::{FillError, Saved, Values};

/// One name asked at one module.
pub(super) struct Inquiry<'c> {
    checker: &'c Checker,
    module: &'c Module,
    query: &'c Query,
    name: String,
    is_control: bool,
    deadline: Instant,
    jar: CookieJar,
    saved: Saved,
    responses: Vec<Option<Response>>,
    broken: Option<Broken>,
    requests: u32,
}

/// Why the chain of probes ended early.
#[derive(Debug)]
enum Broken {
    /// A barrier: asking on would be of no use.
    Wall,
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
        deadline: Instant,
    ) -> Self {
        Self {
            checker,
            module,
            query,
            name: module.name_of(query),
            is_control,
            deadline,
            jar: CookieJar::default(),
            saved: Saved::new(),
            responses: vec![None; module.plans.len()],
            broken: None,
            requests: 0,
        }
    }

    /// Sends the probes. A fallback is sent only where the answers so far led to no conclusion.
    pub(super) fn ask(&mut self) {
        let module = self.module;
        for (index, plan) in module.plans.iter().enumerate() {
            if plan.fallback {
                if self.broken.is_none() && self.judge().is_conclusive() {
                    return;
                }
                self.broken = None;
            }
            if self.broken.is_some() {
                continue;
            }
            let sent = match self.prepare(plan, index) {
                Ok(request) => self.send(&request).map_err(Broken::Unanswered),
                Err(error) => Err(Broken::Unfilled(error)),
            };
            match sent {
                Ok(response) => self.take(index, response),
                Err(broken) => self.broken = Some(broken),
            }
        }
    }

    fn values(&self) -> Values<'_> {
        Values { query: self.query, name: &self.name, keys: None, saved: &self.saved, value: None }
    }

    fn prepare(&self, plan: &Plan, probe: usize) -> Result<Request, FillError> {
        let values = Values { keys: Some(&self.checker.keys), ..self.values() };
        let trace = Trace {
            module: self.module.id().clone(),
            probe,
            query: self.query.normal().into(),
            control: self.is_control,
        };
        plan.request(&values, &self.checker.user_agent, trace)
    }

    /// Sends a request; once more after a connection error, inside the deadline.
    fn send(&mut self, request: &Request) -> Result<Response, ProbeError> {
        let mut answer = self.send_once(request);
        if answer.as_ref().is_err_and(ProbeError::is_connection_error) && Instant::now() < self.deadline {
            answer = self.send_once(request);
        }
        answer
    }

    fn send_once(&mut self, request: &Request) -> Result<Response, ProbeError> {
        if Instant::now() >= self.deadline {
            return Err(ProbeError::Timeout(Phase::Connect));
        }
        self.requests += 1;
        self.checker.prober.send(request, &mut self.jar, self.deadline)
    }

    /// Keeps an answer, and what later probes need of it.
    fn take(&mut self, probe: usize, response: Response) {
        let answer = Answer::new(&response, &self.module.selectors);
        save_one(self.module, probe, self.query, &self.name, &answer, &mut self.saved);
        if wall(self.module, probe, &answer, &self.values()).is_some() {
            self.broken = Some(Broken::Wall);
        }
        self.responses[probe] = Some(response);
    }

    fn judge(&self) -> Outcome {
        let answers: Answers<'_> = answers(self.module, &self.responses);
        judge_answers(self.module, &answers, &self.values()).outcome
    }

    /// How it ended before the rules could be asked, if it did.
    pub(super) fn failure(&self) -> Option<(Outcome, &'static str)> {
        match &self.broken {
            None | Some(Broken::Wall) => None,
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
        self.responses.iter().all(Option::is_none)
    }

    /// What it comes to, in one word.
    pub(super) fn outcome(&self) -> Outcome {
        self.failure().map_or_else(|| self.judge(), |(outcome, _)| outcome)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let obtained = || self.responses.iter().flatten();
        let last = obtained().next_back();
        let timing = obtained().fold(Timing::default(), |sum, response| Timing {
            resolve: sum.resolve + response.timing.resolve,
            connect: sum.connect + response.timing.connect,
            first_byte: sum.first_byte + response.timing.first_byte,
            body: sum.body + response.timing.body,
        });
        Evidence {
            http_status: last.map(|response| response.status),
            final_host: last.and_then(|response| response.final_url.host_str()).map(str::to_owned),
            matcher: None,
            bytes_read: obtained().map(|response| response.body.len()).sum(),
            requests: self.requests,
            timing,
        }
    }

    pub(super) fn responses(&self) -> &[Option<Response>] {
        &self.responses
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn saved(&self) -> &Saved {
        &self.saved
    }
}
