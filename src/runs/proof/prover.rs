//! Executes the checks of a proof: many modules at once, within the limits of hosts, until all are done or the proof
//! is interrupted.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use log::error;

use super::options::{ProofOptions, ProofProgress, Stop};
use super::question::{Plan, Question, QuestionKind, plan};
use super::verdict::{ModuleProof, Verdict, VerdictBuilder};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::reason::Reason;
use crate::modules::terms::{BROWSER_CONTROL_TIME, CONTROL_TIME, Terms};
use crate::runs::adaptive_limit::Feedback;
use crate::runs::health::circuits::OnOpenCircuit;
use crate::runs::host_limiter::{Admission, HostLimiter, Permit, Requester, Waker};
use crate::runs::pool::CheckPool;

/// The time by which a check may exceed its deadline before it is abandoned.
const GRACE: Duration = Duration::from_secs(5);

/// Runs all checks of every module. `progress` is called whenever a module is done. The proofs are returned in the
/// order of the modules. An interrupted proof returns the verdicts that are known.
pub fn prove(
    modules: &[Arc<Module>],
    options: &ProofOptions,
    stop: &Stop,
    mut progress: impl FnMut(ProofProgress),
) -> Vec<ModuleProof> {
    let mut prover = Prover::new(modules, options, stop);
    progress(prover.progress());
    while !prover.is_finished() && !stop.is_set() {
        let done = prover.done;
        prover.dispatch();
        prover.receive();
        prover.give_up_late();
        if prover.done > done {
            progress(prover.progress());
        }
    }
    prover.finish()
}

struct Prover<'a> {
    options: &'a ProofOptions,
    cases: Vec<Case>,
    /// The indexes of cases that have a question left and no check in progress.
    ready: VecDeque<usize>,
    running: HashMap<usize, RunningCheck>,
    done: usize,
    failing: usize,
    host_limiter: Arc<HostLimiter>,
    pool: CheckPool,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    waker: Waker,
    not_before: Option<Instant>,
}

/// A module and its progress.
struct Case {
    module: Arc<Module>,
    questions: VecDeque<Question>,
    builder: VerdictBuilder,
}

struct RunningCheck {
    question: Question,
    began: Instant,
    /// The time at which the check is abandoned.
    until: Instant,
    number: u64,
}

enum Message {
    Ended {
        place: usize,
        number: u64,
        report: Box<Report>,
        took: Duration,
    },
    /// A message that a host may be free, or that the proof was interrupted.
    Wake,
}

impl<'a> Prover<'a> {
    fn new(modules: &[Arc<Module>], options: &'a ProofOptions, stop: &Stop) -> Self {
        let (sender, receiver) = channel();
        let wake = sender.clone();
        // A proof that has ended needs no wake-up.
        let waker: Waker = Arc::new(move || drop(wake.send(Message::Wake)));
        stop.wakes(Arc::clone(&waker));
        let cases: Vec<Case> = modules
            .iter()
            .map(|module| {
                let Plan { questions, gap } = plan(module, options);
                let module = Arc::clone(module);
                Case { module, questions: questions.into(), builder: VerdictBuilder::new(gap) }
            })
            .collect();
        let ready: VecDeque<usize> =
            (0..cases.len()).filter(|place| !cases[*place].questions.is_empty()).collect();
        Self {
            options,
            done: cases.len() - ready.len(),
            cases,
            ready,
            running: HashMap::new(),
            failing: 0,
            host_limiter: Arc::new(HostLimiter::new(
                options.host_concurrency,
                Arc::default(),
                Arc::default(),
            )),
            pool: CheckPool::new(options.jobs),
            sender,
            receiver,
            waker,
            not_before: None,
        }
    }

    fn is_finished(&self) -> bool {
        self.ready.is_empty() && self.running.is_empty()
    }

    fn progress(&self) -> ProofProgress {
        ProofProgress { done: self.done, total: self.cases.len(), failing: self.failing }
    }

    /// Starts as many checks as the workers and the hosts allow.
    fn dispatch(&mut self) {
        self.not_before = None;
        let mut held = VecDeque::new();
        while self.running.len() < self.options.jobs.max(1) {
            let Some(place) = self.ready.pop_front() else { break };
            if self.lacks_browser(place) {
                held.push_back(place);
                continue;
            }
            let Some(question) = self.cases[place].questions.pop_front() else { continue };
            match self.admit(place, &question) {
                Admission::Granted(permit) => self.start(place, question, permit),
                Admission::DailyLimit => {
                    self.pass_over(place, &question, Outcome::Skipped, Reason::DailyLimit);
                }
                Admission::Denied(denial) => {
                    self.pass_over(place, &question, denial.outcome(), denial.reason());
                }
                refusal @ (Admission::HostBusy | Admission::NotBefore(_)) => {
                    if let Admission::NotBefore(at) = refusal {
                        self.not_before = Some(self.not_before.map_or(at, |known| known.min(at)));
                    }
                    self.cases[place].questions.push_front(question);
                    held.push_back(place);
                }
            }
        }
        held.append(&mut self.ready);
        self.ready = held;
    }

    /// Returns whether all browsers are busy. A check that waits for a browser would exceed its deadline, which is
    /// counted from its start.
    fn lacks_browser(&self, place: usize) -> bool {
        let needs_browser = |place: usize| self.cases[place].module.is_premium();
        let busy = || self.running.keys().filter(|place| needs_browser(**place)).count();
        needs_browser(place) && busy() >= self.options.browser_jobs.max(1)
    }

