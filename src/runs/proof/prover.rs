//! Asking: many modules at once, politely, until all is asked or somebody stops it.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use log::error;

use super::question::{Asks, Plan, Question, plan};
use super::verdict::{Hearing, ModuleProof, Verdict};
use super::{ProofOptions, Standing, Stop};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::terms::{BROWSER_CONTROL_TIME, CONTROL_TIME, Terms};
use crate::runs::courtesy::{Admission, Courtesy, Permit, Waker};
use crate::runs::driver::bare_report;
use crate::runs::pool::CheckPool;

/// How long a check may outlive its deadline before it is given up.
const GRACE: Duration = Duration::from_secs(5);

/// Asks every module everything; `progress` is called whenever a module is done. The proofs come in the
/// order of the modules. A proof that is stopped gives what is known by then.
pub fn prove(
    modules: &[Arc<Module>],
    options: &ProofOptions,
    stop: &Stop,
    mut progress: impl FnMut(Standing),
) -> Vec<ModuleProof> {
    let mut prover = Prover::new(modules, options, stop);
    progress(prover.standing());
    while !prover.is_finished() && !stop.is_set() {
        let done = prover.done;
        prover.dispatch();
        prover.receive();
        prover.give_up_late();
        if prover.done > done {
            progress(prover.standing());
        }
    }
    prover.finish()
}

struct Prover<'a> {
    options: &'a ProofOptions,
    cases: Vec<Case>,
    /// Places of cases that have a question left and none under way.
    ready: VecDeque<usize>,
    under_way: HashMap<usize, UnderWay>,
    done: usize,
    failing: usize,
    courtesy: Arc<Courtesy>,
    pool: CheckPool,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
    waker: Waker,
    not_before: Option<Instant>,
}

/// One module, and how far it was asked.
struct Case {
    module: Arc<Module>,
    questions: VecDeque<Question>,
    hearing: Hearing,
}

struct UnderWay {
    question: Question,
    began: Instant,
    /// When it is given up.
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
    /// A host may have a place, or the proof was stopped: look again.
    Wake,
}

impl<'a> Prover<'a> {
    fn new(modules: &[Arc<Module>], options: &'a ProofOptions, stop: &Stop) -> Self {
        let (sender, receiver) = channel();
        let wake = sender.clone();
        // A proof that has ended needs no waking.
        let waker: Waker = Arc::new(move || drop(wake.send(Message::Wake)));
        stop.wakes(Arc::clone(&waker));
        let cases: Vec<Case> = modules
            .iter()
            .map(|module| {
                let Plan { questions, gap } = plan(module, options);
                let module = Arc::clone(module);
                Case { module, questions: questions.into(), hearing: Hearing::new(gap) }
            })
            .collect();
        let ready: VecDeque<usize> =
            (0..cases.len()).filter(|place| !cases[*place].questions.is_empty()).collect();
        Self {
            options,
            done: cases.len() - ready.len(),
            cases,
            ready,
            under_way: HashMap::new(),
            failing: 0,
            courtesy: Arc::default(),
            pool: CheckPool::new(options.jobs),
            sender,
            receiver,
            waker,
            not_before: None,
        }
    }

    fn is_finished(&self) -> bool {
        self.ready.is_empty() && self.under_way.is_empty()
    }

    fn standing(&self) -> Standing {
        Standing { done: self.done, total: self.cases.len(), failing: self.failing }
    }

