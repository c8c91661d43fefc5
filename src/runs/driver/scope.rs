//! [`Scope`]: what the parts of a driver share, [`Message`]: what wakes its thread, and [`TimeLimit`]: the end of a run's time,
//! by the deadline of all runs or by its own time budget.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use super::recorder::Answer;
use crate::modules::reason::Reason;
use crate::runs::context::RunContext;
use crate::runs::live::LiveRun;
use crate::runs::pictures::avatar::Avatar;
use crate::runs::scheduler::Group;

/// The time for which checks may continue after the deadline of all runs before they are abandoned.
const DEADLINE_GRACE: Duration = Duration::from_secs(5);
/// The time for which checks may continue after the run's time budget, so that those that end by then report their
/// evidence.
const BUDGET_GRACE: Duration = Duration::from_millis(200);

/// The end of a run's time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimit {
    /// The moment from which no check is started, and by which checks in progress must have their answers.
    pub(super) at: Instant,
    /// The moment at which checks in progress are abandoned.
    pub(super) abandon_at: Instant,
    /// The reason of the checks that are cut.
    pub(super) reason: Reason,
}

impl TimeLimit {
    /// Returns the limit of a run. Both the deadline and the time budget count from the moment when the run was first
    /// driven, by this process or another.
    pub(super) fn of(run: &LiveRun, run_timeout: Duration) -> Self {
        let budget = run.opening().options.time_budget.map(Duration::from);
        let (time, grace, reason) = match budget.filter(|budget| *budget < run_timeout) {
            Some(budget) => (budget, BUDGET_GRACE, Reason::TimeBudget),
            None => (run_timeout, DEADLINE_GRACE, Reason::RunDeadline),
        };
        let at = run.driven_until(time);
        Self { at, abandon_at: at + grace, reason }
    }
}

/// A reason for the driver to wake up.
pub(super) enum Message {
    /// The check with that place has ended, or is not made.
    Ended { place: usize, answer: Answer },
    /// A picture was fetched, or is given up.
    Picture { result: u32, avatar: Option<Avatar> },
    /// A host with an open circuit is tried, or the run was stopped.
    Other,
}

/// What the parts of a driver share.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    pub(super) context: &'a Arc<RunContext>,
    pub(super) run: &'a Arc<LiveRun>,
    pub(super) limit: TimeLimit,
    pub(super) sender: Sender<Message>,
    pub(super) group: Arc<Group>,
}
