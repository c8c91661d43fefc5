//! The rates of modules that have one of their own (`every_ms`, `per_day`).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum rate of a module's checks, control checks included. The default is unlimited.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// The minimum time between two checks.
    pub every: Option<Duration>,
    /// The maximum number of checks in 24 hours from the first.
    pub per_day: Option<u32>,
}

/// The reason why a check must not be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The next check may begin at this time.
    NotBefore(Instant),
    /// The module has used all its checks of the day.
    DailyLimit,
}

/// The last checks of each module with a rate.
#[derive(Debug, Default)]
pub(super) struct Paces {
    by_module: Mutex<HashMap<String, Paced>>,
}

#[derive(Debug)]
struct Paced {
    next: Instant,
    day_began: Instant,
    today: u32,
}

impl Paces {
    /// Reserves the next check of a module, which may begin at the returned time.
    ///
    /// # Errors
    /// Returns an error, and reserves nothing, if that time is after `until` or the checks of the day are used up.
    pub(super) fn reserve(
        &self,
        module: &str,
        pace: Pace,
        now: Instant,
        until: Instant,
    ) -> Result<Instant, Refusal> {
        if pace.every.is_none() && pace.per_day.is_none() {
            return Ok(now);
        }
        let mut by_module = self.by_module.lock();
        let paced =
            by_module.entry(module.to_owned()).or_insert(Paced { next: now, day_began: now, today: 0 });
        if now.duration_since(paced.day_began) >= DAY {
            (paced.day_began, paced.today) = (now, 0);
        }
        if pace.per_day.is_some_and(|limit| paced.today >= limit) {
            return Err(Refusal::DailyLimit);
        }
        let begin = paced.next.max(now);
        if begin > until {
            return Err(Refusal::NotBefore(begin));
        }
        paced.next = begin + pace.every.unwrap_or_default();
        paced.today += 1;
        Ok(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_separates_checks_and_limits_those_of_a_day() {
        let paces = Paces::default();
        let pace = Pace { every: Some(Duration::from_secs(2)), per_day: Some(3) };
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let reserve = |now, until| paces.reserve("m", pace, at(now), at(until));
        assert_eq!(reserve(0, 0), Ok(at(0)));
        assert_eq!(reserve(1, 1), Err(Refusal::NotBefore(at(2))));
        assert_eq!(reserve(1, 2), Ok(at(2)), "it may wait");
        assert_eq!(reserve(3, 3), Err(Refusal::NotBefore(at(4))), "the reserved check counts");
        assert_eq!(reserve(4, 4), Ok(at(4)));
        assert_eq!(reserve(9, 99), Err(Refusal::DailyLimit));
        assert_eq!(reserve(DAY.as_secs(), DAY.as_secs()), Ok(at(DAY.as_secs())));
        assert_eq!(paces.reserve("other", Pace::default(), at(0), at(0)), Ok(at(0)));
    }
}