    fn admit(&self, place: usize, question: &Question) -> Admission {
        let module = &self.cases[place].module;
        // A simulated web needs no pauses, because its sites are one process.
        match self.options.simulated {
            true => Admission::Granted(Permit::default()),
            false => {
                let (checker, query) = (&self.options.checker, &question.query);
                let requester = Requester { waker: &self.waker, account: None, is_of_batch: false };
                self.host_limiter.admit_check(checker, module, query, OnOpenCircuit::Skip, requester)
            }
        }
    }

    fn start(&mut self, place: usize, question: Question, permit: Permit) {
        let (checker, timeout) = match question.kind {
            QuestionKind::Fault(fault) => {
                let fault = &self.options.faults[fault];
                (&fault.checker, fault.timeout)
            }
            _ => (&self.options.checker, self.options.timeout),
        };
        let (checker, sender) = (Arc::clone(checker), self.sender.clone());
        let module = Arc::clone(&self.cases[place].module);
        let (asks, query) = (question.kind, question.query.clone());
        let (host_limiter, is_simulated) = (Arc::clone(&self.host_limiter), self.options.simulated);
        let began = Instant::now();
        let number = self.cases[place].questions.len() as u64;
        let control_time = if module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME };
        let until = began + timeout + control_time + GRACE;
        self.running.insert(place, RunningCheck { question, began, until, number });
        self.pool.execute(move || {
            let began = Instant::now();
            let deadline = began + timeout;
            let ceiling = deadline + control_time;
            let hosts = &permit;
            let terms = Terms { since: began, answer_by: deadline, deadline, ceiling, hosts, trial: None };
            let checked = catch_unwind(AssertUnwindSafe(|| match asks {
                QuestionKind::MadeUp => checker.check_made_up(&module, &query, terms),
                _ => *checker.check(&module, &query, terms),
            }));
            let report = checked.unwrap_or_else(|_| {
                error!("module {} panicked", module.id());
                Report::bare(Outcome::Error, Reason::Panic)
            });
            if !is_simulated {
                host_limiter.pause(&report.pauses, Instant::now());
            }
            // The host becomes free before the answer is handled.
            permit.end(Feedback::of(&report));
            // The proof may have been interrupted.
            let took = began.elapsed();
            let _ = sender.send(Message::Ended { place, number, report: Box::new(report), took });
        });
    }

    fn pass_over(&mut self, place: usize, question: &Question, outcome: Outcome, reason: Reason) {
        self.note(place, question, Report::bare(outcome, reason), Duration::ZERO);
    }

    /// Waits for a message, then handles all that have arrived.
    fn receive(&mut self) {
        if self.is_finished() {
            return;
        }
        let late = self.running.values().map(|check| check.until).min();
        let until = [late, self.not_before].into_iter().flatten().min();
        let wait = until.map_or(GRACE, |moment| moment.saturating_duration_since(Instant::now()));
        match self.receiver.recv_timeout(wait) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                if until.is_none() {
                    self.give_up_waiting();
                }
                return;
            }
        }
        while let Ok(message) = self.receiver.try_recv() {
            self.take(message);
        }
    }

    /// Abandons the remaining modules when no check is in progress and their hosts are still reserved by abandoned
    /// checks.
    fn give_up_waiting(&mut self) {
        for place in std::mem::take(&mut self.ready) {
            if let Some(question) = self.cases[place].questions.pop_front() {
                self.pass_over(place, &question, Outcome::Timeout, Reason::Deadline);
            }
        }
    }

    fn take(&mut self, message: Message) {
        let Message::Ended { place, number, report, took } = message else { return };
        // The check may have been abandoned, and the next question may be in progress.
        if self.running.get(&place).is_none_or(|check| check.number != number) {
            return;
        }
        let Some(check) = self.running.remove(&place) else { return };
        self.note(place, &check.question, *report, took);
    }

    /// Abandons checks that exceed their deadlines, which must not block the proof.
    fn give_up_late(&mut self) {
        let now = Instant::now();
        let late = self.running.iter().filter(|(_, check)| now >= check.until);
        let places: Vec<usize> = late.map(|(place, _)| *place).collect();
        for place in places {
            if let Some(check) = self.running.remove(&place) {
                let took = check.began.elapsed();
                self.note(place, &check.question, Report::bare(Outcome::Timeout, Reason::Deadline), took);
            }
        }
    }

    /// Stores an answer. The module's next question becomes ready, unless further questions are useless.
    fn note(&mut self, place: usize, question: &Question, report: Report, took: Duration) {
        let asks = match question.kind {
            QuestionKind::Known => "known",
            QuestionKind::StandIn => "stand_in",
            QuestionKind::MadeUp => "made_up",
            QuestionKind::Fault(fault) => self.options.faults[fault].name,
        };
        let case = &mut self.cases[place];
        case.builder.take(&case.module, question, asks, report, took);
        let verdict = case.builder.verdict();
        // A site that blocks the checks is not queried again.
        let is_shut = matches!(verdict, Verdict::Error | Verdict::Timeout | Verdict::Blocked);
        if case.questions.is_empty() || (is_shut && !self.options.simulated) {
            case.questions.clear();
            self.done += 1;
            self.failing += usize::from(verdict.is_failing());
        } else {
            self.ready.push_back(place);
        }
    }

    fn finish(mut self) -> Vec<ModuleProof> {
        for place in self.ready.into_iter().chain(self.running.into_keys()) {
            let builder = &mut self.cases[place].builder;
            builder.note(Verdict::Unfinished, "the proof was stopped".to_owned());
        }
        self.cases.into_iter().map(|case| case.builder.close(&case.module)).collect()
    }
}
