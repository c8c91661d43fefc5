//! The rules that are applied to an answer: what an entry writes, and whether it holds.

mod css;
mod json;
mod matcher;

pub use css::{CssCondition, CssRule};
pub(crate) use json::as_text;
pub use json::{JsonRule, JsonType};
pub(crate) use matcher::ConditionKinds;
pub use matcher::{Matcher, StatusClass, StatusRule};
