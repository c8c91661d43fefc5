//! Which source a check read, whether it read all of it, and how many requests it sent.

use super::ActiveCheck;
use crate::modules::module::Module;
use crate::modules::probe::MAX_BODY_BYTES;
use crate::modules::probe_answer::AnswerWithBarrier;
use crate::modules::query::Query;

impl<'c> ActiveCheck<'c> {
    pub(in crate::modules) fn module(&self) -> &'c Module {
        self.module
    }

    pub(in crate::modules) fn query(&self) -> &'c Query {
        self.query
    }

    /// Returns the number of the fallback that answered last, or 0 if it was the first source.
    pub(in crate::modules) fn fallback(&self) -> usize {
        let last = self.answers.iter().rposition(Option::is_some).unwrap_or(0);
        self.module.plans.iter().take(last + 1).filter(|plan| plan.fallback).count()
    }

    /// Returns the number of requests sent so far, retries included.
    pub(in crate::modules) fn requests(&self) -> u32 {
        self.sender.requests()
    }

    /// Returns whether a request of the check got no usable answer, or an answer is larger than what is read.
    pub(in crate::modules) fn is_cut(&self) -> bool {
        let is_too_large = |(probe, answer): (usize, &AnswerWithBarrier)| {
            // Of other answers, only the part that is needed was requested.
            let is_read_whole = self.module.plans[probe].body_limit >= MAX_BODY_BYTES;
            is_read_whole && answer.answer.response().truncated
        };
        let mut answers =
            self.answers.iter().enumerate().filter_map(|(probe, answer)| Some((probe, answer.as_ref()?)));
        self.stop_reason.is_some() || answers.any(is_too_large)
    }
}
