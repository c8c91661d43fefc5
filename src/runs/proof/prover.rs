//! Executes the checks of a proof: many modules at once, within the limits of hosts, until all are done or the proof
//! is interrupted.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use log::error;

use super::options::{ProofOptions, ProofProgress, Stop};
use super::question::{Plan, Question, QuestionKind, plan};
use super::verdict::{ModuleProof, Verdict, VerdictBuilder};
use crate::modules::checker::Checker;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::reason::Reason;
use crate::modules::terms::{BROWSER_CONTROL_TIME, CONTROL_TIME, Terms};
use crate::runs::health::circuits::OnOpenCircuit;
use crate::runs::scheduler::adaptive_limit::Feedback;
use crate::runs::scheduler::pace::Pace;
use crate::runs::scheduler::task::Task;
use crate::runs::scheduler::{Group, Permit, Scheduler, Turn};
use crate::runs::shared_answers::SharedAnswers;

/// The time by which a check may exceed its deadline before it is abandoned.
const GRACE: Duration = Duration::from_secs(5);
/// The interval at which checks are abandoned.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// The time without a running check after which the rest is given up: abandoned checks may hold its hosts and workers for
/// good. It is longer than the time between two checks of a module with a rate.
const PATIENCE: Duration = Duration::from_secs(120);

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
    prover.ask_first();
    while prover.done < prover.cases.len() && !stop.is_set() {
        let done = prover.done;
        if let Ok(message) = prover.receiver.recv_timeout(LOOK_EVERY) {
            prover.alive_at = Instant::now();
            prover.take(message);
        }
        prover.give_up_late();
        if prover.alive_at.elapsed() >= PATIENCE {
            prover.give_up_all();
        }
        if prover.done > done {
            progress(prover.progress());
        }
    }
    prover.finish()
}

struct Prover<'a> {
    options: &'a ProofOptions,
    cases: Vec<Case>,
    /// The questions that are being asked, by the number of their checks, each with its case.
    open: HashMap<usize, (usize, Question)>,
    /// The number of checks so far.
    asked: usize,
    done: usize,
    failing: usize,
    /// The last time at which a check ran or ended.
    alive_at: Instant,
    scheduler: Arc<Scheduler>,
    group: Group,
    sender: Sender<Message>,
    receiver: Receiver<Message>,
}

/// A module, the questions that are left, and its progress.
struct Case {
    module: Arc<Module>,
    questions: VecDeque<Question>,
    builder: VerdictBuilder,
}

enum Message {
    Ended {
        number: usize,
        report: Box<Report>,
        took: Duration,
    },
    /// The proof was interrupted.
    Stop,
}

impl<'a> Prover<'a> {
    fn new(modules: &[Arc<Module>], options: &'a ProofOptions, stop: &Stop) -> Self {
        let (sender, receiver) = channel();
        let wake = sender.clone();
        // A proof that has ended needs no wake-up.
        stop.wakes(Box::new(move || drop(wake.send(Message::Stop))));
        let case = |module: &Arc<Module>| {
            let Plan { questions, gap } = plan(module, options);
            let module = Arc::clone(module);
            Case { module, questions: questions.into(), builder: VerdictBuilder::new(gap) }
        };
        let workers = [options.jobs.max(1), options.browser_jobs.max(1)];
        let no_answers = SharedAnswers::new(Duration::ZERO);
        let scheduler = Scheduler::new(workers, options.host_concurrency, Arc::default(), no_answers);
        Self {
            options,
            cases: modules.iter().map(case).collect(),
            open: HashMap::new(),
            asked: 0,
            done: 0,
            failing: 0,
            alive_at: Instant::now(),
            group: scheduler.join(None, false, OnOpenCircuit::Skip),
            scheduler,
            sender,
            receiver,
        }
    }

    fn progress(&self) -> ProofProgress {
        ProofProgress { done: self.done, total: self.cases.len(), failing: self.failing }
    }

    fn ask_first(&mut self) {
        for place in 0..self.cases.len() {
            self.ask_next(place);
        }
    }

