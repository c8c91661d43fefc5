//! [`PictureFetcher`]: fetches the profile pictures of a run, while its checks run and shortly after.
//!
//! A picture that cannot be fetched changes nothing: neither an outcome, nor the coverage, nor the circuit of a host. A
//! run that is resumed fetches the pictures that it does not have.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::log;
use url::Url;

use super::scope::{Message, Scope};
use crate::model::drive::{Delta, Write};
use crate::model::run::ResultRecord;
use crate::modules::probe::Trace;
use crate::modules::query::Query;
use crate::runs::context::RunContext;
use crate::runs::live::LiveRun;
use crate::runs::pictures::avatar::{AVATAR, picture_address};
use crate::runs::pictures::picture::fetch;
use crate::runs::scheduler::task::{Kind, Pace, Task};
use crate::runs::scheduler::{Turn, Work};

/// The most pictures of a run.
const MAX_PICTURES: usize = 100;
/// The time for one picture.
const PICTURE_TIME: Duration = Duration::from_secs(5);
/// The time for which a run waits for its pictures after its last check.
const LAST_PICTURES: Duration = Duration::from_secs(3);

/// The pictures that the results of a run name.
pub(super) struct PictureFetcher<'a> {
    scope: Scope<'a>,
    query: Arc<Query>,
    most: usize,
    /// The number of pictures that wait or are being fetched.
    open: usize,
    /// The results whose pictures were fetched or tried.
    known: HashSet<u32>,
    /// The moment at which the pictures that are missing are given up. It is known when the checks have ended.
    end: Option<Instant>,
}

impl<'a> PictureFetcher<'a> {
    /// Creates a fetcher of the pictures that the results of a run lack.
    pub(super) fn new(scope: Scope<'a>, query: Arc<Query>) -> Self {
        let run = scope.run;
        let most = if run.opening().options.avatars { MAX_PICTURES } else { 0 };
        let mut pictures = Self { scope, query, most, open: 0, known: HashSet::new(), end: None };
        let (_, results, _) = run.snapshot();
        results.iter().for_each(|result| pictures.add_of(result));
        pictures
    }

    /// Adds the pictures of results that have just been stored. A later source may name a picture that the first one
    /// does not.
    pub(super) fn add(&mut self, stored: &Delta) {
        stored.added.iter().chain(&stored.changed).for_each(|record| self.add_of(record));
    }

    fn add_of(&mut self, record: &ResultRecord) {
        if self.known.len() >= self.most || self.known.contains(&record.id) {
            return;
        }
        if record.metadata.contains_key(AVATAR) {
            self.known.insert(record.id);
        } else if let Some(url) = picture_address(&record.metadata) {
            self.known.insert(record.id);
            self.open += 1;
            self.scope.group.add(vec![self.task(record, url)]);
        }
    }

    /// Returns whether no picture is waited for.
    pub(super) fn are_over(&self) -> bool {
        self.open == 0 || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Returns the moment at which the pictures are given up, if that matters.
    pub(super) fn due(&self) -> Option<Instant> {
        self.end.filter(|_| !self.are_over())
    }

    /// Sets the end of the wait when the checks have ended.
    pub(super) fn set_end(&mut self, checks_are_over: bool) {
        let now = Instant::now();
        if self.scope.run.stopped_at().is_some() {
            self.end = Some(now);
        } else {
            let last = self.scope.limit.at.min(now + LAST_PICTURES);
            self.end = checks_are_over.then(|| self.end.unwrap_or(last));
        }
    }

    fn task(&self, record: &ResultRecord, url: Url) -> (Task, Work) {
        let (context, run, sender) =
            (Arc::clone(self.scope.context), Arc::clone(self.scope.run), self.scope.sender.clone());
        let (query, ceiling) = (self.query.normal().into(), self.scope.limit.at);
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
        let task = Task {
            place: 0,
            kind: Kind::Picture,
            module: None,
            sources: vec![vec![host]],
            question: None,
            pace: Pace::default(),
            expected: Duration::ZERO,
        };
        (task, Box::new(work))
    }

    /// Notes that a picture was fetched or is given up.
    pub(super) fn end(&mut self) {
        self.open -= 1;
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
