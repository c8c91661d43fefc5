//! Proofs of a catalogue. Every module is queried for its known names, which must hit, and for made-up names, which
//! must miss. On a simulated web it is also queried for names on failing sites, where it must neither hit nor miss.
//!
//! The checks of many modules are made at once, within the limits of hosts. Those of one module follow each other.
//!
//! | file | holds |
//! |---|---|
//! | [`question`] | the settings of a proof, and the queries for a module with their expected outcomes |
//! | [`verdict`] | the verdict on a module's answers |
//!
//! To add a failure, add its answer to the sandbox and its line to `app::proof`.

pub mod question;
pub mod verdict;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use log::error;

use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::reason::Reason;
use crate::modules::terms::Terms;
use crate::runs::scheduler::task::{Pace, Task};
use crate::runs::scheduler::{Feedback, Group, Permit, Scheduler, Turn};
use crate::runs::shared_answers::SharedAnswers;
use question::{Kind, Question, plan};
pub use question::{ProofOptions, SimulatedFault};
pub use verdict::{ModuleProof, Verdict};

/// The time by which a check may exceed its deadline before it is abandoned.
const GRACE: Duration = Duration::from_secs(5);
/// The interval at which checks are abandoned, and an interruption is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The time without a running check after which the rest is given up: abandoned checks may hold its hosts and workers for
/// good. It is longer than the time between two checks of a module with a rate.
const PATIENCE: Duration = Duration::from_secs(120);

/// The progress of a proof.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProofProgress {
    /// The number of modules that are done.
    pub done: usize,
    /// The number of all modules.
    pub total: usize,
    /// The number of broken and unreliable modules so far.
    pub failing: usize,
}

/// A handle that ends a proof, or the searches of a command, early from any thread.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the work. It returns what is known.
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Returns whether the work was ended early.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// Runs all checks of every module. `progress` is called whenever a module is done. The proofs are returned in the
/// order of the modules. An interrupted proof returns the verdicts that are known.
pub fn prove(
    modules: &[Arc<Module>],
    options: &ProofOptions,
    stop: &Stop,
    mut progress: impl FnMut(ProofProgress),
) -> Vec<ModuleProof> {
    let mut prover = Prover::new(modules, options);
    progress(prover.progress);
    (0..modules.len()).for_each(|place| prover.ask_next(place));
    while prover.progress.done < modules.len() && !stop.is_set() {
        let before = prover.progress;
        if let Ok(answer) = prover.receiver.recv_timeout(LOOK_EVERY) {
            prover.alive_at = Instant::now();
            prover.take(answer);
        }
        prover.give_up();
        if prover.progress != before {
            progress(prover.progress);
        }
    }
    prover.finish()
}

struct Prover<'a> {
    options: &'a ProofOptions,
    proofs: Vec<ModuleProof>,
    /// The questions that are left of each module, the next one last.
    questions: Vec<Vec<Question>>,
    /// The questions that are being asked, by the number of their checks, each with the place of its module.
    open: HashMap<usize, (usize, Question)>,
    /// The number of checks so far.
    asked: usize,
    progress: ProofProgress,
    /// The last time at which a check ran or ended.
    alive_at: Instant,
    scheduler: Arc<Scheduler>,
    group: Group,
    sender: Sender<Answer>,
    receiver: Receiver<Answer>,
}

/// The number of a check, its report, and the time that it took.
type Answer = (usize, Box<Report>, Duration);

impl<'a> Prover<'a> {
    fn new(modules: &[Arc<Module>], options: &'a ProofOptions) -> Self {
        let (sender, receiver) = channel();
        let workers = [options.jobs.max(1), options.browser_jobs.max(1)];
        let no_answers = SharedAnswers::new(Duration::ZERO);
        let scheduler = Scheduler::new(workers, options.host_concurrency, Arc::default(), no_answers);
        let prepared = |module| {
            let (mut questions, gap) = plan(module, options);
            questions.reverse();
            (ModuleProof::new(module, gap), questions)
        };
        let (proofs, questions) = modules.iter().map(prepared).unzip();
        Self {
            options,
            proofs,
            questions,
            open: HashMap::new(),
            asked: 0,
            progress: ProofProgress { total: modules.len(), ..ProofProgress::default() },
            alive_at: Instant::now(),
            group: scheduler.join(None, false, true),
            scheduler,
            sender,
            receiver,
        }
    }

