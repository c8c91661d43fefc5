//! Plans: the rule that an answer fulfils, and how it does. Trials find the plan that works.

use url::Url;

use super::context::{Context, Pattern};
use super::draft::{Draft, Form, Part};
use super::matcher;
use super::values;
use crate::modules::definition::{Matcher, Probe};
use crate::sandbox::answer::Answer;

/// The maximum number of plans that are tried for one module and one aim.
const MAX_PLANS: usize = 600;

/// The status of the answers to the probes that the rule does not read.
const NEUTRAL: u16 = 200;

/// The conclusion that a module should draw from the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::sandbox) enum Aim {
    Hit,
    Miss,
}

impl Aim {
    /// Returns the field of an entry with the rules for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
        }
    }
}

/// The way in which the answers of a module's site are made.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) aim: Aim,
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
pub(super) fn plans(context: &Context<'_>, aim: Aim) -> Vec<Plan> {
    let probes = &context.entry.probes;
    let usual = last_probe(probes);
    let rules = if aim == Aim::Hit { &context.entry.hit } else { &context.entry.miss };
    if rules.is_empty() {
        // Without a rule, the answers are empty.
        let (matcher, form) = (Matcher::default(), Form::Empty);
        return vec![Plan { aim, matcher, at: usual, status: 404, form, has_values: false }];
    }
    let mut plans = Vec::new();
    for matcher in rules {
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
                let full = (aim == Aim::Hit).then(|| Plan { has_values: true, ..bare.clone() });
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
    /// Returns whether extractors that name no probe read the answer to this one.
    fn is_last(&self, context: &Context<'_>, probe: usize) -> bool {
        probe == self.at || probe == last_probe(&context.entry.probes)
    }

    /// Returns whether no probe follows. After an early miss, no later probe is sent.
    fn is_end(&self, probe: usize) -> bool {
        self.aim == Aim::Miss && probe == self.at
    }

    /// Returns the rule that the answer to this probe must fulfil.
    fn matcher(&self, probe: usize) -> Matcher {
        if probe == self.at { self.matcher.clone() } else { Matcher::default() }
    }

    /// Returns the answer to a probe that was sent to `url`, or `None` if the plan has none.
    pub(super) fn answer(&self, context: &Context<'_>, probe: usize, url: &Url) -> Option<Answer> {
        let entry = context.entry.probes.get(probe)?;
        let matcher = self.matcher(probe);
        let own = matcher.final_url.as_deref().map(Pattern::Template);
        let wanted = own.or_else(|| saved_address(entry).filter(|_| !self.is_end(probe)));
        let moved_to = match wanted {
            Some(pattern) => Some(matcher::destination(context, pattern, url)?).filter(|to| to != url),
            None => None,
        };
        if moved_to.is_some() && !entry.follows() {
            return None;
        }
        Some(Answer { moved_to, ..self.draft(context, probe, url)?.finish()? })
    }

    /// Returns a draft of the answer to a probe that was sent to `url`, without its final address.
    pub(super) fn draft(&self, context: &Context<'_>, probe: usize, url: &Url) -> Option<Draft> {
        let entry = context.entry.probes.get(probe)?;
        let matcher = self.matcher(probe);
        let (form, status) = match probe == self.at {
            true => (self.form, self.status),
            false => (*matcher::forms(context, probe, &matcher).first()?, NEUTRAL),
        };
        let mut draft = matcher::draft(context, &matcher, form, status)?;
        let saved = values::for_saving(context, probe).into_iter().filter(|_| !self.is_end(probe));
        let last = self.is_last(context, probe);
        let read = if self.has_values { values::for_probe(context, probe, last) } else { Vec::new() };
        for part in saved.chain(read) {
            draft.add(part);
        }
        if (300..400).contains(&status) && !entry.follows() {
            // Modules treat a redirect to the front page as a miss.
            let value = match self.aim {
                Aim::Hit => format!("{}/sample", url.path().trim_end_matches('/')),
                Aim::Miss => "/".to_owned(),
            };
            draft.add(Part::Header("Location".to_owned(), value));
        }
        if entry.feed.is_some() {
            // The list has the names of this query alone, so other checks must not read it.
            draft.add(Part::Header("Vary".to_owned(), "*".to_owned()));
        }
        Some(draft)
    }
}

/// Returns the pattern that the address after a redirect must match, if the probe saves a value from it.
fn saved_address(entry: &Probe) -> Option<Pattern<'_>> {
    let mut saved = entry.save.values().filter(|extractor| extractor.tells_address());
    saved.find_map(|extractor| extractor.regex.as_deref()).map(Pattern::Plain)
}
