//! Which of a module's alternatives an answer fulfils, and how: found by trying.

use std::borrow::Cow;

use url::Url;

use super::demand;
use super::draft::{Draft, Form};
use super::plant::{self, Plant};
use super::scene::Scene;
use super::turning;
use crate::modules::definition::{Entry, Extractor, MatcherEntry, ProbeEntry};
use crate::modules::query::Query;
use crate::sandbox::wire::Answer;

/// An address for questions that are not about addresses.
const NOWHERE: &str = "https://example.org/";
/// No more plans are tried for one module and one aim.
const MAX_PLANS: usize = 600;

/// What a module is to conclude from the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::sandbox) enum Aim {
    Hit,
    Miss,
}

/// How answers are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plan {
    aim: Aim,
    /// The alternative to fulfil; `None`: there is none, the answers are just empty-handed.
    alternative: Option<usize>,
    /// The probe whose answer fulfils it.
    at: usize,
    status: u16,
    form: Form,
    /// Status of the answers to the other probes.
    neutral: u16,
    pub(super) extras: Extras,
}

/// Which of the plants for extractors are in the answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extras {
    All,
    /// Of each probe's plants, those with these numbers.
    Only(Vec<(usize, usize)>),
}

impl Extras {
    pub(super) const NONE: Self = Self::Only(Vec::new());

    fn has(&self, probe: usize, number: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(list) => list.contains(&(probe, number)),
        }
    }
}

/// The answer to one probe, and where it is found.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::sandbox) struct Page {
    pub(in crate::sandbox) answer: Answer,
    /// Where a first request is sent on to; `None`: the answer stands where it was asked for.
    pub(in crate::sandbox) moved_to: Option<Url>,
}

/// All plans for an aim, the most natural first.
pub(super) fn plans(scene: &Scene<'_>, aim: Aim) -> Vec<Plan> {
    let alternatives = alternatives(scene, aim);
    let mut plans = Vec::new();
    for (number, matcher) in alternatives.iter().enumerate() {
        for at in places(&scene.entry.probes, matcher) {
            plans.extend(plans_at(scene, aim, number, matcher, at));
        }
    }
    if alternatives.is_empty() {
        let at = last_probe(&scene.entry.probes);
        plans.push(Plan {
            aim,
            alternative: None,
            at,
            status: 404,
            form: Form::Empty,
            neutral: 200,
            extras: Extras::NONE,
        });
    }
    plans.truncate(MAX_PLANS);
    plans
}

fn alternatives<'a>(scene: &Scene<'a>, aim: Aim) -> &'a [MatcherEntry] {
    match aim {
        Aim::Hit => &scene.entry.hit,
        Aim::Miss => &scene.entry.miss,
    }
}

fn plans_at(scene: &Scene<'_>, aim: Aim, number: usize, matcher: &MatcherEntry, at: usize) -> Vec<Plan> {
    // What a miss shows is nobody's: nothing to extract.
    let extras: &[Extras] = match aim {
        Aim::Hit => &[Extras::All, Extras::NONE],
        Aim::Miss => &[Extras::NONE],
    };
    let neutrals: &[u16] = if scene.entry.probes.len() > 1 { &[200, 404, 500] } else { &[200] };
    let mut plans = Vec::new();
    for neutral in neutrals {
        for status in demand::statuses(matcher) {
            for form in demand::forms(scene, at, matcher) {
                plans.extend(extras.iter().map(|extras| Plan {
                    aim,
                    alternative: Some(number),
                    at,
                    status,
                    form,
                    neutral: *neutral,
                    extras: extras.clone(),
                }));
            }
        }
    }
    plans
}

/// The probes whose answer may fulfil the matcher.
fn places(probes: &[ProbeEntry], matcher: &MatcherEntry) -> Vec<usize> {
    if let Some(at) = matcher.probe {
        return vec![at];
    }
    // The last answer obtained: of the last probe that is always sent, or of any where the rules
    // conclude earlier, or later.
    let usual = last_probe(probes);
    let others = (0..probes.len()).filter(|at| *at != usual);
    std::iter::once(usual).chain(others).collect()
}

fn last_probe(probes: &[ProbeEntry]) -> usize {
    probes.iter().rposition(|probe| !probe.fallback).unwrap_or(0)
}

impl Plan {
    /// How many plants there are for each probe's answer.
    pub(super) fn choices(&self, scene: &Scene<'_>) -> Vec<(usize, usize)> {
        let probes = 0..scene.entry.probes.len();
        let count = |probe| Url::parse(NOWHERE).map_or(0, |url| self.extra_plants(scene, probe, &url).len());
        probes.flat_map(|probe| (0..count(probe)).map(move |n| (probe, n))).collect()
    }