    /// Asks the next question of a module, if one is left.
    fn ask_next(&mut self, place: usize) {
        let Some(question) = self.questions[place].pop() else {
            self.progress.done += 1;
            return;
        };
        let (number, asked, sender) = (self.asked, question.clone(), self.sender.clone());
        let mut task = Task::of(&question.module, &question.query, number);
        if self.options.simulated {
            // A simulated web needs no pauses, because its sites are one process.
            (task.sources, task.pace) = (Vec::new(), Pace::default());
        }
        let pauses = (!self.options.simulated).then(|| Arc::clone(&self.scheduler));
        let work = move |turn: Turn| {
            let began = Instant::now();
            let report = match turn {
                Ok(permit) => make(&asked, *permit, began, pauses.as_deref()),
                Err(report) => *report,
            };
            // The proof may have been interrupted.
            let _ = sender.send((number, Box::new(report), began.elapsed()));
        };
        self.asked += 1;
        self.open.insert(number, (place, question));
        self.group.add(vec![(task, Box::new(work))]);
    }

    /// Takes an answer, and asks the module's next question unless further ones are useless.
    fn take(&mut self, (number, report, took): Answer) {
        // The check may have been abandoned.
        let Some((place, question)) = self.open.remove(&number) else { return };
        let proof = &mut self.proofs[place];
        proof.take(&question, *report, took);
        // A site that blocks the checks is not queried again.
        let is_shut = matches!(proof.verdict, Verdict::Error | Verdict::Timeout | Verdict::Blocked);
        if is_shut && !self.options.simulated {
            self.questions[place].clear();
        }
        self.progress.failing += usize::from(self.questions[place].is_empty() && proof.verdict.is_failing());
        self.ask_next(place);
    }

    /// Gives up the checks that exceed their deadlines, which must not block the proof, and those that wait for too long.
    fn give_up(&mut self) {
        let mut late = Vec::new();
        for (number, since) in self.group.begun() {
            let Some((_, question)) = self.open.get(&number) else { continue };
            self.alive_at = Instant::now();
            if since.elapsed() >= question.longest() + GRACE {
                late.push((number, since.elapsed()));
            }
        }
        if self.alive_at.elapsed() >= PATIENCE {
            self.alive_at = Instant::now();
            late.extend(self.group.cancel().into_iter().map(|number| (number, Duration::ZERO)));
        }
        for (number, took) in late {
            self.take((number, Box::new(Report::bare(Outcome::Timeout, Reason::Deadline)), took));
        }
    }

    fn finish(mut self) -> Vec<ModuleProof> {
        self.group.cancel();
        for (place, _) in self.open.into_values() {
            self.proofs[place].note(Verdict::Unfinished, "the proof was stopped".to_owned());
        }
        self.proofs
    }
}

/// Makes a check for a question. Pauses that hosts ask for are kept by `pauses`.
fn make(question: &Question, permit: Permit, since: Instant, pauses: Option<&Scheduler>) -> Report {
    let Question { checker, module, query, .. } = question;
    let (deadline, ceiling) = (since + question.timeout, since + question.longest());
    let terms = Terms { since, answer_by: deadline, deadline, ceiling, hosts: &permit, trial: None };
    let checked = catch_unwind(AssertUnwindSafe(|| match question.kind {
        Kind::MadeUp => checker.check_made_up(module, query, terms),
        Kind::Real | Kind::Fault => *checker.check(module, query, terms),
    }));
    let report = checked.unwrap_or_else(|_| {
        error!("module {} panicked", module.id());
        Report::bare(Outcome::Error, Reason::Panic)
    });
    if let Some(scheduler) = pauses {
        scheduler.pause(&report.pauses);
    }
    // The host becomes free before the answer is handled.
    permit.end(Feedback::of(&report), None);
    report
}
