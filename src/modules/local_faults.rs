//! Faults of this machine that prevent checks. They are logged when they begin and when they end.

use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::Mutex;

use super::probe::{LocalFault, ProbeError};

/// The time after which a fault that was not seen again has ended.
const OVER_AFTER: Duration = Duration::from_secs(60);

/// The current faults of this machine.
#[derive(Debug, Default)]
pub(super) struct LocalFaults {
    seen: Mutex<[Option<Seen>; LocalFault::ALL.len()]>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    last: Instant,
    count: u64,
}

impl LocalFaults {
    /// Notes the error of a request, if it is a fault of this machine. Most errors are not.
    pub(super) fn note(&self, error: &ProbeError) {
        let ProbeError::Local(fault, why) = error else { return };
        let now = Instant::now();
        let mut seen = self.seen.lock();
        match &mut seen[*fault as usize] {
            Some(seen) => *seen = Seen { last: now, count: seen.count + 1 },
            none => {
                *none = Some(Seen { last: now, count: 1 });
                warn!(
                    "this machine cannot make all checks ({why}): their modules end as skipped, {}",
                    fault.reason()
                );
            }
        }
    }

    /// Logs the faults that have ended at `now`. It must be called periodically.
    pub(super) fn sweep(&self, now: Instant) {
        for (fault, seen) in LocalFault::ALL.into_iter().zip(self.seen.lock().iter_mut()) {
            let over = seen.take_if(|seen| now.saturating_duration_since(seen.last) >= OVER_AFTER);
            if let Some(Seen { count, .. }) = over {
                info!("{} is over: {count} requests of checks were not made", fault.reason());
            }
        }
    }
}
