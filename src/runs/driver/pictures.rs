//! [`PictureFetcher`]: fetches the profile pictures of a run, while its checks run and shortly after.
//!
//! A picture that cannot be fetched changes nothing: neither an outcome, nor the coverage, nor the circuit of a host. A
//! run that is resumed fetches the pictures that it does not have.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use log::log;
use url::Url;

use super::check_starter::requester;
use super::message::Message;
use crate::model::drive::{Delta, Write};
use crate::model::run::ResultRecord;
use crate::modules::probe::Trace;
use crate::modules::query::Query;
use crate::runs::adaptive_limit::Feedback;
use crate::runs::context::RunContext;
use crate::runs::health::circuits::OnOpenCircuit;
use crate::runs::host_limiter::{Admission, Permit, Waker};
use crate::runs::live::LiveRun;
use crate::runs::pace::Pace;
use crate::runs::pictures::avatar::{AVATAR, Avatar, picture_address};
use crate::runs::pictures::fetch::fetch;
use crate::runs::time_limit::TimeLimit;

/// The most pictures of a run.
const MAX_PICTURES: usize = 100;
/// The most pictures of a run that are fetched at once.
const MAX_AT_ONCE: usize = 4;
/// The time for one picture.
const PICTURE_TIME: Duration = Duration::from_secs(5);
/// The time for which a run waits for its pictures after its last check.
const LAST_PICTURES: Duration = Duration::from_secs(3);

/// The pictures that the results of a run name, and those that are being fetched.
pub(super) struct PictureFetcher<'a> {
    context: &'a Arc<RunContext>,
    run: &'a Arc<LiveRun>,
    query: Arc<Query>,
    limit: TimeLimit,
    sender: Sender<Message>,
    most: usize,
    waiting: VecDeque<WaitingPicture>,
    /// The number of pictures that are being fetched.
    running: usize,
    /// The results whose pictures were fetched or tried.
    known: HashSet<u32>,
    /// The moment at which the pictures that are missing are given up. It is known when the checks have ended.
    end: Option<Instant>,
}

/// A picture that is not fetched yet.
struct WaitingPicture {
    result: u32,
    url: Url,
    /// The module that has found the result.
    module: Arc<str>,
    /// The waker, if the host was busy.
    waker: Option<Waker>,
}

impl<'a> PictureFetcher<'a> {
    /// Creates a fetcher of the pictures that the results of a run lack.
    pub(super) fn new(
        context: &'a Arc<RunContext>,
        run: &'a Arc<LiveRun>,
        limit: TimeLimit,
        query: Arc<Query>,
        sender: Sender<Message>,
    ) -> Self {
        let most = if run.opening().options.avatars { MAX_PICTURES } else { 0 };
        let (waiting, known) = (VecDeque::new(), HashSet::new());
        let mut pictures =
            Self { context, run, query, limit, sender, most, waiting, running: 0, known, end: None };
        let (_, results, _) = run.snapshot();
        results.iter().for_each(|result| pictures.add_of(&result.record));
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
            let (result, module) = (record.id, record.source.as_str().into());
            self.waiting.push_back(WaitingPicture { result, url, module, waker: None });
        }
    }

    /// Returns whether no picture is waited for.
    pub(super) fn are_over(&self) -> bool {
        self.waiting.is_empty() && self.running == 0 || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Returns the moment at which the pictures are given up, if that matters.
    pub(super) fn due(&self) -> Option<Instant> {
        self.end.filter(|_| !self.are_over())
    }

    /// Starts to fetch as many pictures as the run and the hosts allow.
    pub(super) fn fetch(&mut self, checks_are_over: bool) {
        let now = Instant::now();
        if self.run.signals.stopped_at().is_some() {
            self.waiting.clear();
            self.end = Some(now);
            return;
        }
        let last = self.limit.at.min(now + LAST_PICTURES);
        self.end = checks_are_over.then(|| self.end.unwrap_or(last));
        if now >= self.limit.at {
            self.waiting.clear();
        }
        for mut picture in std::mem::take(&mut self.waiting) {
            if self.running >= MAX_AT_ONCE {
                self.waiting.push_back(picture);
                continue;
            }
            let waker = picture.waker.take().unwrap_or_else(|| self.waker());
            match self.admit(&picture, &waker) {
                Admission::Granted(permit) => self.start(picture, permit),
                Admission::HostBusy => {
                    self.waiting.push_back(WaitingPicture { waker: Some(waker), ..picture });
                }
                Admission::NotBefore(_) | Admission::DailyLimit | Admission::Denied(_) => {}
            }
        }
    }

    fn waker(&self) -> Waker {
        let sender = self.sender.clone();
        Arc::new(move || drop(sender.send(Message::PictureTurn)))
    }

    fn admit(&self, picture: &WaitingPicture, waker: &Waker) -> Admission {
        let host = picture.url.host_str().unwrap_or_default().to_owned();
        let limiter = &self.context.host_limiter;
        limiter.admit(
            &picture.module,
            Pace::default(),
            vec![vec![host]],
            OnOpenCircuit::Skip,
            requester(self.run, waker),
            Instant::now(),
        )
    }

    fn start(&mut self, picture: WaitingPicture, permit: Permit) {
        self.running += 1;
        let (context, run, sender) = (Arc::clone(self.context), Arc::clone(self.run), self.sender.clone());
        let (query, ceiling) = (self.query.normal().into(), self.limit.at);
        self.context.pool.execute(move || {
            if run.signals.stopped().is_some() {
                return;
            }
            let WaitingPicture { result, url, module, .. } = picture;
            let trace = Trace { module, probe: 0, query, control: false };
            let deadline = ceiling.min(Instant::now() + PICTURE_TIME);
            let picture = fetch(&*context.checker.prober, url, trace, deadline);
            permit.end(Feedback::Neutral);
            let avatar = picture.and_then(|picture| {
                keep(&context, &run, result, &picture.thumbnail).then(|| Avatar::from(&picture))
            });
            // The run may have ended without the picture.
            let _ = sender.send(Message::Picture { result, avatar });
        });
    }

    /// Notes that a picture was fetched or is given up.
    pub(super) fn end(&mut self) {
        self.running -= 1;
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
