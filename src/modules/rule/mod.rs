//! Whether rules hold for an answer.

mod css;
pub(crate) mod json;
mod matcher;

pub(crate) use matcher::ConditionKinds;