    /// Starts as many checks as there are workers and places at hosts.
    fn dispatch(&mut self) {
        self.not_before = None;
        let mut held = VecDeque::new();
        while self.under_way.len() < self.options.jobs.max(1) {
            let Some(place) = self.ready.pop_front() else { break };
            if self.lacks_browser(place) {
                held.push_back(place);
                continue;
            }
            let Some(question) = self.cases[place].questions.pop_front() else { continue };
            match self.admit(place, &question) {
                Admission::Granted(permit) => self.start(place, question, permit),
                Admission::DailyLimit => self.pass_over(place, &question, Outcome::Skipped, "daily_limit"),
                Admission::Paused => self.pass_over(place, &question, Outcome::RateLimited, "retry_after"),
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

    /// Whether all browsers have their hands full. A check that waited for one would wait in vain: its time
    /// runs from its start.
    fn lacks_browser(&self, place: usize) -> bool {
        let needs_browser = |place: usize| self.cases[place].module.is_premium();
        let busy = || self.under_way.keys().filter(|place| needs_browser(**place)).count();
        needs_browser(place) && busy() >= self.options.browser_jobs.max(1)
    }

    fn admit(&self, place: usize, question: &Question) -> Admission {
        let module = &self.cases[place].module;
        // A simulated web needs no rest: its sites are one process.
        match self.options.simulated {
            true => Admission::Granted(Permit::default()),
            false => self.courtesy.admit_check(&self.options.checker, module, &question.query, &self.waker),
        }
    }

    fn start(&mut self, place: usize, question: Question, permit: Permit) {
        let (checker, timeout) = match question.asks {
            Asks::Trouble(trouble) => {
                let trouble = &self.options.troubles[trouble];
                (&trouble.checker, trouble.timeout)
            }
            _ => (&self.options.checker, self.options.timeout),
        };
        let (checker, sender) = (Arc::clone(checker), self.sender.clone());
        let module = Arc::clone(&self.cases[place].module);
        let (asks, query) = (question.asks, question.query.clone());
        let (courtesy, is_simulated) = (Arc::clone(&self.courtesy), self.options.simulated);
        let began = Instant::now();
        let number = self.cases[place].questions.len() as u64;
        let control_time = if module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME };
        let until = began + timeout + control_time + GRACE;
        self.under_way.insert(place, UnderWay { question, began, until, number });
        self.pool.execute(move || {
            let began = Instant::now();
            let deadline = began + timeout;
            let terms = Terms { deadline, ceiling: deadline + control_time, paused: &*courtesy };
            let checked = catch_unwind(AssertUnwindSafe(|| match asks {
                Asks::MadeUp => checker.check_made_up(&module, &query, terms),
                _ => checker.check(&module, &query, terms),
            }));
            let report = checked.unwrap_or_else(|_| {
                error!("module {} panicked", module.id());
                bare_report(Outcome::Error, "panic")
            });
            if !is_simulated {
                courtesy.pause(&report.pauses, Instant::now());
            }
            // The host is free for others before the answer is looked at.
            drop(permit);
            // The proof may have been stopped.
            let took = began.elapsed();
            let _ = sender.send(Message::Ended { place, number, report: Box::new(report), took });
        });
    }

    fn pass_over(&mut self, place: usize, question: &Question, outcome: Outcome, reason: &str) {
        self.note(place, question, bare_report(outcome, reason), Duration::ZERO);
    }

    /// Waits for something to do, then takes all that has come.
    fn receive(&mut self) {
        if self.is_finished() {
            return;
        }
        let late = self.under_way.values().map(|check| check.until).min();
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

    /// Nothing is under way, yet the hosts of those that are left have no place: checks that were given
    /// up still hold them.
    fn give_up_waiting(&mut self) {
        for place in std::mem::take(&mut self.ready) {
            if let Some(question) = self.cases[place].questions.pop_front() {
                self.pass_over(place, &question, Outcome::Timeout, "deadline");
            }
        }
    }

    fn take(&mut self, message: Message) {
        let Message::Ended { place, number, report, took } = message else { return };
        // It may have been given up, and the next question be under way.
        if self.under_way.get(&place).is_none_or(|check| check.number != number) {
            return;
        }
        let Some(check) = self.under_way.remove(&place) else { return };
        self.note(place, &check.question, *report, took);
    }

    /// Checks end by their own deadline. One that does not must not hold up the proof.
    fn give_up_late(&mut self) {
        let now = Instant::now();
        let late = self.under_way.iter().filter(|(_, check)| now >= check.until);
        let places: Vec<usize> = late.map(|(place, _)| *place).collect();
        for place in places {
            if let Some(check) = self.under_way.remove(&place) {
                let took = check.began.elapsed();
                self.note(place, &check.question, bare_report(Outcome::Timeout, "deadline"), took);
            }
        }
    }

    /// Keeps an answer; the module's next question is ready, unless asking on would be of no use.
    fn note(&mut self, place: usize, question: &Question, report: Report, took: Duration) {
        let asks = match question.asks {
            Asks::Known => "known",
            Asks::StandIn => "stand_in",
            Asks::MadeUp => "made_up",
            Asks::Trouble(trouble) => self.options.troubles[trouble].name,
        };
        let case = &mut self.cases[place];
        case.hearing.take(&case.module, question, asks, report, took);
        let verdict = case.hearing.verdict();
        // A site that keeps us out is left alone.
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
        for place in self.ready.into_iter().chain(self.under_way.into_keys()) {
            let hearing = &mut self.cases[place].hearing;
            hearing.note(Verdict::Unfinished, "the proof was stopped".to_owned());
        }
        self.cases.into_iter().map(|case| case.hearing.close(&case.module)).collect()
    }
}
