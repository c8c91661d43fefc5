//! [`Scope`]: what the parts of a driver share, and [`Message`]: what wakes its thread.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use super::recorder::Answer;
use crate::runs::checking::TimeLimit;
use crate::runs::context::RunContext;
use crate::runs::live::LiveRun;
use crate::runs::pictures::avatar::Avatar;
use crate::runs::scheduler::Group;

/// A reason for the driver to wake up.
pub(super) enum Message {
    /// The check with that place has ended, or is not made.
    Ended { place: usize, answer: Answer },
    /// A picture was fetched, or is given up.
    Picture { result: u32, avatar: Option<Avatar> },
    /// A host with an open circuit is tried, or the run was stopped.
    Other,
}

/// What the parts of a driver share.
#[derive(Clone)]
pub(super) struct Scope<'a> {
    pub(super) context: &'a Arc<RunContext>,
    pub(super) run: &'a Arc<LiveRun>,
    pub(super) limit: TimeLimit,
    pub(super) sender: Sender<Message>,
    pub(super) group: Arc<Group>,
}
