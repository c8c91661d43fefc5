//! What can be told of a module without asking it.

use std::collections::BTreeSet;

use serde::Serialize;

use super::confidence::Strength;
use super::module::Module;

/// What a module's hits rest on at the least: of several rules the weakest counts. From weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A status code, or where a redirect leads.
    Status,
    /// One marker: a text, an element, a member of JSON.
    OneMarker,
    /// A marker for the hit, and another one for the miss.
    BothMarkers,
    /// A page that repeats the name.
    PageEcho,
    /// An API that repeats the name.
    ApiEcho,
}

impl Evidence {
    /// All of them, from strong to weak.
    pub const ALL: [Self; 5] =
        [Self::ApiEcho, Self::PageEcho, Self::BothMarkers, Self::OneMarker, Self::Status];

    /// `api_echo`, `page_echo`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::OneMarker => "one_marker",
            Self::BothMarkers => "both_markers",
            Self::PageEcho => "page_echo",
            Self::ApiEcho => "api_echo",
        }
    }
}

impl From<Strength> for Evidence {
    fn from(strength: Strength) -> Self {
        match strength {
            Strength::Status => Self::Status,
            Strength::Marker | Strength::Member => Self::OneMarker,
            Strength::BothMarkers | Strength::BothMembers => Self::BothMarkers,
            Strength::EchoInText => Self::PageEcho,
            Strength::EchoInJson => Self::ApiEcho,
        }
    }
}

impl Module {
    /// What its hits rest on at the least.
    pub fn evidence(&self) -> Evidence {
        let strengths = self.hit.iter().map(|rule| Strength::of(rule, &self.miss));
        // A module without a rule for hits is refused.
        strengths.min().unwrap_or(Strength::Status).into()
    }

    /// Whether it knows both a hit and a miss when it sees one.
    pub fn has_both_rules(&self) -> bool {
        !self.hit.is_empty() && !self.miss.is_empty()
    }

    /// Names of the metadata that it reads, over all its results.
    pub fn metadata_names(&self) -> BTreeSet<&str> {
        let entry = self.entry();
        let lists = entry.results.iter().flat_map(|list| list.metadata.keys());
        let all = entry.result.iter().flat_map(|main| main.metadata.keys()).chain(lists);
        all.map(String::as_str).collect()
    }
}
