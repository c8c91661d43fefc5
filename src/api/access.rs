//! Access rules of operations, and the rate limits that their calls count under.

use crate::model::quota::Policy;

/// The access rule of a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Open to everyone, not counted.
    Public,
    /// Needs a key of a plan with API access, and counts.
    Key(Counts),
}

/// The rate limits that a call counts under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// One limit.
    As(Policy),
    /// The search limit, and the stream limit too if the body asks for a stream.
    SearchOrStream,
    /// The search limit for a call of a tool that starts a search, and the read limit for other messages of MCP.
    Message,
}

/// Needs a key, and counts as a read.
pub const READ: Access = Access::Key(Counts::As(Policy::Read));
/// Needs a key, and counts as a stream.
pub const STREAM: Access = Access::Key(Counts::As(Policy::Stream));
/// Needs a key, and counts as a search.
pub const SEARCH: Access = Access::Key(Counts::As(Policy::Search));
/// Needs a key, and counts as a search, and as a stream too if the body asks for one.
pub const SEARCH_OR_STREAM: Access = Access::Key(Counts::SearchOrStream);
