//! What has to be done every now and then: leases, expiry, retention, deletions, cache sizes, when keys were last seen,
//! sessions that have expired, what is never searched.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log::warn;

use super::AppError;
use super::suppression::Watch;
use crate::account::rate_limit::RateLimiter;
use crate::account::service::Accounts;
use crate::account::sign_in::SignIns;
use crate::api::Api;
use crate::base::clock::Clock;
use crate::runs::retention::Sweeper;
use crate::runs::service::Runs;

const EVERY: Duration = Duration::from_secs(1);
/// Every so many rounds, what is in no hurry.
const LEISURELY: u64 = 15;

/// What a housekeeper looks after.
pub(super) struct House {
    pub(super) runs: Arc<Runs>,
    pub(super) accounts: Arc<Accounts>,
    pub(super) sign_ins: Arc<SignIns>,
    pub(super) limiter: Arc<RateLimiter>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) sweeper: Sweeper,
    pub(super) suppression: Option<Watch>,
    pub(super) api: Arc<Api>,
}

/// Starts the thread. It ends by itself when the runs are shut down.
pub(super) fn start(mut house: House) -> Result<JoinHandle<()>, AppError> {
    thread::Builder::new()
        .name("housekeeper".to_owned())
        .spawn(move || {
            let mut round = 0u64;
            while !house.runs.wait_for_duty(Instant::now() + EVERY) {
                house.keep();
                round += 1;
                if round.is_multiple_of(LEISURELY) {
                    house.tidy_up();
                }
            }
            house.tidy_up();
        })
        .map_err(|error| AppError::Failed(format!("no thread for the housekeeper: {error}")))
}

impl House {
    fn keep(&mut self) {
        if let Some(list) = self.suppression.as_mut().and_then(Watch::news) {
            self.runs.suppress(list);
        }
        self.runs.keep_house();
        self.api.keep_house();
        self.limiter.sweep(self.clock.now());
        self.sweeper.keep_house();
        self.accounts.finish_deletions();
        self.sweeper.wipe();
    }

    fn tidy_up(&self) {
        self.runs.forget_what_is_over();
        if let Err(error) = self.accounts.keep_house() {
            warn!("when keys were last seen was not written down: {error}");
        }
        if let Err(error) = self.sign_ins.keep_house() {
            warn!("sessions and links that have expired were not removed: {error}");
        }
    }
}
