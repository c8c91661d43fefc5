//! [`Message`]: the reasons for which the thread that drives a run wakes up.

use super::recorder::Answer;
use crate::runs::pictures::avatar::Avatar;

/// A reason for the driver to wake up.
pub(super) enum Message {
    /// The check of the module with that place in that round has ended.
    Ended { round: usize, place: usize, answer: Answer },
    /// A module's turn at a host has come.
    Turn { round: usize, place: usize },
    /// A picture was fetched, or is given up.
    Picture { result: u32, avatar: Option<Avatar> },
    /// A host that a picture waits for is free.
    PictureTurn,
    /// The run was stopped.
    Stop,
}
