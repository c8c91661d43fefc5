//! The pages for watches.
//!
//! | file | holds |
//! |---|---|
//! | [`list`] | the list of watches, and the creation of one |
//! | [`form`] | the form of a new watch |
//! | [`page`](mod@page) | one watch: facts, changes and runs |
//! | [`row`] | a watch as a row of a table |
//! | [`change`] | pauses, resumes, runs and deletes a watch |

pub(in crate::web) mod change;
mod form;
pub(in crate::web) mod list;
pub(in crate::web) mod page;
mod row;
