//! [`Pictures`]: the pictures of a run that are not fetched yet.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use url::Url;

use super::avatar::{AVATAR, picture_address};
use crate::runs::host_limiter::Waker;
use crate::runs::journal::Batch;
use crate::runs::live::LiveRun;
use crate::runs::run::ResultRecord;

/// The most pictures of a run.
const MAX_PICTURES: usize = 100;

/// The pictures of a run that are not fetched yet.
pub(in crate::runs) struct Pictures {
    pub(in crate::runs) waiting: VecDeque<WaitingPicture>,
    /// The number of pictures that are being fetched.
    pub(in crate::runs) running: usize,
    /// The results whose pictures were fetched or tried.
    known: HashSet<u32>,
    most: usize,
    /// The moment at which the pictures that are missing are given up. It is known when the checks have ended.
    pub(in crate::runs) end: Option<Instant>,
}

/// A picture that is not fetched yet.
pub(in crate::runs) struct WaitingPicture {
    pub(in crate::runs) result: u32,
    pub(in crate::runs) url: Url,
    /// The module that has found the result.
    pub(in crate::runs) module: Arc<str>,
    /// The waker, if the host was busy.
    pub(in crate::runs) waker: Option<Waker>,
}

impl Pictures {
    /// Returns the pictures that the results of a run lack.
    pub(in crate::runs) fn of(run: &LiveRun) -> Self {
        let most = if run.options().avatars { MAX_PICTURES } else { 0 };
        let mut pictures =
            Self { waiting: VecDeque::new(), running: 0, known: HashSet::new(), most, end: None };
        let (_, results, _) = run.snapshot();
        for result in &results {
            pictures.add(&result.record);
        }
        pictures
    }

    /// Adds the pictures of results that have just been stored. A later source may name a picture that the first one
    /// does not.
    pub(in crate::runs) fn take(&mut self, stored: &Batch) {
        stored.added.iter().chain(&stored.changed).for_each(|record| self.add(record));
    }

    fn add(&mut self, record: &ResultRecord) {
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
    pub(in crate::runs) fn are_over(&self) -> bool {
        self.waiting.is_empty() && self.running == 0 || self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Returns the moment at which the pictures are given up, if that matters.
    pub(in crate::runs) fn end(&self) -> Option<Instant> {
        self.end.filter(|_| !self.are_over())
    }
}
