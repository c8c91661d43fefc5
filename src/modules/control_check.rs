//! [`ControlCheck`]: a control check that was made, as part of the evidence of a check.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The direction of a control check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A made-up name, which must be a miss, confirms hits.
    MadeUp,
    /// A known account, which must be a hit, confirms bare misses.
    Known,
}

/// The verdict of a control check on a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlVerdict {
    /// The made-up name was a miss, or the known account a hit, as it should be.
    Passed,
    /// The made-up name was a hit, or the known account a miss, so the module is unreliable.
    Failed,
    /// The control check came to no conclusion, or there is no name for it.
    Unclear,
    /// The control check came to no conclusion before its deadline.
    OutOfTime,
    /// The control check was not made because of a fault of this machine or the rate of the module.
    NotAsked,
}

/// The answer of a site to a control check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ControlAnswer {
    /// The last HTTP status that the site sent; null where it sent none.
    #[schema(required, minimum = 100, maximum = 999, examples(200))]
    pub http_status: Option<u16>,
    /// The rule that held; null where none did.
    #[schema(required, examples("hit[0]: status 200"))]
    pub matcher: Option<String>,
}

/// A control check that was made for a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlCheck {
    /// The direction.
    pub direction: Direction,
    /// The verdict.
    pub verdict: ControlVerdict,
    /// The answer of the site.
    pub answer: ControlAnswer,
}
