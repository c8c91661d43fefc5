//! DOING it: runs, their events, their threads.
//!
//! | file | holds |
//! |---|---|
//! | [`run`] | status, progress, coverage, results: the state of one search |
//! | [`journal`] | what this room asks of storage |

pub mod journal;
pub mod run;
