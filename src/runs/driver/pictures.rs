//! The profile pictures of a run, which are fetched while its checks run and shortly after.
//!
//! A picture that cannot be fetched changes nothing: neither an outcome, nor the coverage, nor the circuit of a host. A
//! run that is resumed fetches the pictures that it does not have.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::log;
use url::Url;

use super::{Driver, Message};
use crate::model::drive::Write;
use crate::model::run::ResultRecord;
use crate::modules::probe::Trace;
use crate::runs::context::RunContext;
use crate::runs::live::LiveRun;
use crate::runs::pictures::avatar::{AVATAR, picture_address};
use crate::runs::pictures::picture::fetch;
use crate::runs::scheduler::task::{Kind, Task};
use crate::runs::scheduler::{Turn, Work};

/// The most pictures of a run.
const MAX_PICTURES: usize = 100;
/// The time for one picture.
const PICTURE_TIME: Duration = Duration::from_secs(5);
/// The time for which a run waits for its pictures after its last check.
const LAST_PICTURES: Duration = Duration::from_secs(3);

impl Driver<'_> {
    /// Fetches the picture of a stored result, if the run wants pictures and the result lacks one that it names.
    pub(super) fn fetch_picture(&mut self, record: &ResultRecord) {
        let most = if self.run.opening().options.avatars { MAX_PICTURES } else { 0 };
        if self.pictures.known.len() >= most || self.pictures.known.contains(&record.id) {
            return;
        }
        if record.metadata.contains_key(AVATAR) {
            self.pictures.known.insert(record.id);
        } else if let Some(url) = picture_address(&record.metadata) {
            self.pictures.known.insert(record.id);
            self.pictures.open += 1;
            self.group.add(vec![self.picture_task(record, url)]);
        }
    }

    /// Sets the end of the wait for pictures when the checks have ended.
    pub(super) fn set_end_of_pictures(&mut self) {
        let now = Instant::now();
        let last = match self.run.stopped_at() {
            Some(_) => now,
            None => self.pictures.end.unwrap_or(self.limit.at.min(now + LAST_PICTURES)),
        };
        self.pictures.end = (self.run.stopped_at().is_some() || self.open.is_empty()).then_some(last);
    }

    fn picture_task(&self, record: &ResultRecord, url: Url) -> (Task, Work) {
        let (context, run, sender) = (Arc::clone(self.context), Arc::clone(self.run), self.sender.clone());
        let (query, ceiling) = (self.query.normal().into(), self.limit.at);
        let (result, module) = (record.id, record.source.as_str().into());
        let host = url.host_str().unwrap_or_default().to_owned();
        let work = move |turn: Turn| {
            let avatar = match turn {
                Ok(permit) if run.stopped().is_none() => {
                    let trace = Trace { module, probe: 0, query, control: false };
                    let deadline = ceiling.min(Instant::now() + PICTURE_TIME);
                    let picture = fetch(&*context.checker.prober, url, trace, deadline);
                    // The host becomes free before the picture is stored.
                    drop(permit);
                    picture.and_then(|picture| {
                        keep(&context, &run, result, &picture.thumbnail).then_some(picture.avatar)
                    })
                }
                _ => None,
            };
            // The run may have ended without the picture.
            let _ = sender.send(Message::Picture { result, avatar });
        };
        (Task::plain(Kind::Picture, vec![vec![host]]), Box::new(work))
    }
}

/// Stores a thumbnail, before its result says that there is one. It is not worth a second try.
fn keep(context: &RunContext, run: &LiveRun, result: u32, thumbnail: &[u8]) -> bool {
    match context.store.keep_thumbnail(run.id(), run.lease(), result, thumbnail) {
        Ok(Write::Done | Write::Stopped(_)) => true,
        Ok(Write::LeaseLost) => false,
        Err(error) => {
            log!(error.log_level(), "run {}: cannot store a thumbnail: {error}", run.id());
            false
        }
    }
}
