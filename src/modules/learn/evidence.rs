//! The answers that rules are learned from.

use serde_json::{Value, json};

use crate::modules::answer::Answer;
use crate::modules::definition::Matcher;
use crate::modules::module::Module;
use crate::modules::pattern::Searches;
use crate::modules::probe::Response;
use crate::modules::query::Query;
use crate::modules::template::{Saved, Values};

/// An answer for a name.
pub(super) struct Sample {
    pub(super) query: Query,
    pub(super) response: Response,
}

/// The answers that rules are learned from. Each list has several answers for each of its names, so that content that
/// changes with every request is recognized.
pub(super) struct Evidence {
    /// The answers for accounts that exist.
    pub(super) known: Vec<Sample>,
    /// The answers for made-up names.
    pub(super) made_up: Vec<Sample>,
}

/// The evidence as the rules for a hit, or those for a miss, see it.
pub(super) struct Side<'e> {
    /// The module that sent the requests.
    pub(super) module: &'e Module,
    pub(super) is_hit: bool,
    /// The answers that the rules must match.
    pub(super) wanted: &'e [Sample],
    /// The answers that no rule may match.
    pub(super) others: &'e [Sample],
}

/// The answers in which a rule holds.
pub(super) struct Fit {
    /// Whether the rule holds, for each answer that rules of its side must match.
    pub(super) wanted: Vec<bool>,
    /// Whether the rule holds in one of the other answers.
    pub(super) is_in_others: bool,
}

impl Fit {
    /// Returns whether the rule holds in all answers that it must match.
    pub(super) fn is_complete(&self) -> bool {
        self.wanted.iter().all(|held| *held)
    }
}

impl Side<'_> {
    /// Returns the statuses of the answers that the rules must match.
    pub(super) fn statuses(&self) -> Value {
        let mut codes: Vec<u16> = self.wanted.iter().map(|sample| sample.response.status).collect();
        codes.sort_unstable();
        codes.dedup();
        json!(codes)
    }

    /// Returns the answers in which each rule holds. Each answer is parsed once.
    pub(super) fn fits(&self, rules: &[Matcher]) -> Vec<Fit> {
        let held = |sample: &Sample| -> Vec<bool> {
            let (name, saved, searches) =
                (self.module.name_of(&sample.query), Saved::new(), Searches::default());
            let values = Values::new(&sample.query, &name, &saved, &searches);
            let answer = Answer::new(&sample.response);
            rules.iter().map(|rule| rule.holds(&answer, &values)).collect()
        };
        let [wanted, others] =
            [self.wanted, self.others].map(|samples| samples.iter().map(held).collect::<Vec<_>>());
        let fit = |rule: usize| Fit {
            wanted: wanted.iter().map(|held| held[rule]).collect(),
            is_in_others: others.iter().any(|held| held[rule]),
        };
        (0..rules.len()).map(fit).collect()
    }
}
