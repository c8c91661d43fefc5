//! The answers that rules are learned from.

use serde_json::{Value, json};

use crate::modules::answer::Answer;
use crate::modules::definition::Matcher;
use crate::modules::module::Module;
use crate::modules::pattern::Searches;
use crate::modules::probe::Response;
use crate::modules::query::Query;
use crate::modules::template::{Saved, Values};

/// The answers for one name.
pub(super) struct Sample {
    pub(super) query: Query,
    /// Several answers for this name, so that content that changes with every request is recognized.
    pub(super) responses: Vec<Response>,
}

/// The answers that rules are learned from. Each list has at least one sample.
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
#[derive(Clone, Default)]
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
    /// Returns the first answer that the rules must match, with its name.
    pub(super) fn first(&self) -> Option<(&Response, String)> {
        let sample = self.wanted.first()?;
        Some((sample.responses.first()?, self.module.name_of(&sample.query)))
    }

    /// Returns the statuses of the answers that the rules must match.
    pub(super) fn statuses(&self) -> Value {
        let responses = self.wanted.iter().flat_map(|sample| &sample.responses);
        let mut codes: Vec<u16> = responses.map(|response| response.status).collect();
        codes.sort_unstable();
        codes.dedup();
        json!(codes)
    }

    /// Returns the answers in which each rule holds. Each answer is parsed once.
    pub(super) fn fits(&self, rules: &[Matcher]) -> Vec<Fit> {
        let mut fits = vec![Fit::default(); rules.len()];
        for (samples, is_wanted) in [(self.wanted, true), (self.others, false)] {
            for sample in samples {
                let (name, saved) = (self.module.name_of(&sample.query), Saved::new());
                let searches = Searches::default();
                let values = Values::new(&sample.query, &name, &saved, &searches);
                for response in &sample.responses {
                    let answer = Answer::new(response);
                    for (rule, fit) in rules.iter().zip(&mut fits) {
                        let holds = rule.holds(&answer, &values);
                        match is_wanted {
                            true => fit.wanted.push(holds),
                            false => fit.is_in_others |= holds,
                        }
                    }
                }
            }
        }
        fits
    }
}
