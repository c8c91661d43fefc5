//! Compiled rules: what must hold on an answer.
//!
//! | file | holds |
//! |---|---|
//! | [`matcher`] | a conjunction on one answer |
//! | [`json`], [`css`] | conditions on JSON and on elements |
//! | [`contradiction`] | rules that no answer can fulfil |
//! | [`implication`] | whether one rule holds wherever another one does |

pub(crate) mod contradiction;
pub(crate) mod css;
mod head;
pub(crate) mod implication;
pub(crate) mod json;
pub(crate) mod matcher;
mod shown;
