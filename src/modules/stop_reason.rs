//! [`StopReason`]: the reason why a check sends no further probes.

use super::outcome::OpenCircuit;
use super::probe::ProbeError;
use super::template::FillError;
use super::terms::Denial;

/// The reason why the sequence of probes ended early.
#[derive(Debug)]
pub(super) enum StopReason {
    /// The answer is a barrier, so further requests are useless.
    Barrier,
    /// The host must not be contacted now.
    Denied(Denial),
    /// The next request lacks a value.
    Unfilled(FillError),
    /// The request got no usable answer.
    Unanswered(ProbeError),
}

impl StopReason {
    /// Returns the open circuit of the host that was not contacted, if that is the reason.
    pub(super) fn circuit(&self) -> Option<OpenCircuit> {
        match self {
            Self::Denied(denial) => denial.circuit(),
            _ => None,
        }
    }
}
