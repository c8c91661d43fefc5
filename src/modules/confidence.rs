//! How sure a hit is: computed from its evidence, never written in the catalogue.

use super::rule::matcher::{Clues, Matcher};

/// What a hit rests on, from weak to strong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// A status code alone.
    Status,
    /// One marker on the page.
    Marker,
    /// One member of a machine-readable answer.
    Member,
    /// A marker for the hit, and another one for the miss.
    BothMarkers,
    /// The same with members of a machine-readable answer.
    BothMembers,
    /// A page that repeats the name.
    EchoInText,
    /// An API that repeats the name.
    EchoInJson,
}

/// What the control check said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// None was made: the module does without.
    NotMade,
    /// The made-up name was a miss.
    Passed,
    /// No conclusion.
    Shaky,
}

impl Strength {
    /// What the hit of this matcher rests on, in a module with these rules for a miss.
    pub(crate) fn of(hit: &Matcher, misses: &[Matcher]) -> Self {
        let clues = hit.clues();
        let miss = |fits: fn(&Clues) -> bool| misses.iter().any(|rule| fits(&rule.clues()));
        if clues.echo_in_json {
            Self::EchoInJson
        } else if clues.echo_in_text {
            Self::EchoInText
        } else if clues.json {
            if clues.absence || miss(|it| it.json || it.marker || it.absence) {
                Self::BothMembers
            } else {
                Self::Member
            }
        } else if clues.marker {
            if clues.absence || miss(|it| it.marker) { Self::BothMarkers } else { Self::Marker }
        } else if clues.absence {
            // "It does not say that there is nothing" is a marker of the miss at the most.
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

/// 0.0 to 1.0, two decimals.
pub(crate) fn confidence(strength: Strength, control: Control) -> f64 {
    let shift = match control {
        Control::NotMade => 0.0,
        Control::Passed => 0.08,
        Control::Shaky => -0.15,
    };
    ((strength.base() + shift) * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_evidence_is_more_confidence() {
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
