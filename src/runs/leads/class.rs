//! [`Class`]: how sure a link is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How sure it is that a link holds: `verified` (the platform itself has checked it, or both ends point at each other)
/// or `stated` (the profile says so).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = LeadClass)]
pub enum Class {
    /// The platform has checked the link, or both ends point at each other.
    Verified,
    /// The profile says so.
    Stated,
}

impl Class {
    /// Returns the class with that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Verified, Self::Stated].into_iter().find(|class| class.as_str() == name)
    }

    /// Returns `verified` or `stated`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Stated => "stated",
        }
    }
}
