//! Periodic work: leases, watches, expiry, retention, deletions, cache sizes, the times of last use of keys, expired
//! sessions, the file of suppressed identifiers, and the catalogue bundle.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log::log;

use super::bundles::BundleWatch;
use super::error::AppError;
use super::suppression::Watch;
use crate::account::rate_limit::RateLimiter;
use crate::account::service::Accounts;
use crate::account::sign_in::SignIns;
use crate::api::Api;
use crate::base::clock::Clock;
use crate::http::Traffic;
use crate::runs::retention::RetentionTask;
use crate::runs::service::Runs;
use crate::sandbox::Sandbox;
use crate::watches::keeper::WatchKeeper;
use crate::web::{Totals, Web};

/// Pause between two rounds.
const PAUSE: Duration = Duration::from_secs(1);
/// A slow task runs once in this number of rounds.
const SLOW_EVERY: u64 = 15;

/// Does the periodic work of a server on its own thread.
pub(super) struct Maintenance {
    pub(super) runs: Arc<Runs>,
    pub(super) watches: WatchKeeper,
    pub(super) accounts: Arc<Accounts>,
    pub(super) sign_ins: Arc<SignIns>,
    pub(super) limiter: Arc<RateLimiter>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) retention: RetentionTask,
    pub(super) suppression: Option<Watch>,
    pub(super) bundles: BundleWatch,
    pub(super) sandbox: Option<Arc<Sandbox>>,
    pub(super) api: Arc<Api>,
    pub(super) web: Arc<Web>,
    /// The requests of the API and of the web app.
    pub(super) traffic: [Arc<Traffic>; 2],
}

impl Maintenance {
    /// Starts the thread. It ends when the runs are shut down.
    pub(super) fn start(mut self) -> Result<JoinHandle<()>, AppError> {
        thread::Builder::new()
            .name("maintenance".to_owned())
            .spawn(move || self.work())
            .map_err(|error| AppError::failed(error).at("cannot start the maintenance thread"))
    }

    fn work(&mut self) {
        let mut round = 0u64;
        while !self.runs.maintenance.wait(Instant::now() + PAUSE) {
            self.do_quick_tasks();
            round += 1;
            if round.is_multiple_of(SLOW_EVERY) {
                self.do_slow_tasks();
            }
        }
        self.do_slow_tasks();
    }

    fn do_quick_tasks(&mut self) {
        if let Some(list) = self.suppression.as_mut().and_then(Watch::changed_list) {
            self.runs.selector.suppress(list);
        }
        if let Some(catalog) = self.bundles.changed_catalog() {
            if let Some(sandbox) = &self.sandbox {
                sandbox.replace(catalog.modules().iter().cloned());
            }
            self.runs.selector.use_catalog(catalog);
        }
        self.runs.maintenance.run_due_tasks();
        self.watches.run_due_tasks();
        self.api.sweep_caches();
        self.limiter.sweep(self.clock.now());
        self.retention.sweep();
        self.accounts.finish_deletions();
        self.retention.wipe();
        let totals = Totals::of(self.runs.figures(), self.traffic.each_ref().map(|traffic| &**traffic));
        self.web.trends.note(self.clock.now(), totals);
    }

    fn do_slow_tasks(&self) {
        self.runs.maintenance.sweep_caches();
        if let Err(error) = self.accounts.flush_key_usage() {
            log!(error.log_level(), "cannot store when keys were last used: {error}");
        }
        if let Err(error) = self.sign_ins.remove_expired() {
            log!(error.log_level(), "cannot remove expired sessions and links: {error}");
        }
    }
}
