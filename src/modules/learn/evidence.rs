//! The answers that rules are learned from.

use std::collections::BTreeSet;

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

/// The evidence as the rules for a hit, or those for a miss, see it. Each answer is parsed once.
pub(super) struct Side<'e> {
    /// The module that sent the requests.
    pub(super) module: &'e Module,
    pub(super) is_hit: bool,
    /// The answers that the rules must match.
    pub(super) wanted: Vec<(&'e Query, Answer<'e>)>,
    /// The answers that no rule may match.
    others: Vec<(&'e Query, Answer<'e>)>,
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

impl<'e> Side<'e> {
    pub(super) fn new(module: &'e Module, is_hit: bool, [wanted, others]: [&'e [Sample]; 2]) -> Self {
        let [wanted, others] = [wanted, others].map(|samples| {
            samples.iter().map(|sample| (&sample.query, Answer::new(&sample.response))).collect()
        });
        Self { module, is_hit, wanted, others }
    }

    /// Returns the statuses of the answers that the rules must match.
    pub(super) fn statuses(&self) -> BTreeSet<u16> {
        self.wanted.iter().map(|(_, answer)| answer.response.status).collect()
    }

    /// Returns the answers in which a rule holds.
    pub(super) fn fit(&self, rule: &Matcher) -> Fit {
        let holds = |(query, answer): &(&Query, Answer<'_>)| {
            let (name, saved, searches) = (self.module.name_of(query), Saved::new(), Searches::default());
            rule.holds(answer, &Values::new(self.module.entry().host(), query, &name, &saved, &searches))
        };
        Fit { wanted: self.wanted.iter().map(holds).collect(), is_in_others: self.others.iter().any(holds) }
    }
}
