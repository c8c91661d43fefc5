//! WHAT a check is. Pure: no sockets, no SQL, no clock of its own.
//!
//! A **module** (an entry of the catalogue, data) applied to a **query** is a **check**. A check sends
//! one to three **probes** through a [`probe::Prober`], reads each answer with **matchers**, and ends in
//! an [`outcome::Outcome`]; a hit yields **findings** through **extractors**.
//!
//! | file | holds |
//! |---|---|
//! | [`definition`] | the rule language as serde types: the reference for catalogue authors |
//! | [`query`] | search types, validation, normal forms |
//! | [`probe`] | request, response, the `Prober` trait |
//! | [`outcome`] | how a check ended, with its evidence; findings |
//! | [`catalog`] | loading, validating, indexing entries |

pub mod catalog;
pub mod definition;
pub mod outcome;
pub mod probe;
pub mod query;
