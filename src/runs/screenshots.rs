//! Screenshots, as evidence, of the profiles that the owner of a run has found to be those of the one who is searched.
//!
//! They take turns with the checks of batches, after those of other searches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{info, warn};
use url::Url;

use super::scheduler::{BROWSERS, Kind, Task, Turn};
use super::service::Runs;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::base::threads;
use crate::model::entity::identified::web_address;
use crate::model::notes::{Annotation, Verdict};
use crate::model::run::{ResultRecord, RunOptions, RunSummary};
use crate::modules::kept::Kept;
use crate::modules::probe::Response;

/// The most results that wait for a screenshot.
const MOST_WAITING: usize = 1000;
/// The most screenshots of a run.
const MOST_OF_RUN: usize = 100;
/// The time for a screenshot, with the wait for a free page.
const TIME: Duration = Duration::from_secs(60);

impl Runs {
    /// Has a screenshot of a result's profile taken and kept, if its run keeps evidence, may contact the site, and a browser is
    /// configured. A failure is only logged, and the result has none.
    pub fn take_screenshot(self: &Arc<Self>, run: &RunSummary, record: &ResultRecord) {
        let RunOptions { evidence, passive, .. } = run.options;
        // A browser that only prints reaches the real web, which a simulated search must not.
        let may_look = evidence && !passive && !self.config.simulated && self.browsers.sessions() > 0;
        let Some(address) = record.profile_url().and_then(web_address).filter(|_| may_look) else { return };
        let (run, result) = (run.id, record.id);
        let group = {
            let (group, wanted) = &mut *self.screenshots.lock();
            if wanted.len() >= MOST_WAITING || !wanted.insert((run, result)) {
                return;
            }
            // All take turns as one run of a batch, so that many hold up no search.
            let joined = || Arc::new(self.scheduler.join(None, true, false));
            let shared = group.upgrade().unwrap_or_else(joined);
            *group = Arc::downgrade(&shared);
            shared
        };
        let host = address.host_str().unwrap_or_default().to_owned();
        let (id, runs) = (group.id, Arc::clone(self));
        let work = move |turn: Turn| {
            // It exists until its last task has ended.
            let _group = group;
            if let Ok(_permit) = turn {
                threads::guard("a screenshot", || {
                    if let Err(error) = runs.keep_screenshot(run, result, &address) {
                        warn!("run {run}: cannot keep a screenshot: {error}");
                    }
                });
            }
            runs.screenshots.lock().1.remove(&(run, result));
        };
        let task = Task::plain(Kind::Picture, vec![vec![host, BROWSERS.to_owned()]]);
        self.scheduler.add(id, vec![(task, Box::new(work))]);
    }

    fn keep_screenshot(&self, run: RunId, result: u32, address: &Url) -> Result<(), StorageError> {
        let notes = self.store.notes(run)?.results;
        let is_missing = |it: &Annotation| it.verdict == Some(Verdict::Mine) && it.screenshot.is_none();
        let kept = notes.values().filter(|it| it.screenshot.is_some()).count();
        if !notes.get(&result).is_some_and(is_missing) || kept >= MOST_OF_RUN {
            return Ok(());
        }
        match self.browsers.screenshot(address, Instant::now() + TIME) {
            Ok((status, body)) => {
                let (final_url, headers) = (address.clone(), Vec::new());
                let response = Response { status, final_url, headers, body, truncated: false };
                let kept = Kept::new(&response, Some(address.to_string()));
                self.store.keep_screenshot(run, result, &kept)
            }
            Err(error) => {
                info!("run {run}: no screenshot of result {result}: {}", error.why);
                Ok(())
            }
        }
    }
}
