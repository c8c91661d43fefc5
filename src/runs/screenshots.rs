//! Screenshots, as evidence, of the profiles that the owner of a run has found to be those of the one who is searched.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{info, warn};
use url::Url;

use super::scheduler::{BROWSERS, Kind, Task, Turn};
use super::service::Runs;
use crate::base::threads;
use crate::model::entity::identified::web_address;
use crate::model::run::{ResultRecord, RunOptions, RunSummary};
use crate::modules::kept::Kept;
use crate::modules::probe::{ProbeError, Response};

/// The time for a screenshot, with the wait for a free page.
const TIME: Duration = Duration::from_secs(60);

impl Runs {
    /// Has a screenshot of a result's profile taken and kept, if its run keeps evidence, may contact the site, and a browser is
    /// configured. It waits for its turn among the checks. A failure is only logged, and the result has none.
    pub fn take_screenshot(self: &Arc<Self>, run: &RunSummary, record: &ResultRecord) {
        let RunOptions { evidence, passive, .. } = run.options;
        let address = record.profile_url().and_then(web_address);
        // A browser that only prints reaches the real web, which a simulated search must not.
        let may_look = evidence && !passive && !self.config.simulated && self.browsers.sessions() > 0;
        let Some(address) = address.filter(|_| may_look) else { return };
        let host = address.host_str().unwrap_or_default().to_owned();
        let group = self.scheduler.join(Some(run.account), false, false);
        let (id, runs, run, result) = (group.id, Arc::clone(self), run.id, record.id);
        let work = move |turn: Turn| {
            // Until then, the group has a task.
            let _group = group;
            let Ok(_permit) = turn else { return };
            let mut taken = None;
            threads::guard("a screenshot", || taken = Some(runs.screenshot(&address)));
            match taken {
                Some(Ok(kept)) => match runs.store.keep_screenshot(run, result, &kept) {
                    Ok(()) => info!("run {run}: kept the screenshot of result {result}"),
                    Err(error) => warn!("run {run}: cannot keep the screenshot of result {result}: {error}"),
                },
                Some(Err(error)) => info!("run {run}: no screenshot of result {result}: {}", error.why),
                None => {}
            }
        };
        let task = Task::plain(Kind::Picture, vec![vec![host, BROWSERS.to_owned()]]);
        self.scheduler.add(id, vec![(task, Box::new(work))]);
    }

    fn screenshot(&self, address: &Url) -> Result<Kept, ProbeError> {
        let (status, body) = self.browsers.screenshot(address, Instant::now() + TIME)?;
        let response =
            Response { status, final_url: address.clone(), headers: Vec::new(), body, truncated: false };
        Ok(Kept::new(&response, Some(address.to_string())))
    }
}
