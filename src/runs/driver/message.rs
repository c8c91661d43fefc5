//! [`Message`]: the reasons for which the thread that drives a run wakes up.

use super::recorder::Answer;
use crate::modules::outcome::Report;
use crate::runs::pictures::avatar::Avatar;

/// A reason for the driver to wake up.
pub(super) enum Message {
    /// The check with that place has ended.
    Ended { place: usize, answer: Answer },
    /// The check with that place is not made.
    NotMade { place: usize, report: Report },
    /// A picture was fetched, or is given up.
    Picture { result: u32, avatar: Option<Avatar> },
    /// A host with an open circuit is tried.
    Trial,
    /// The run was stopped.
    Stop,
}
