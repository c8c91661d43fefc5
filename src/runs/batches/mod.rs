//! Batches: many searches that are accepted together. Each is an ordinary run, which is charged when it starts.
//!
//! A process starts a run of a batch only if it has a free driver and no other run waits for one. The accounts with
//! batches take turns. A row of a batch starts one run, even if several processes try or one of them is killed: the
//! row changes its state in the transaction that charges and creates the run.
//!
//! | file | holds |
//! |---|---|
//! | [`table`] | searches as CSV |
//! | [`draft`] | a list of searches that is checked before it becomes a batch |
//! | [`matrix`] | queries by platforms |
//! | [`service`] | the use cases of the owners of batches, and the start of the rows whose turn has come |

pub mod draft;
pub mod matrix;
pub mod service;
pub mod table;
