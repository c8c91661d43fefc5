//! The shapes of answers: section 2 of the contract, and the additive fields that the decisions name.
//!
//! They are what is serialized and what `/openapi.json` shows: a field's doc is its description there, for
//! whoever uses the API; `#[schema]` adds bounds and an example. A run stands in
//! [`report::body`](crate::report::body), since files of it have the same shape.
//!
//! | file | holds |
//! |---|---|
//! | [`run`] | answers to searches, lists of runs, module outcomes |
//! | [`account`] | credits, the self-check |
//! | [`service`] | health, capabilities, the catalogue |
//! | [`error`] | the two bodies of an error |

pub mod account;
pub mod error;
pub mod run;
pub mod service;
