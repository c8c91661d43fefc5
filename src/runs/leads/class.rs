//! [`Class`]: how sure a link is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::words::words;

words! {
    /// How sure it is that a link holds: `verified` (the platform itself has checked it, or both ends point at each
    /// other) or `stated` (the profile says so).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = LeadClass)]
    pub enum Class {
        /// The platform has checked the link, or both ends point at each other.
        Verified = "verified",
        /// The profile says so.
        Stated = "stated",
    }
}
