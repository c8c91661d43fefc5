//! The terms of a check: its deadlines, and the hosts that it may contact.

use std::time::{Duration, Instant};

use super::outcome::{Direction, OpenCircuit, Outcome};
use super::reason::Reason;

/// The least time for a control check, even if the check's own deadline is nearer. It is long enough to
/// recognize a slow site that has a page for every name.
pub const CONTROL_TIME: Duration = Duration::from_secs(3);

/// The least time for a control check in a browser, which has to draw the page and may need a new session.
pub const BROWSER_CONTROL_TIME: Duration = Duration::from_secs(8);

/// The shortest time for a request whose timeout says something about the site to other checks. A timeout
/// after less time is not cached.
pub const FAIR_TRY: Duration = Duration::from_secs(2);

/// The permission of a check to contact a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The host may be contacted.
    Granted,
    /// The host gave no answer to earlier checks and is tried again. It must answer within this time.
    Trial(Duration),
    /// The host must not be contacted now.
    Denied(Denial),
}

/// The reason for which a host must not be contacted now, or a module not be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Denial {
    /// The host asked for a pause with `Retry-After`.
    Pause,
    /// The host gave no answer to the last checks, which ended with this outcome.
    Circuit(Outcome, OpenCircuit),
    /// The module failed its last control checks.
    Quarantine(OpenCircuit),
}

impl Denial {
    /// Returns the outcome and the reason of a check that is not made because of this, with the open circuit if that is the
    /// reason.
    pub fn end(self) -> (Outcome, Reason, Option<OpenCircuit>) {
        match self {
            Self::Pause => (Outcome::RateLimited, Reason::RetryAfter, None),
            Self::Circuit(outcome, circuit) => (outcome, Reason::CircuitOpen, Some(circuit)),
            Self::Quarantine(circuit) => (Outcome::Unreliable, Reason::Quarantined, Some(circuit)),
        }
    }
}

/// The trial of a module in quarantine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModuleTrial {
    /// The direction of the control check that the module failed.
    pub direction: Direction,
    /// The times of the quarantine if the trial does not end it.
    pub times: OpenCircuit,
}

/// The hosts that a check may contact.
pub trait HostAccess: Sync {
    /// Returns whether `host`, a name as in [`Pause::host`](super::outcome::Pause), may be contacted now. A check that
    /// gets a [`Access::Trial`] is the only one of the process that contacts the host, and is expected to do so.
    fn access(&self, host: &str) -> Access;

    /// Reserves a control check within the rate of the module. Returns the time from which it may be made, or `None` if
    /// that is after `until` or the module's checks for one day are used up. By default there is no rate.
    fn reserve(&self, now: Instant, _until: Instant) -> Option<Instant> {
        Some(now)
    }

    /// Waits with `wait` for the answer of another check, and lends what this one holds to others meanwhile. By default it
    /// holds nothing.
    fn lend(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}

/// Access to every host.
impl HostAccess for () {
    fn access(&self, _: &str) -> Access {
        Access::Granted
    }
}

/// The terms of one check.
#[derive(Clone, Copy)]
pub struct Terms<'t> {
    /// The time at which the check was started. A control check that was made after it confirms a hit.
    pub since: Instant,
    /// The time by which the check must have the answers to its own probes: the learned deadline, or the deadline.
    pub answer_by: Instant,
    /// The time by which the check must have read its answers, and have any further pages.
    pub deadline: Instant,
    /// The time by which the control check must end. Until then it may take [`CONTROL_TIME`] (in a browser,
    /// [`BROWSER_CONTROL_TIME`]) even if the deadline is nearer. It is not before the deadline.
    pub ceiling: Instant,
    /// The hosts that the check may contact.
    pub hosts: &'t dyn HostAccess,
    /// Whether the judged answer of a hit is kept.
    pub keeps: bool,
    /// The trial of a module in quarantine. The control check that the module failed comes first, and the query is
    /// only asked for if that passes.
    pub trial: Option<ModuleTrial>,
}

impl From<Instant> for Terms<'_> {
    /// Creates terms with this deadline for the check and its control check, with access to every host.
    fn from(deadline: Instant) -> Self {
        let since = Instant::now();
        Self {
            since,
            answer_by: deadline,
            deadline,
            ceiling: deadline,
            hosts: &(),
            keeps: false,
            trial: None,
        }
    }
}
