//! Properties of a module that are known without a request to its site.

use std::collections::BTreeSet;

use serde::Serialize;

use super::confidence::Strength;
use super::module::Module;

/// The weakest evidence on which a module's hits can be based, from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Hits can rest on a status code or the address of a redirect.
    Status,
    /// Hits can rest on one marker: a text, an element or a member of JSON.
    OneMarker,
    /// There is a marker for the hit and another marker for the miss.
    BothMarkers,
    /// The page repeats the queried name.
    PageEcho,
    /// The API's answer repeats the queried name.
    ApiEcho,
}

impl Evidence {
    /// Every kind of evidence, from strong to weak.
    pub const ALL: [Self; 5] =
        [Self::ApiEcho, Self::PageEcho, Self::BothMarkers, Self::OneMarker, Self::Status];

    /// Returns the name that the API uses, such as `api_echo`.
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
    /// Returns the weakest evidence on which the module's hits can be based.
    pub fn evidence(&self) -> Evidence {
        let strengths = self.entry().hit.iter().map(|rule| Strength::of(rule, &self.entry().miss));
        // A module without a rule for hits is rejected.
        strengths.min().unwrap_or(Strength::Status).into()
    }

    /// Returns whether the module has both a rule for a hit and a rule for a miss.
    pub fn has_both_rules(&self) -> bool {
        !self.entry().hit.is_empty() && !self.entry().miss.is_empty()
    }

    /// Returns the names of the metadata that the module reads, over all its results.
    pub fn metadata_names(&self) -> BTreeSet<&str> {
        let entry = self.entry();
        let lists = entry.results.iter().flat_map(|list| list.metadata.keys());
        let all = entry.result.iter().flat_map(|main| main.metadata.keys()).chain(lists);
        all.map(String::as_str).collect()
    }
}
