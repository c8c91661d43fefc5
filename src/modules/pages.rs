//! Further pages of a hit: asked for once the rules have judged the first one.

use std::collections::BTreeSet;

use super::answer::Answer;
use super::extract::{Answers, Reading};
use super::html::Selectors;
use super::inquiry::Inquiry;
use super::outcome::{Evidence, Pause};
use super::plan::Pages;
use super::probe::{Request, Response};
use super::sender::Sender;

/// The most bytes of all further pages of a check together.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The further pages of a check's answers.
#[derive(Default)]
pub(super) struct Book {
    /// Each with its probe.
    pages: Vec<(usize, Response)>,
    requests: u32,
    is_incomplete: bool,
    pauses: Vec<Pause>,
}

/// Why no page follows.
enum End {
    /// The last one was read, or as many as the entry allows.
    Complete,
    /// A page is missing.
    Broken,
}

impl Book {
    /// Asks for the pages after those of `answers`, as far as results read them, unless the host is among
    /// those that want to be left alone meanwhile.
    pub(super) fn turn(inquiry: &Inquiry<'_>, answers: &Answers<'_>, pauses: &[Pause]) -> Self {
        let mut book = Self::default();
        let module = inquiry.module();
        for (index, answer) in answers.obtained() {
            let Some(pages) = module.plans.get(index).and_then(|plan| plan.pages.as_ref()) else { continue };
            let is_here = |probe: Option<usize>| probe.or(answers.last()) == Some(index);
            let (true, Ok(first)) = (module.yields.list_probes().any(is_here), inquiry.prepare(index)) else {
                continue;
            };
            let mut sender = inquiry.sender();
            let trail = Trail { inquiry, probe: index, pages, first: &first, answer, pauses };
            let end = book.read_on(&trail, &mut sender);
            book.is_incomplete |= matches!(end, End::Broken);
            book.requests += sender.requests();
        }
        book
    }

    /// Reads the pages of one probe's answer.
    fn read_on(&mut self, trail: &Trail<'_, '_, '_>, sender: &mut Sender<'_>) -> End {
        let Trail { inquiry, probe, pages, first, answer, .. } = *trail;
        let selectors = &inquiry.module().selectors;
        let mut seen = BTreeSet::from([first.url.clone(), answer.response.final_url.clone()]);
        let mut next = trail.next_after(answer);
        for _ in 1..pages.most {
            let Some(text) = next else { return End::Complete };
            let here = self.last_of(probe).map_or(&answer.response.final_url, |page| &page.final_url);
            let Some(request) = pages.request(&text, here, first, &inquiry.request_values()) else {
                return End::Broken;
            };
            // A last page that leads to itself, or round in a circle.
            if !seen.insert(request.url.clone()) {
                return End::Complete;
            }
            let body_limit = request.body_limit.min(MAX_BYTES.saturating_sub(self.bytes()));
            if body_limit == 0 || inquiry.is_paused(probe, &request, trail.pauses) {
                return End::Broken;
            }
            let Ok(response) = sender.send(&Request { body_limit, ..request }) else { return End::Broken };
            let page = Answer::new(&response, selectors);
            let is_wall = inquiry.wall(probe, &page);
            self.pauses.extend(inquiry.pauses_of(probe, &response, is_wall));
            if is_wall {
                return End::Broken;
            }
            if response.status != answer.response.status || !trail.goes_on_with(&page) {
                return End::Broken;
            }
            next = trail.next_after(&page);
            let is_cut = response.truncated;
            self.pages.push((probe, response));
            if is_cut {
                return End::Broken;
            }
        }
        End::Complete
    }

    fn last_of(&self, probe: usize) -> Option<&Response> {
        self.pages.iter().rev().find(|(at, _)| *at == probe).map(|(_, page)| page)
    }

    fn bytes(&self) -> usize {
        self.pages.iter().map(|(_, page)| page.body.len()).sum()
    }

    /// The pages, for extractors.
    pub(super) fn answers<'r>(&'r self, selectors: &'r Selectors) -> Vec<(usize, Answer<'r>)> {
        self.pages.iter().map(|(probe, page)| (*probe, Answer::new(page, selectors))).collect()
    }

    /// Adds what the pages cost.
    pub(super) fn add_to(&self, evidence: &mut Evidence) {
        evidence.requests += self.requests;
        evidence.bytes_read += self.bytes();
        for (_, page) in &self.pages {
            evidence.timing = evidence.timing + page.timing;
        }
    }

    /// Whether a page that the site spoke of is missing.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// The hosts that asked to be left alone, in place of a page.
    pub(super) fn pauses(&self) -> &[Pause] {
        &self.pauses
    }
}

/// What leads from page to page of one probe's answer.
struct Trail<'a, 'c, 'r> {
    inquiry: &'a Inquiry<'c>,
    probe: usize,
    pages: &'a Pages,
    /// The request for the first page.
    first: &'a Request,
    /// The first page.
    answer: &'a Answer<'r>,
    /// Hosts that asked to be left alone meanwhile.
    pauses: &'a [Pause],
}

impl Trail<'_, '_, '_> {
    fn next_after(&self, page: &Answer<'_>) -> Option<String> {
        self.pages.next(&Reading { answer: Some(page), values: self.inquiry.values(), item: None })
    }

    /// Whether a page goes on with the first one, rather than say that something went wrong: it holds
    /// elements of a list, or the rules know it (the last one may be empty).
    fn goes_on_with(&self, page: &Answer<'_>) -> bool {
        if page.response.body.trim_ascii().is_empty()
            || (self.answer.json().is_some() && page.json().is_none())
        {
            return false;
        }
        let module = self.inquiry.module();
        let is_here = |probe: Option<usize>| {
            probe.map_or_else(|| module.is_last(self.probe), |index| index == self.probe)
        };
        module.yields.lists_on(page, is_here) || self.inquiry.is_known(self.probe, page) == Some(true)
    }
}
