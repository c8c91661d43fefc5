//! The pages of batches: create, list, follow, stop, results.
//!
//! | file | holds |
//! |---|---|
//! | [`form`] | the form of a new batch |
//! | [`list`] | all batches, with the form |
//! | [`create`] | checks the list of a new batch and starts it |
//! | [`page`](mod@page) | a batch and its searches |
//! | [`matrix`] | the queries of a batch by platforms |
//! | [`export`] | the results of a batch as a file |

pub(in crate::web) mod create;
pub(in crate::web) mod export;
mod form;
pub(in crate::web) mod list;
pub(in crate::web) mod matrix;
pub(in crate::web) mod page;
