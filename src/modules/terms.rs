//! Under what terms a check is made: how long it may take, and whom it must leave alone.

use std::time::{Duration, Instant};

/// What a control check may take at the least, wherever the check's own deadline is: a slow site that
/// says yes to everyone is worth finding out.
pub const CONTROL_TIME: Duration = Duration::from_secs(3);

/// The same for a control check in a browser: a page is drawn there, a session perhaps made anew.
pub const BROWSER_CONTROL_TIME: Duration = Duration::from_secs(8);

/// Knows which hosts asked to be left alone for now.
pub trait PausedHosts: Sync {
    /// Whether `host`, a name as in [`Pause::host`](super::outcome::Pause), is not to be asked now.
    fn is_paused(&self, host: &str) -> bool;
}

/// No host is paused.
struct NoHost;

impl PausedHosts for NoHost {
    fn is_paused(&self, _: &str) -> bool {
        false
    }
}

/// The terms of one check.
#[derive(Clone, Copy)]
pub struct Terms<'t> {
    /// When the check must have its answers.
    pub deadline: Instant,
    /// When its control check must be done at the latest, which may take [`CONTROL_TIME`] (in a browser
    /// [`BROWSER_CONTROL_TIME`]) even where the deadline is nearer. Not before the deadline.
    pub ceiling: Instant,
    /// Whom it must not ask.
    pub paused: &'t dyn PausedHosts,
}

impl Terms<'_> {
    /// Those of a control check that begins `now` and may take `least` in any case.
    pub(super) fn of_control(&self, now: Instant, least: Duration) -> Self {
        Self { deadline: self.deadline.max(self.ceiling.min(now + least)), ..*self }
    }
}

impl From<Instant> for Terms<'_> {
    /// All is to be done by then, and any host may be asked.
    fn from(deadline: Instant) -> Self {
        Self { deadline, ceiling: deadline, paused: &NoHost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_has_its_time_up_to_the_ceiling() {
        let now = Instant::now();
        let at = |secs| now + Duration::from_secs(secs);
        for (deadline, ceiling, want) in [(10, 60, 10), (1, 60, 3), (1, 2, 2), (1, 1, 1)] {
            let terms = Terms { ceiling: at(ceiling), ..Terms::from(at(deadline)) };
            assert_eq!(terms.of_control(now, CONTROL_TIME).deadline, at(want), "{deadline} {ceiling}");
        }
    }
}
