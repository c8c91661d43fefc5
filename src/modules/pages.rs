//! Further pages of a hit, which are requested after the rules have judged the first page.

use std::collections::BTreeSet;

use url::Url;

use super::active_check::ActiveCheck;
use super::answer::Answer;
use super::extract::{Answers, Reading};
use super::outcome::{Evidence, Pause};
use super::plan::Pages;
use super::probe::{ProbeError, Request, Response};
use super::sender::Sender;
use super::terms::Access;

/// The most bytes of all further pages of a check.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The further pages of a check's answers.
#[derive(Default)]
pub(super) struct FurtherPages {
    /// The pages, each with its probe.
    pages: Vec<(usize, Response)>,
    requests: u32,
    is_incomplete: bool,
    /// Whether there are more pages than the entry allows.
    is_limited: bool,
    pauses: Vec<Pause>,
}

/// The reason why no further page is read.
enum End {
    /// The last page was read, or as many pages as the entry allows.
    Complete,
    /// A page could not be read, or does not continue the list.
    Incomplete,
}

impl FurtherPages {
    /// Requests the further pages of the answers, as far as results read them. Nothing is requested from
    /// hosts that have asked for a pause.
    pub(super) fn fetch(check: &ActiveCheck<'_>, pauses: &[Pause]) -> Self {
        let mut further = Self::default();
        let Ok(starts) = check.read(&[], |answers| starts(check, answers)) else {
            return Self { is_incomplete: true, ..further };
        };
        for (probe, start) in starts {
            let Some(pages) = check.module().plans.get(probe).and_then(|plan| plan.pages.as_ref()) else {
                continue;
            };
            let Ok(first) = check.prepare(probe) else { continue };
            let mut sender = check.sender();
            let context = PageContext { check, probe, pages, first: &first, start, pauses };
            let end = further.read_on(&context, &mut sender);
            further.is_incomplete |= matches!(end, End::Incomplete);
            further.requests += sender.requests();
        }
        further
    }

    /// Reads the further pages of one probe's answer.
    fn read_on(&mut self, context: &PageContext<'_, '_>, sender: &mut Sender<'_>) -> End {
        let PageContext { check, probe, pages, first, start, .. } = context;
        let mut seen = BTreeSet::from([first.url.clone(), start.final_url.clone()]);
        let mut next = start.next.clone();
        for _ in 1..pages.most {
            let Some(text) = next else { return End::Complete };
            let here = self.last_of(*probe).map_or(&start.final_url, |page| &page.final_url);
            let Some(request) = pages.request(&text, here, first, &check.request_values()) else {
                return End::Incomplete;
            };
            // The page leads to itself or to an earlier page, so it is the last one.
            if !seen.insert(request.url.clone()) {
                return End::Complete;
            }
            let body_limit = request.body_limit.min(MAX_BYTES.saturating_sub(self.bytes()));
            let is_denied = || matches!(check.access(*probe, &request, context.pauses), Access::Denied(_));
            if body_limit == 0 || is_denied() {
                return End::Incomplete;
            }
            let Ok(response) = sender.send(&Request { body_limit, ..request }) else {
                return End::Incomplete;
            };
            let Ok(page) = context.read(&response) else { return End::Incomplete };
            self.pauses.extend(page.pauses);
            if !page.continues {
                return End::Incomplete;
            }
            next = page.next;
            let is_cut = response.truncated;
            self.pages.push((*probe, response));
            if is_cut {
                return End::Incomplete;
            }
        }
        self.is_limited |= next.is_some();
        End::Complete
    }

    fn last_of(&self, probe: usize) -> Option<&Response> {
        self.pages.iter().rev().find(|(at, _)| *at == probe).map(|(_, page)| page)
    }

    fn bytes(&self) -> usize {
        self.pages.iter().map(|(_, page)| page.body.len()).sum()
    }

    /// Returns the pages, each with its probe.
    pub(super) fn pages(&self) -> &[(usize, Response)] {
        &self.pages
    }

    /// Adds the requests and bytes of the pages to the evidence.
    pub(super) fn add_to(&self, evidence: &mut Evidence) {
        evidence.requests += self.requests;
        evidence.bytes_read += self.bytes();
    }

    /// Returns whether a page that the site has is missing.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Returns whether the site has more pages than were read, for whichever reason.
    pub(super) fn has_more(&self) -> bool {
        self.is_incomplete || self.is_limited
    }

    /// Returns the pauses that hosts asked for while pages were requested.
    pub(super) fn pauses(&self) -> &[Pause] {
        &self.pauses
    }
}

/// The properties of a first page that are needed to read further ones.
struct Start {
    status: u16,
    final_url: Url,
    is_json: bool,
    /// The value from which the second page's address is made.
    next: Option<String>,
}

/// Returns the first pages that have further pages for results, each with its probe.
fn starts(check: &ActiveCheck<'_>, answers: &Answers<'_>) -> Vec<(usize, Start)> {
    let module = check.module();
    let start = |(index, answer): (usize, &Answer<'_>)| {
        let pages = module.plans.get(index)?.pages.as_ref()?;
        let is_here = |probe: Option<usize>| probe.or(answers.last()) == Some(index);
        let response = answer.response;
        module.result_fields.list_probes().any(is_here).then(|| {
            let (is_json, next) = (answer.json().is_some(), next_after(check, pages, answer));
            (index, Start { status: response.status, final_url: response.final_url.clone(), is_json, next })
        })
    };
    answers.obtained().filter_map(start).collect()
}

fn next_after(check: &ActiveCheck<'_>, pages: &Pages, page: &Answer<'_>) -> Option<String> {
    pages.next(&Reading { answer: Some(page), values: check.values(), item: None })
}

/// The context in which the further pages of one probe's answer are read.
struct PageContext<'a, 'c> {
    check: &'a ActiveCheck<'c>,
    probe: usize,
    pages: &'a Pages,
    /// The request for the first page.
    first: &'a Request,
    /// The properties of the first page.
    start: Start,
    /// The pauses that hosts asked for during the check.
    pauses: &'a [Pause],
}

/// The content of a further page.
struct FurtherPage {
    pauses: Vec<Pause>,
    /// Whether the page continues the list and is not a barrier or an error.
    continues: bool,
    /// The value from which the next page's address is made.
    next: Option<String>,
}

impl PageContext<'_, '_> {
    fn read(&self, response: &Response) -> Result<FurtherPage, ProbeError> {
        let Self { check, probe, pages, .. } = self;
        let _memory = check.reserve([response])?;
        let page = Answer::new(response, &check.module().selectors);
        let is_barrier = check.is_barrier(*probe, &page);
        Ok(FurtherPage {
            pauses: check.pauses_of(*probe, response, is_barrier),
            continues: !is_barrier && response.status == self.start.status && self.continues_list(&page),
            next: next_after(check, pages, &page),
        })
    }

    /// Returns whether a page continues the first one and is not an error page. It does if it has elements
    /// of a list or if the rules match it, since the last page may be empty.
    fn continues_list(&self, page: &Answer<'_>) -> bool {
        if page.response.body.trim_ascii().is_empty() || (self.start.is_json && page.json().is_none()) {
            return false;
        }
        let module = self.check.module();
        let is_here = |probe: Option<usize>| {
            probe.map_or_else(|| module.is_last(self.probe), |index| index == self.probe)
        };
        module.result_fields.lists_on(page, &self.check.values(), is_here)
            || self.check.is_known(self.probe, page) == Some(true)
    }
}
