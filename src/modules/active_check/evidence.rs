//! The evidence of a check: which source it read, whether it read all of it, and how many requests it sent.

use super::ActiveCheck;
use crate::modules::extract::Answers;
use crate::modules::module::Module;
use crate::modules::outcome::{Evidence, Outcome, Report};
use crate::modules::probe::{MAX_BODY_BYTES, ProbeError};
use crate::modules::probe_answer::AnswerWithBarrier;
use crate::modules::stop_reason::StopReason;

impl<'c> ActiveCheck<'c> {
    pub(in crate::modules) fn module(&self) -> &'c Module {
        self.module
    }

    /// Returns the number of the fallback that answered last, or 0 if it was the first source.
    pub(in crate::modules) fn fallback(&self) -> usize {
        let last = self.answers.iter().rposition(Option::is_some).unwrap_or(0);
        self.module.entry().probes.iter().take(last + 1).filter(|plan| plan.fallback).count()
    }

    /// Returns the number of requests sent so far, retries included.
    pub(in crate::modules) fn requests(&self) -> u32 {
        self.sender.requests()
    }

    /// Returns whether a request of the check got no usable answer, or an answer is larger than what is read.
    pub(in crate::modules) fn is_cut(&self) -> bool {
        let is_too_large = |(probe, answer): (usize, &AnswerWithBarrier)| {
            // Of other answers, only the part that is needed was requested.
            let is_read_whole = self.module.body_limit(probe) >= MAX_BODY_BYTES;
            is_read_whole && answer.answer.response().truncated
        };
        let mut answers =
            self.answers.iter().enumerate().filter_map(|(probe, answer)| Some((probe, answer.as_ref()?)));
        self.stop_reason.is_some() || answers.any(is_too_large)
    }

    /// Returns the evidence of the verdict, without the rule.
    pub(in crate::modules) fn evidence(&self, answers: &Answers<'_>) -> Evidence {
        match &self.earlier_barrier {
            Some(earlier_barrier) if self.failure(answers).is_some() => {
                self.evidence_of(&self.answers[..earlier_barrier.last.map_or(0, |last| last + 1)])
            }
            _ => self.evidence_of(&self.answers),
        }
    }

    /// Returns the report of a check whose answers could not be read.
    pub(in crate::modules) fn unread(&self, error: &ProbeError) -> Report {
        Report {
            outcome: Outcome::Skipped,
            reason: Some(error.reason()),
            evidence: self.evidence_of(&self.answers),
            findings: Vec::new(),
            pauses: self.pauses.clone(),
        }
    }

    fn evidence_of(&self, answers: &[Option<AnswerWithBarrier>]) -> Evidence {
        let last = answers.iter().flatten().next_back().map(|it| it.answer.response());
        let received = || self.answers.iter().flatten().filter_map(|it| it.answer.received());
        Evidence {
            http_status: last.map(|response| response.status),
            final_host: last.and_then(|response| response.final_url.host_str()).map(str::to_owned),
            bytes_read: received().map(|response| response.body.len()).sum(),
            requests: self.sender.requests(),
            answered_in: self.answered_in,
            contacts: self.contacts.all().to_vec(),
            circuit: self.stop_reason.as_ref().and_then(StopReason::circuit),
            ..Evidence::default()
        }
    }
}