    /// Asks the next question of a module, if one is left.
    fn ask_next(&mut self, place: usize) {
        let case = &mut self.cases[place];
        let Some(question) = case.questions.pop_front() else {
            self.done += 1;
            return;
        };
        let (checker, timeout) = match question.kind {
            QuestionKind::Fault(fault) => {
                (&self.options.faults[fault].checker, self.options.faults[fault].timeout)
            }
            _ => (&self.options.checker, self.options.timeout),
        };
        let number = self.asked;
        let check = Check {
            checker: Arc::clone(checker),
            module: Arc::clone(&case.module),
            question: question.clone(),
            timeout,
            number,
            sender: self.sender.clone(),
            // A simulated web needs no pauses, because its sites are one process.
            pauses: (!self.options.simulated).then(|| Arc::clone(&self.scheduler)),
        };
        let task = Task::of(&self.options.checker, &case.module, &question.query, number);
        let task = match self.options.simulated {
            true => Task { sources: Vec::new(), pace: Pace::default(), ..task },
            false => task,
        };
        self.asked += 1;
        self.open.insert(number, (place, question));
        self.group.add(vec![(task, Box::new(|turn| check.take(turn)))]);
    }

    fn take(&mut self, message: Message) {
        let Message::Ended { number, report, took } = message else { return };
        // The check may have been abandoned.
        if let Some((place, question)) = self.open.remove(&number) {
            self.note(place, &question, *report, took);
        }
    }

    /// Abandons checks that exceed their deadlines, which must not block the proof.
    fn give_up_late(&mut self) {
        for (number, since) in self.group.begun() {
            let Some((place, question)) = self.open.get(&number) else { continue };
            self.alive_at = Instant::now();
            let timeout = match question.kind {
                QuestionKind::Fault(fault) => self.options.faults[fault].timeout,
                _ => self.options.timeout,
            };
            let most = timeout + control_time(&self.cases[*place].module) + GRACE;
            if since.elapsed() >= most {
                let report = Box::new(Report::bare(Outcome::Timeout, Reason::Deadline));
                self.take(Message::Ended { number, report, took: since.elapsed() });
            }
        }
    }

    /// Ends the checks that wait.
    fn give_up_all(&mut self) {
        self.alive_at = Instant::now();
        for number in self.group.cancel() {
            let report = Box::new(Report::bare(Outcome::Timeout, Reason::Deadline));
            self.take(Message::Ended { number, report, took: Duration::ZERO });
        }
    }

    /// Notes an answer, and asks the module's next question unless further ones are useless.
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
        if is_shut && !self.options.simulated {
            case.questions.clear();
        }
        self.failing += usize::from(case.questions.is_empty() && verdict.is_failing());
        self.ask_next(place);
    }

    fn finish(mut self) -> Vec<ModuleProof> {
        self.group.cancel();
        for (place, _) in self.open.into_values() {
            let builder = &mut self.cases[place].builder;
            builder.note(Verdict::Unfinished, "the proof was stopped".to_owned());
        }
        self.cases.into_iter().map(|case| case.builder.close(&case.module)).collect()
    }
}

/// One check of a proof.
struct Check {
    checker: Arc<Checker>,
    module: Arc<Module>,
    question: Question,
    timeout: Duration,
    number: usize,
    sender: Sender<Message>,
    pauses: Option<Arc<Scheduler>>,
}

impl Check {
    fn take(self, turn: Turn) {
        let began = Instant::now();
        let report = match turn {
            Turn::Granted(permit) => self.make(*permit, began),
            Turn::Answered(report) => *report,
            Turn::Denied(denial) => Report::bare(denial.outcome(), denial.reason()),
            Turn::DailyLimit => Report::bare(Outcome::Skipped, Reason::DailyLimit),
        };
        let (number, report, took) = (self.number, Box::new(report), began.elapsed());
        // The proof may have been interrupted.
        let _ = self.sender.send(Message::Ended { number, report, took });
    }

    fn make(&self, permit: Permit, since: Instant) -> Report {
        let Self { checker, module, question, timeout, .. } = self;
        let deadline = since + *timeout;
        let ceiling = deadline + control_time(module);
        let terms = Terms { since, answer_by: deadline, deadline, ceiling, hosts: &permit, trial: None };
        let checked = catch_unwind(AssertUnwindSafe(|| match question.kind {
            QuestionKind::MadeUp => checker.check_made_up(module, &question.query, terms),
            _ => *checker.check(module, &question.query, terms),
        }));
        let report = checked.unwrap_or_else(|_| {
            error!("module {} panicked", module.id());
            Report::bare(Outcome::Error, Reason::Panic)
        });
        if let Some(scheduler) = &self.pauses {
            scheduler.pause(&report.pauses);
        }
        // The host becomes free before the answer is handled.
        permit.end(Feedback::of(&report), None);
        report
    }
}

fn control_time(module: &Module) -> Duration {
    if module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME }
}
