//! The confidence of a hit. It is computed from the evidence and never written in a catalogue entry.

use std::collections::BTreeSet;

use super::definition::{Basis, Matcher};
use super::module::Module;
use super::outcome::ControlVerdict;

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

impl Strength {
    /// Returns the strength of a hit of the matcher `hit` in a module with the miss rules `misses`.
    pub(crate) fn of(hit: &Matcher, misses: &[Matcher]) -> Self {
        let is_absence = hit.rests_on(&[Basis::Absence]);
        let is_distinct = |by: &[Basis]| is_absence || misses.iter().any(|miss| miss.rests_on(by));
        let echoes = |is_json| {
            hit.conditions().iter().any(|it| it.echoes_query && (it.basis == Basis::Json) == is_json)
        };
        match () {
            () if echoes(true) => Self::EchoInJson,
            () if echoes(false) => Self::EchoInText,
            () if hit.rests_on(&[Basis::Json]) => {
                let by = [Basis::Json, Basis::Header, Basis::Marker, Basis::Absence];
                if is_distinct(&by) { Self::BothMembers } else { Self::Member }
            }
            () if hit.rests_on(&[Basis::Header, Basis::Marker]) => {
                if is_distinct(&[Basis::Header, Basis::Marker]) { Self::BothMarkers } else { Self::Marker }
            }
            // A condition such as "the page does not say that nothing was found" is at most a marker of the miss.
            () if is_absence => Self::Marker,
            () => Self::Status,
        }
    }

    /// Returns the word for people who list modules.
    pub fn as_str(self) -> &'static str {
        self.word_and_confidence().0
    }

    /// Returns the word, and the confidence of a hit without a control check.
    fn word_and_confidence(self) -> (&'static str, f64) {
        match self {
            Self::Status => ("status", 0.50),
            Self::Marker => ("one_marker", 0.66),
            Self::Member => ("one_marker", 0.72),
            Self::BothMarkers => ("both_markers", 0.78),
            Self::BothMembers => ("both_markers", 0.82),
            Self::EchoInText => ("page_echo", 0.86),
            Self::EchoInJson => ("api_echo", 0.90),
        }
    }
}

/// Returns the confidence of a hit, from 0.0 to 1.0 with two decimals. `control` is the verdict of its control check, if one
/// was made.
pub(crate) fn confidence(strength: Strength, control: Option<ControlVerdict>) -> f64 {
    let shift = match control {
        None => 0.0,
        Some(ControlVerdict::Passed) => 0.08,
        Some(_) => -0.15,
    };
    ((strength.word_and_confidence().1 + shift) * 100.0).round() / 100.0
}

impl Module {
    /// Returns the weakest evidence on which the module's hits can be based.
    pub fn evidence(&self) -> Strength {
        let strengths = self.entry().hit.iter().map(|rule| Strength::of(rule, &self.entry().miss));
        // A module without a rule for hits is rejected.
        strengths.min().unwrap_or(Strength::Status)
    }

    /// Returns the names of the metadata that the module reads, over all its results.
    pub fn metadata_names(&self) -> BTreeSet<&str> {
        let entry = self.entry();
        let lists = entry.results.iter().flat_map(|list| list.metadata.keys());
        let all = entry.result.iter().flat_map(|main| main.metadata.keys()).chain(lists);
        all.map(String::as_str).collect()
    }
}