    /// What leads to a second page first: where there is room for one thing, it is for that.
    fn extra_plants(&self, scene: &Scene<'_>, probe: usize, url: &Url) -> Vec<Plant> {
        let lead = turning::lead(scene, probe, url);
        lead.into_iter().chain(plant::for_probe(scene, probe, self.is_last(scene, probe))).collect()
    }

    /// Whether extractors that name no probe read that one's answer.
    fn is_last(&self, scene: &Scene<'_>, probe: usize) -> bool {
        probe == self.at || probe == last_probe(&scene.entry.probes)
    }

    /// The answer to a probe that was sent to `url`. `None`: the plan has none.
    pub(super) fn page(&self, scene: &Scene<'_>, probe: usize, url: &Url) -> Option<Page> {
        let entry = scene.entry.probes.get(probe)?;
        let matcher = self.matcher(scene, probe);
        let is_second = entry.pages.is_some() && turning::is_second(url);
        let wanted =
            matcher.final_url.as_deref().or_else(|| saved_address(entry).filter(|_| !self.is_end(probe)));
        let moved_to = match wanted {
            Some(pattern) if !is_second => moved(scene, pattern, entry, url)?,
            _ => None,
        };
        let draft = self.draft(scene, probe, url)?;
        finish(draft).map(|answer| Page { answer, moved_to })
    }

    /// The answer to a probe whose list is the same for every query: it names all of `names`.
    pub(super) fn list(
        &self,
        entry: &Entry,
        names: &[Query],
        seed: u64,
        probe: usize,
        url: &Url,
    ) -> Option<Page> {
        let drafts = names.iter().filter_map(|name| self.draft(&Scene::new(entry, name, seed), probe, url));
        let whole = drafts.reduce(|mut whole, draft| {
            whole.join(draft);
            whole
        });
        finish(whole?).map(|answer| Page { answer, moved_to: None })
    }

    /// Where a miss is told early, there is nothing to go on with.
    fn is_end(&self, probe: usize) -> bool {
        self.aim == Aim::Miss && probe == self.at
    }

    /// The alternative that this probe's answer is to fulfil.
    fn matcher<'a>(&self, scene: &Scene<'a>, probe: usize) -> Cow<'a, MatcherEntry> {
        let own = self.alternative.filter(|_| probe == self.at);
        let matcher = own.and_then(|number| alternatives(scene, self.aim).get(number));
        matcher.map_or_else(|| Cow::Owned(MatcherEntry::default()), Cow::Borrowed)
    }

    /// The answer to a probe that was sent to `url`, wherever it is to be found.
    fn draft(&self, scene: &Scene<'_>, probe: usize, url: &Url) -> Option<Draft> {
        let entry = scene.entry.probes.get(probe)?;
        let matcher = self.matcher(scene, probe);
        let matcher = matcher.as_ref();
        let (form, status) = match probe == self.at {
            true => (self.form, self.status),
            false => (*demand::forms(scene, probe, matcher).first()?, self.neutral),
        };
        let mut draft = demand::draft(scene, matcher, form, status)?;
        for plant in plant::for_saving(scene, probe).iter().filter(|_| !self.is_end(probe)) {
            draft.add(plant);
        }
        if entry.pages.is_some() && turning::is_second(url) {
            for plant in plant::for_lists(scene, probe, self.is_last(scene, probe), 1) {
                draft.add(&plant);
            }
            return Some(draft);
        }
        for (number, plant) in self.extra_plants(scene, probe, url).iter().enumerate() {
            if self.extras.has(probe, number) {
                draft.add(plant);
            }
        }
        if (300..400).contains(&status) && !entry.follows() {
            // What leads to the front page is no hit.
            let value = match self.aim {
                Aim::Hit => format!("{}/sample", url.path().trim_end_matches('/')),
                Aim::Miss => "/".to_owned(),
            };
            draft.add(&Plant::Header { name: "Location".to_owned(), value });
        }
        Some(draft)
    }
}

/// What a probe wants to find in the address that it is led to.
fn saved_address(entry: &ProbeEntry) -> Option<&str> {
    entry.save.values().find_map(|extractor| match extractor {
        Extractor::Long(long) if long.from.iter().any(|source| source == "final_url:") => {
            long.regex.as_deref()
        }
        _ => None,
    })
}

fn finish(draft: Draft) -> Option<Answer> {
    let answer = draft.finish()?;
    // More than a prober reads would be cut off.
    (answer.body.len() <= crate::modules::probe::MAX_BODY_BYTES / 2).then_some(answer)
}

/// `Some(None)`: the answer may stay where it is. `None`: it cannot be led to where it belongs.
fn moved(scene: &Scene<'_>, pattern: &str, entry: &ProbeEntry, from: &Url) -> Option<Option<Url>> {
    let to = demand::destination(scene, pattern, from)?;
    match (to == *from, entry.follows()) {
        (true, _) => Some(None),
        (false, true) => Some(Some(to)),
        (false, false) => None,
    }
}
