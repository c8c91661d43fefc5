//! The profile pictures of a run, which are fetched while its checks run and shortly after.
//!
//! A picture that cannot be fetched changes nothing: neither an outcome, nor the coverage, nor the circuit of a host. A
//! run that is resumed fetches the pictures that it does not have.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Driver, Message};
use crate::base::threads;
use crate::model::run::ResultRecord;
use crate::modules::probe::Trace;
use crate::runs::pictures::avatar::{AVATAR, picture_address};
use crate::runs::pictures::picture::fetch;
use crate::runs::scheduler::{Kind, Task, Turn, pictures_of};

/// The most pictures of a run.
const MAX_PICTURES: usize = 100;
/// The time for one picture.
const PICTURE_TIME: Duration = Duration::from_secs(5);
/// The time for which a run waits for its pictures after its last check.
const LAST_PICTURES: Duration = Duration::from_secs(3);

impl Driver<'_> {
    /// Fetches the picture of a stored result, if the run wants pictures and the result lacks one that it names.
    pub(super) fn fetch_picture(&mut self, record: &ResultRecord) {
        let most = if self.run.opening.summary.options.avatars { MAX_PICTURES } else { 0 };
        if self.pictured.len() >= most || self.pictured.contains(&record.id) {
            return;
        }
        if record.metadata.contains_key(AVATAR) {
            self.pictured.insert(record.id);
            return;
        }
        let Some(url) = picture_address(&record.metadata) else { return };
        self.pictured.insert(record.id);
        self.pictures += 1;
        let (runs, run) = (Arc::clone(self.runs), Arc::clone(self.run));
        let (query, ceiling) = (self.query.normal().into(), self.limit.at);
        let (result, module) = (record.id, record.source.as_str().into());
        let host = url.host_str().unwrap_or_default().to_owned();
        let work = move |turn: Turn| {
            let mut picture = None;
            if let (Ok(_permit), None) = (turn, run.stopped()) {
                let trace = Trace { module, probe: 0, query, control: false };
                let deadline = ceiling.min(Instant::now() + PICTURE_TIME);
                // A decoder that panics ends only this picture, and the run does not wait for it.
                threads::guard("a picture's decoder", || {
                    picture = fetch(&*runs.checker.prober, url, trace, deadline);
                });
            }
            // The run may have ended without the picture.
            let _ = run.driver.send(Message::Picture { result, picture });
        };
        let task = Task::plain(Kind::Picture, vec![vec![host, pictures_of(self.group.id)]]);
        self.runs.scheduler.add(self.group.id, vec![(task, Box::new(work))]);
    }

    /// Returns the moment at which the pictures that are missing are given up, if there are some and it is known: when the
    /// checks have ended.
    pub(super) fn pictures_end(&self) -> Option<Instant> {
        let end = match self.run.stopped_at() {
            Some(_) => self.checks_end,
            None => self.limit.at.min(self.checks_end + LAST_PICTURES),
        };
        (self.pictures > 0 && self.open.is_empty()).then_some(end)
    }
}
