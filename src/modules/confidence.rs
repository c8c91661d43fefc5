//! The confidence of a hit. It is computed from the evidence and never written in a catalogue entry.

use std::collections::BTreeSet;

use serde::Serialize;

use super::definition::{ConditionKinds, Matcher};
use super::module::Module;
use crate::base::words::words;

/// The strength of the evidence for a hit, from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// The hit rests only on a status code.
    Status,
    /// The hit rests on one marker on the page.
    Marker,
    /// The hit rests on one member of a machine-readable answer.
    Member,
    /// There is a marker for the hit and another marker for the miss.
    BothMarkers,
    /// There is a member for the hit, and another member or marker for the miss.
    BothMembers,
    /// The page repeats the queried name.
    EchoInText,
    /// The API's answer repeats the queried name.
    EchoInJson,
}

/// The result of the control check of a hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// No control check was made.
    NotMade,
    /// The made-up name was a miss.
    Passed,
    /// The control check came to no conclusion.
    Shaky,
}

impl Strength {
    /// Returns the strength of a hit of the matcher `hit` in a module with the miss rules `misses`.
    pub(crate) fn of(hit: &Matcher, misses: &[Matcher]) -> Self {
        let condition_kinds = hit.condition_kinds();
        let miss =
            |fits: fn(&ConditionKinds) -> bool| misses.iter().any(|rule| fits(&rule.condition_kinds()));
        if condition_kinds.echo_in_json {
            Self::EchoInJson
        } else if condition_kinds.echo_in_text {
            Self::EchoInText
        } else if condition_kinds.json {
            if condition_kinds.absence || miss(|it| it.json || it.marker || it.absence) {
                Self::BothMembers
            } else {
                Self::Member
            }
        } else if condition_kinds.marker {
            if condition_kinds.absence || miss(|it| it.marker) { Self::BothMarkers } else { Self::Marker }
        } else if condition_kinds.absence {
            // A condition such as "the page does not say that nothing was found" is at most a marker of the miss.
            Self::Marker
        } else {
            Self::Status
        }
    }

    fn base(self) -> f64 {
        match self {
            Self::Status => 0.50,
            Self::Marker => 0.66,
            Self::Member => 0.72,
            Self::BothMarkers => 0.78,
            Self::BothMembers => 0.82,
            Self::EchoInText => 0.86,
            Self::EchoInJson => 0.90,
        }
    }
}

/// Returns the confidence of a hit, from 0.0 to 1.0 with two decimals.
pub(crate) fn confidence(strength: Strength, control: Control) -> f64 {
    let shift = match control {
        Control::NotMade => 0.0,
        Control::Passed => 0.08,
        Control::Shaky => -0.15,
    };
    ((strength.base() + shift) * 100.0).round() / 100.0
}

words! {
    /// The weakest evidence on which a module's hits can be based, from strong to weak.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Evidence {
        /// The API's answer repeats the queried name.
        ApiEcho = "api_echo",
        /// The page repeats the queried name.
        PageEcho = "page_echo",
        /// There is a marker for the hit and another marker for the miss.
        BothMarkers = "both_markers",
        /// Hits can rest on one marker: a text, an element or a member of JSON.
        OneMarker = "one_marker",
        /// Hits can rest on a status code or the address of a redirect.
        Status = "status",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_evidence_gives_more_confidence() {
        let order = [
            Strength::Status,
            Strength::Marker,
            Strength::Member,
            Strength::BothMarkers,
            Strength::BothMembers,
            Strength::EchoInText,
            Strength::EchoInJson,
        ];
        for pair in order.windows(2) {
            for control in [Control::NotMade, Control::Passed, Control::Shaky] {
                assert!(confidence(pair[0], control) < confidence(pair[1], control));
            }
        }
        for strength in order {
            let [shaky, bare, passed] = [Control::Shaky, Control::NotMade, Control::Passed]
                .map(|control| confidence(strength, control));
            assert!(0.0 < shaky && shaky < bare && bare < passed && passed < 1.0);
            assert!(format!("{passed}").len() <= 4, "two decimals");
        }
    }
}
