//! Plans: the rule that an answer fulfils, and how it does. Trials find the plan that works.

use url::Url;

use super::context::Context;
use super::draft::{Draft, Form};
use super::matcher;
use super::values;
use crate::modules::definition::{Matcher, Probe};
use crate::modules::outcome::Outcome;
use crate::modules::pattern::SearchRegex;
use crate::modules::probe::Response;

/// The maximum number of plans that are tried for one module and one aim.
const MAX_PLANS: usize = 600;

/// The status of the answers to the probes that the rule does not read.
const NEUTRAL: u16 = 200;

/// The way in which the answers of a module's site are made.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// The outcome that the module should come to: a hit or a miss.
    pub(super) aim: Outcome,
    /// The rule to fulfil.
    matcher: Matcher,
    /// The probe whose answer fulfils the rule.
    at: usize,
    status: u16,
    form: Form,
    /// Whether the answers contain the parts for extractors.
    has_values: bool,
}

/// Returns all plans for an aim, the most natural first.
pub(super) fn plans(context: &Context<'_>, aim: Outcome) -> Vec<Plan> {
    let probes = &context.entry.probes;
    let usual = last_probe(probes);
    let rules = if aim == Outcome::Hit { &context.entry.hit } else { &context.entry.miss };
    if rules.is_empty() {
        // Without a rule, the answers are empty.
        let (matcher, form) = (Matcher::default(), Form::Empty);
        return vec![Plan { aim, matcher, at: usual, status: 404, form, has_values: false }];
    }
    let mut plans = Vec::new();
    for matcher in rules.iter() {
        // Rules read the last answer that was obtained. It is usually that of the last probe that is always sent. It
        // can be another one if the rules decide earlier, or if a fallback probe is sent.
        let places = [usual].into_iter().chain((0..probes.len()).filter(|at| *at != usual));
        for at in places.filter(|at| matcher.probe.is_none_or(|own| own == *at)) {
            let forms = matcher::forms(context, at, matcher);
            for (status, &form) in matcher::statuses(matcher)
                .iter()
                .flat_map(|status| forms.iter().map(move |form| (*status, form)))
            {
                let bare = Plan { aim, matcher: matcher.clone(), at, status, form, has_values: false };
                // The answer of a miss contains no result, so there is nothing to extract.
                let full = (aim == Outcome::Hit).then(|| Plan { has_values: true, ..bare.clone() });
                plans.extend(full.into_iter().chain([bare]));
            }
        }
    }
    plans.truncate(MAX_PLANS);
    plans
}

fn last_probe(probes: &[Probe]) -> usize {
    probes.iter().rposition(|probe| !probe.fallback).unwrap_or(0)
}

impl Plan {
    /// Returns whether no probe follows. After an early miss, no later probe is sent.
    fn is_end(&self, probe: usize) -> bool {
        self.aim == Outcome::Miss && probe == self.at
    }

    /// Returns the answer to a probe that was sent to `url`, or `None` if the plan has none.
    pub(super) fn answer(&self, context: &Context<'_>, probe: usize, url: &Url) -> Option<Response> {
        let entry = context.entry.probes.get(probe)?;
        let matcher = if probe == self.at { self.matcher.clone() } else { Matcher::default() };
        let shown = match (&matcher.final_url, saved_address(entry).filter(|_| !self.is_end(probe))) {
            (Some(own), _) => matcher::destination(context, &context.regex(own)?, url)?,
            (None, Some(saved)) => matcher::destination(context, saved, url)?,
            (None, None) => url.clone(),
        };
        if shown != *url && !entry.follows() {
            return None;
        }
        let (form, status) = match probe == self.at {
            true => (self.form, self.status),
            false => (*matcher::forms(context, probe, &matcher).first()?, NEUTRAL),
        };
        let mut draft = Draft::new(form, status);
        matcher::fulfil(context, &matcher, &mut draft)?;
        if !self.is_end(probe) {
            values::add_saved(context, probe, &mut draft);
        }
        if self.has_values {
            // Extractors that name no probe read the last answer.
            let is_last = probe == self.at || probe == last_probe(&context.entry.probes);
            values::add(context, probe, is_last, &mut draft);
        }
        if (300..400).contains(&status) && !entry.follows() {
            // Modules treat a redirect to the front page as a miss.
            let sample = || format!("{}/sample", url.path().trim_end_matches('/'));
            let target = if self.aim == Outcome::Hit { sample() } else { "/".to_owned() };
            draft.add_header("location", &target);
        }
        if entry.feed.is_some() {
            // The list has the names of this query alone, so other checks must not read it.
            draft.add_header("vary", "*");
        }
        draft.finish(&shown)
    }
}

/// Returns the regex that the address after a redirect must match, if the probe saves a value from it.
fn saved_address(entry: &Probe) -> Option<&SearchRegex> {
    let mut saved = entry.save.values().filter(|extractor| extractor.tells_address());
    saved.find_map(|extractor| extractor.regex.as_ref())
}
