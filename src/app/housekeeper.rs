//! What has to be done every now and then: leases, expiry, cache sizes, when keys were last seen.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log::warn;

use super::AppError;
use crate::account::rate_limit::RateLimiter;
use crate::account::service::Accounts;
use crate::base::clock::Clock;
use crate::runs::service::Runs;

const EVERY: Duration = Duration::from_secs(1);
/// Every so many rounds, what is in no hurry.
const LEISURELY: u64 = 15;

/// Starts the thread. It ends by itself when `runs` is shut down.
pub(super) fn start(
    runs: Arc<Runs>,
    accounts: Arc<Accounts>,
    limiter: Arc<RateLimiter>,
    clock: Arc<dyn Clock>,
) -> Result<JoinHandle<()>, AppError> {
    thread::Builder::new()
        .name("housekeeper".to_owned())
        .spawn(move || {
            let mut round = 0u64;
            while !runs.wait_for_duty(Instant::now() + EVERY) {
                runs.keep_house();
                limiter.sweep(clock.now());
                round += 1;
                if round.is_multiple_of(LEISURELY) {
                    tidy_up(&accounts);
                }
            }
            tidy_up(&accounts);
        })
        .map_err(|error| AppError::Failed(format!("no thread for the housekeeper: {error}")))
}

fn tidy_up(accounts: &Accounts) {
    if let Err(error) = accounts.keep_house() {
        warn!("when keys were last seen was not written down: {error}");
    }
}
