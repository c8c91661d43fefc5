//! The rates of modules that have one of their own (`every_ms`, `per_day`).

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The maximum rate of a module's checks, control checks included. The default is unlimited.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// The minimum time between two checks.
    pub every: Option<Duration>,
    /// The maximum number of checks in 24 hours from the first.
    pub per_day: Option<u32>,
}

/// The next checks of each module with a rate. Those of a day are counted in the store, see
/// [`HealthTable::count_today`](super::health::HealthTable::count_today).
#[derive(Debug, Default)]
pub(super) struct Paces {
    by_module: Mutex<HashMap<String, Instant>>,
}

impl Paces {
    /// Reserves the next check of a module, which may begin at the returned time.
    ///
    /// # Errors
    /// Returns that time, and reserves nothing, if it is after `until`.
    pub(super) fn reserve(
        &self,
        module: &str,
        pace: Pace,
        now: Instant,
        until: Instant,
    ) -> Result<Instant, Instant> {
        let Some(every) = pace.every else { return Ok(now) };
        let mut by_module = self.by_module.lock();
        let next = by_module.entry(module.to_owned()).or_insert(now);
        let begin = now.max(*next);
        if begin > until {
            return Err(begin);
        }
        *next = begin + every;
        Ok(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_separates_checks() {
        let paces = Paces::default();
        let pace = Pace { every: Some(Duration::from_secs(2)), per_day: None };
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let reserve = |now, until| paces.reserve("m", pace, at(now), at(until));
        assert_eq!(reserve(0, 0), Ok(at(0)));
        assert_eq!(reserve(1, 1), Err(at(2)));
        assert_eq!(reserve(1, 2), Ok(at(2)), "it may wait");
        assert_eq!(reserve(3, 3), Err(at(4)), "the reserved check counts");
        assert_eq!(reserve(4, 4), Ok(at(4)));
        assert_eq!(paces.reserve("other", Pace::default(), at(0), at(0)), Ok(at(0)));
    }
}
