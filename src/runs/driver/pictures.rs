//! Fetching the profile pictures of a run, while its checks run and shortly after.
//!
//! A picture that cannot be fetched changes nothing: neither an outcome, nor the coverage, nor the circuit of a host. A
//! run that is resumed fetches the pictures that it does not have.

use std::sync::Arc;
use std::time::{Duration, Instant};

use log::log;

use super::{Driver, Message};
use crate::modules::probe::Trace;
use crate::runs::adaptive_limit::Feedback;
use crate::runs::context::RunContext;
use crate::runs::health::circuits::OnOpenCircuit;
use crate::runs::host_limiter::{Admission, Permit, Waker};
use crate::runs::journal::Write;
use crate::runs::live::LiveRun;
use crate::runs::pace::Pace;
use crate::runs::pictures::avatar::{AVATAR, Avatar};
use crate::runs::pictures::fetch::fetch;
use crate::runs::pictures::queue::WaitingPicture;

/// The most pictures of a run that are fetched at once.
const MAX_AT_ONCE: usize = 4;
/// The time for one picture.
const PICTURE_TIME: Duration = Duration::from_secs(5);
/// The time for which a run waits for its pictures after its last check.
const LAST_PICTURES: Duration = Duration::from_secs(3);

impl Driver<'_> {
    /// Starts to fetch as many pictures as the run and the hosts allow.
    pub(super) fn fetch_pictures(&mut self) {
        if self.run.stopped_at().is_some() {
            self.pictures.waiting.clear();
            self.pictures.end = Some(Instant::now());
            return;
        }
        let last = self.limit.at.min(Instant::now() + LAST_PICTURES);
        self.pictures.end = self.has_no_checks().then(|| self.pictures.end.unwrap_or(last));
        if Instant::now() >= self.limit.at {
            self.pictures.waiting.clear();
        }
        for mut picture in std::mem::take(&mut self.pictures.waiting) {
            if self.pictures.running >= MAX_AT_ONCE {
                self.pictures.waiting.push_back(picture);
                continue;
            }
            let waker = picture.waker.take().unwrap_or_else(|| self.picture_waker());
            match self.admit_picture(&picture, &waker) {
                Admission::Granted(permit) => self.fetch_picture(picture, permit),
                Admission::HostBusy => {
                    self.pictures.waiting.push_back(WaitingPicture { waker: Some(waker), ..picture });
                }
                Admission::NotBefore(_) | Admission::DailyLimit | Admission::Denied(_) => {}
            }
        }
    }

    fn picture_waker(&self) -> Waker {
        let sender = self.sender.clone();
        Arc::new(move || drop(sender.send(Message::PictureTurn)))
    }

    fn admit_picture(&self, picture: &WaitingPicture, waker: &Waker) -> Admission {
        let host = picture.url.host_str().unwrap_or_default().to_owned();
        let limiter = &self.context.host_limiter;
        limiter.admit(
            &picture.module,
            Pace::default(),
            vec![vec![host]],
            OnOpenCircuit::Skip,
            self.requester(waker),
            Instant::now(),
        )
    }

    fn fetch_picture(&mut self, picture: WaitingPicture, permit: Permit) {
        self.pictures.running += 1;
        let (context, run, sender) = (Arc::clone(self.context), Arc::clone(self.run), self.sender.clone());
        let (query, ceiling) = (self.query.normal().into(), self.limit.at);
        self.context.pool.execute(move || {
            if run.stopped().is_some() {
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

    /// Adds a picture to its result.
    pub(super) fn take_picture(&mut self, result: u32, avatar: Option<Avatar>) {
        self.pictures.running -= 1;
        if let Some(avatar) = avatar {
            self.found.set_member(self.run, result, AVATAR, avatar.to_value());
        }
    }
}

/// Stores a thumbnail, before its result says that there is one. It is not worth a second try.
fn keep(context: &RunContext, run: &LiveRun, result: u32, thumbnail: &[u8]) -> bool {
    match context.journal.keep_thumbnail(run.id(), run.lease(), result, thumbnail) {
        Ok(Write::Done | Write::Stopped(_)) => true,
        Ok(Write::LeaseLost) => false,
        Err(error) => {
            log!(error.log_level(), "run {}: cannot store a thumbnail: {error}", run.id());
            false
        }
    }
}
