//! Compiled rules, which test conditions on responses.
//!
//! | file | holds |
//! |---|---|
//! | [`matcher`] | a conjunction of conditions on one response |
//! | [`json`], [`css`] | conditions on JSON values and on HTML elements |
//! | [`implication`] | the conditions of a rule, and the decision whether one rule implies another |

pub(crate) mod css;
mod head;
pub(crate) mod implication;
pub(crate) mod json;
pub(crate) mod matcher;
mod shown;
