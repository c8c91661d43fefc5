//! Watches: searches that are repeated, and what changes between their runs.
//!
//! A watch starts one run in each interval and compares it with what its modules concluded last. The runs are ordinary
//! ones, charged as searches.
//!
//! | file | holds |
//! |---|---|
//! | [`baseline`] | the last conclusion of each module, with which a run is compared |
//! | [`keeper`] | starts runs that are due or asked for, compares runs that have ended |
//!
//! # One run in an interval
//! A run is started by the transaction that moves `next_at` of its watch to the next fixed moment, and only if `next_at`
//! has passed by the clock of the database. Two instances whose clocks differ therefore start one run, and a pause of the
//! whole service leads to one run and not to those that were missed. No run is started while the last one has not ended.

pub mod baseline;
pub mod keeper;
