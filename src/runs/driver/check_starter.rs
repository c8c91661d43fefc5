//! [`CheckStarter`]: starting the checks of a run.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::message::Message;
use super::recorder::Answer;
use crate::modules::module::Module;
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::runs::adaptive_limit::Feedback;
use crate::runs::checking::{check_guarded, control_guarded};
use crate::runs::context::RunContext;
use crate::runs::health::circuits::OnOpenCircuit;
use crate::runs::host_limiter::{Admission, Permit, Requester, Waker};
use crate::runs::lanes::Lane;
use crate::runs::live::LiveRun;
use crate::runs::shared_answers::Checked;
use crate::runs::time_limit::TimeLimit;

/// The expected duration of a check from which on its control check does not wait for a hit.
const SLOW: Duration = Duration::from_millis(1500);

/// Starts checks of a run, if their hosts allow them.
pub(super) struct CheckStarter<'a> {
    pub(super) context: &'a Arc<RunContext>,
    pub(super) run: &'a Arc<LiveRun>,
    pub(super) limit: TimeLimit,
    on_open_circuit: OnOpenCircuit,
    sender: Sender<Message>,
}

/// Returns who asks for a turn at a host.
pub(super) fn requester<'w>(run: &LiveRun, waker: &'w Waker) -> Requester<'w> {
    Requester { waker, account: Some(run.opening().account), is_of_batch: run.opening().batch.is_some() }
}

impl<'a> CheckStarter<'a> {
    /// Creates a starter whose checks send their answers to `sender`.
    pub(super) fn new(
        context: &'a Arc<RunContext>,
        run: &'a Arc<LiveRun>,
        limit: TimeLimit,
        sender: Sender<Message>,
    ) -> Self {
        let is_named = run.opening().options.named;
        let on_open_circuit = if is_named { OnOpenCircuit::Ask } else { OnOpenCircuit::Skip };
        Self { context, run, limit, on_open_circuit, sender }
    }

    /// Returns why a module is not asked this query at all.
    pub(super) fn why_skipped(&self, module: &Module, query: &Query) -> Option<Reason> {
        let reason = module.why_skipped(query, self.context.checker.keys());
        let lacks_browser = module.is_premium() && !self.context.browsing.is_configured();
        reason.or_else(|| lacks_browser.then_some(Reason::Unavailable))
    }

    /// Returns how many checks of a module may run at once now.
    pub(super) fn at_once(&self, module: &Module, query: &Query) -> u32 {
        self.context.host_limiter.at_once(&self.context.checker, module, query)
    }

    /// Returns the answer of another run for the same query, if it shares one.
    pub(super) fn shared_answer(&self, module: &Module, query: &Query) -> Option<Answer> {
        let report = self.context.shared_answers.get(self.run, module, query)?.into();
        Some(Answer { report, is_shared: true, took: Duration::ZERO, at: self.context.clock.now() })
    }

    /// Returns a waker that tells the driver that the turn of a module has come.
    pub(super) fn waker(&self, round: usize, place: usize) -> Waker {
        let sender = self.sender.clone();
        Arc::new(move || drop(sender.send(Message::Turn { round, place })))
    }

    /// Asks for a turn at the host of a module.
    pub(super) fn admit(&self, module: &Module, query: &Query, waker: &Waker) -> Admission {
        let Self { context, run, on_open_circuit, .. } = self;
        let requester = requester(run, waker);
        context.host_limiter.admit_check(&context.checker, module, query, *on_open_circuit, requester)
    }

    /// Starts the check of a module whose host allows it.
    pub(super) fn start(
        &self,
        [round, place]: [usize; 2],
        module: Arc<Module>,
        query: Arc<Query>,
        lane: Lane,
        permit: Permit,
    ) {
        let since = Instant::now();
        if self.context.health.expected(module.id()) >= SLOW {
            self.control_early(&module, &query);
        }
        let (context, run) = (Arc::clone(self.context), Arc::clone(self.run));
        let (sender, limit) = (self.sender.clone(), self.limit);
        let job = move || {
            if run.signals.wants_no_checks() {
                // The driver has abandoned the check while it waited for a worker.
                return;
            }
            let (began, began_at) = (Instant::now(), context.clock.now());
            let Checked { mut report, is_shared } =
                check_guarded(&context, &run, &module, &query, &permit, limit, since);
            if !is_shared {
                permit.note_report(&module, &report);
                context.health.circuits.note_further_failures(run.id(), &mut report, began_at);
            }
            context.note_pauses(&report.pauses);
            // The host becomes free before the driver handles the report.
            permit.end(if is_shared { Feedback::Neutral } else { Feedback::of(&report) });
            let (took, at) = (began.elapsed(), context.clock.now());
            // The driver may have abandoned the check.
            let answer = Answer { report, is_shared, took, at };
            let _ = sender.send(Message::Ended { round, place, answer });
        };
        match lane {
            Lane::Browser => self.context.browsing.execute(job),
            Lane::Front | Lane::Tail => self.context.pool.execute(job),
        }
    }

    /// Starts the control check that a hit of a slow module would wait for. Otherwise such a hit takes twice as long as
    /// the site.
    fn control_early(&self, module: &Arc<Module>, query: &Arc<Query>) {
        let (context, entry) = (Arc::clone(self.context), module.entry());
        let has_rate = entry.every_ms.is_some() || entry.per_day.is_some();
        if has_rate || module.is_premium() || !context.checker.needs_control(module, query) {
            return;
        }
        // It does not wait for a host: it is only worth a request that delays no other check.
        let no_waker: Waker = Arc::new(|| {});
        let Admission::Granted(permit) = self.admit(module, query, &no_waker) else { return };
        let (module, query) = (Arc::clone(module), Arc::clone(query));
        let (run, ceiling) = (Arc::clone(self.run), self.limit.at);
        self.context.pool.execute(move || {
            if !run.signals.wants_no_checks() {
                control_guarded(&context, &module, &query, &permit, ceiling);
            }
        });
    }
}
