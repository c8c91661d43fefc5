//! Screenshots, as evidence, of the profiles that the owner of a run has found to be those of the one who is searched.
//!
//! One is taken at a time, in the order in which results were judged, and after the checks of searches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{info, warn};

use super::scheduler::{BROWSERS, Kind, Task, Turn};
use super::service::{Runs, WantedScreenshot};
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
        let address = record.profile_url().and_then(web_address).filter(|_| may_look);
        let Some(address) = address else { return };
        let wanted = WantedScreenshot { account: run.account, run: run.id, result: record.id, address };
        let mut waiting = self.screenshots.lock();
        let is_known = |it: &WantedScreenshot| (it.run, it.result) == (wanted.run, wanted.result);
        if waiting.len() >= MOST_WAITING || waiting.iter().any(is_known) {
            return;
        }
        waiting.push_back(wanted);
        let is_first = waiting.len() == 1;
        drop(waiting);
        if is_first {
            self.next_screenshot();
        }
    }

    /// Takes the screenshot that has waited longest in its turn, and then the others.
    fn next_screenshot(self: &Arc<Self>) {
        let Some(wanted) = self.screenshots.lock().front().cloned() else { return };
        let host = wanted.address.host_str().unwrap_or_default().to_owned();
        let group = self.scheduler.join(Some(wanted.account), true, false);
        let (id, runs) = (group.id, Arc::clone(self));
        let work = move |turn: Turn| {
            if let Ok(_permit) = turn {
                threads::guard("a screenshot", || {
                    if let Err(error) = runs.keep_screenshot(&wanted) {
                        warn!("run {}: cannot keep a screenshot: {error}", wanted.run);
                    }
                });
            }
            // Until then, the group has a task.
            drop(group);
            runs.screenshots.lock().pop_front();
            runs.next_screenshot();
        };
        let task = Task::plain(Kind::Picture, vec![vec![host, BROWSERS.to_owned()]]);
        self.scheduler.add(id, vec![(task, Box::new(work))]);
    }

    fn keep_screenshot(
        &self,
        WantedScreenshot { run, result, address, .. }: &WantedScreenshot,
    ) -> Result<(), StorageError> {
        let notes = self.store.notes(*run)?.results;
        let is_missing = |it: &Annotation| it.verdict == Some(Verdict::Mine) && it.screenshot.is_none();
        let kept = notes.values().filter(|it| it.screenshot.is_some()).count();
        if !notes.get(result).is_some_and(is_missing) || kept >= MOST_OF_RUN {
            return Ok(());
        }
        match self.browsers.screenshot(address, Instant::now() + TIME) {
            Ok((status, body)) => {
                let (final_url, headers) = (address.clone(), Vec::new());
                let response = Response { status, final_url, headers, body, truncated: false };
                let kept = Kept::new(&response, Some(address.to_string()));
                self.store.keep_screenshot(*run, *result, &kept)
            }
            Err(error) => {
                info!("run {run}: no screenshot of result {result}: {}", error.why);
                Ok(())
            }
        }
    }
}
