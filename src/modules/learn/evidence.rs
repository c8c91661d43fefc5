//! The answers that rules are learned from, and the conditions that hold in them.

use crate::modules::answer::Answer;
use crate::modules::definition::Matcher;
use crate::modules::html::Selectors;
use crate::modules::module::Module;
use crate::modules::pattern::Searches;
use crate::modules::probe::Response;
use crate::modules::query::Query;
use crate::modules::template::{Saved, Values};

/// The number of rules that are compiled together. The selectors of a module are limited in number.
const RULES_AT_ONCE: usize = 50;

/// The answers for one name.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The name.
    pub query: Query,
    /// Several answers for this name, so that content that changes with every request is recognized.
    pub responses: Vec<Response>,
}

/// The answers that rules are learned from. Each list has at least one sample.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// The answers for accounts that exist.
    pub known: Vec<Sample>,
    /// The answers for made-up names.
    pub made_up: Vec<Sample>,
}

/// The number of answers of a list of samples in which a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    All,
    Some,
    None,
}

/// The answers in which a rule holds.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    /// Whether the rule holds, for each answer of the known accounts.
    pub(super) known: Vec<bool>,
    /// Whether the rule holds, for each answer of the made-up names.
    pub(super) made_up: Vec<bool>,
}

/// One of the two lists of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// The known accounts, which rules for a hit must match.
    Hit,
    /// The made-up names, which rules for a miss must match.
    Miss,
}

impl Evidence {
    /// Returns the samples that the rules of this side must match.
    pub(super) fn wanted(&self, side: Side) -> &[Sample] {
        match side {
            Side::Hit => &self.known,
            Side::Miss => &self.made_up,
        }
    }

    /// Returns the samples that no rule of this side may match.
    pub(super) fn others(&self, side: Side) -> &[Sample] {
        match side {
            Side::Hit => &self.made_up,
            Side::Miss => &self.known,
        }
    }
}

/// Returns all responses of a list of samples.
pub(super) fn responses(samples: &[Sample]) -> impl Iterator<Item = &Response> {
    samples.iter().flat_map(|sample| &sample.responses)
}

impl Fit {
    /// Returns whether the rule holds, for each answer that rules of this side must match.
    pub(super) fn wanted(&self, side: Side) -> &[bool] {
        match side {
            Side::Hit => &self.known,
            Side::Miss => &self.made_up,
        }
    }

    /// Returns in how many answers that rules of this side must not match the rule holds.
    pub(super) fn others(&self, side: Side) -> Share {
        share(match side {
            Side::Hit => &self.made_up,
            Side::Miss => &self.known,
        })
    }

    /// Returns whether the rule holds in all answers that it must match, and in none of the others.
    pub(super) fn separates(&self, side: Side) -> bool {
        share(self.wanted(side)) == Share::All && self.others(side) == Share::None
    }

    /// Returns whether the rule holds in all answers that it must match.
    pub(super) fn is_complete(&self, side: Side) -> bool {
        share(self.wanted(side)) == Share::All
    }
}

fn share(held: &[bool]) -> Share {
    match held.iter().filter(|held| **held).count() {
        0 => Share::None,
        count if count == held.len() => Share::All,
        _ => Share::Some,
    }
}

/// Returns the answers in which each rule holds, or `None` for a rule that does not compile. `module` is the
/// module that sent the requests.
pub(super) fn fits(module: &Module, evidence: &Evidence, rules: &[Matcher]) -> Vec<Option<Fit>> {
    rules.chunks(RULES_AT_ONCE).flat_map(|rules| fits_of_some(module, evidence, rules)).collect()
}

fn fits_of_some(module: &Module, evidence: &Evidence, rules: &[Matcher]) -> Vec<Option<Fit>> {
    let mut selectors = Selectors::default();
    let usable = |rule| Matcher::add_selectors(rule, &mut selectors).is_ok().then_some(rule);
    let matchers: Vec<Option<&Matcher>> = rules.iter().map(usable).collect();
    let (known, made_up) = (
        held(module, &evidence.known, &matchers, &selectors),
        held(module, &evidence.made_up, &matchers, &selectors),
    );
    let fit = |index: usize| Fit {
        known: known.iter().map(|held| held[index]).collect(),
        made_up: made_up.iter().map(|held| held[index]).collect(),
    };
    matchers.iter().enumerate().map(|(index, matcher)| matcher.as_ref().map(|_| fit(index))).collect()
}

/// Returns for each answer and each rule whether the rule holds.
fn held(
    module: &Module,
    samples: &[Sample],
    matchers: &[Option<&Matcher>],
    selectors: &Selectors,
) -> Vec<Vec<bool>> {
    let mut all = Vec::new();
    for sample in samples {
        let (name, saved, searches) = (module.name_of(&sample.query), Saved::new(), Searches::default());
        let values = Values::new(&sample.query, &name, &saved, &searches);
        for response in &sample.responses {
            let answer = Answer::new(response, selectors);
            let holds = |matcher: &Option<&Matcher>| matcher.is_some_and(|it| it.holds(&answer, &values));
            all.push(matchers.iter().map(holds).collect());
        }
    }
    all
}
