//! The answers that a check has obtained: its own, and the feeds that all checks share.

use std::sync::Arc;

use super::answer::Answer;
use super::barrier::Barrier;
use super::feed::Feed;
use super::html::Selectors;
use super::probe::Response;

/// The answer to a probe, with the barrier of the global list that it matches, if any.
pub(super) struct AnswerWithBarrier {
    pub(super) answer: ProbeAnswer,
    pub(super) barrier: Option<Barrier>,
}

impl AnswerWithBarrier {
    pub(super) fn answer<'r>(&'r self, selectors: &'r Selectors) -> Answer<'r> {
        self.answer.answer(selectors).with_barrier(self.barrier)
    }
}

/// The answer to a probe, which is the check's own or shared by all checks.
pub(super) enum ProbeAnswer {
    Own(Response),
    Shared {
        feed: Arc<Feed>,
        /// Whether this check fetched the feed.
        is_fetched: bool,
    },
}

impl ProbeAnswer {
    pub(super) fn response(&self) -> &Response {
        match self {
            Self::Own(response) => response,
            Self::Shared { feed, .. } => &feed.response,
        }
    }

    pub(super) fn answer<'r>(&'r self, selectors: &'r Selectors) -> Answer<'r> {
        match self {
            Self::Own(response) => Answer::new(response, selectors),
            Self::Shared { feed, .. } => Answer::shared(&feed.response, &feed.parsed, selectors),
        }
    }

    /// Returns the response, if no other check shares it.
    pub(super) fn own(&self) -> Option<&Response> {
        match self {
            Self::Own(response) => Some(response),
            Self::Shared { .. } => None,
        }
    }

    /// Returns the response that this check itself received.
    pub(super) fn received(&self) -> Option<&Response> {
        match self {
            Self::Shared { is_fetched: false, .. } => None,
            _ => Some(self.response()),
        }
    }
}
