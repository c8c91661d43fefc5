//! Compiled extractors: what a hit yields.
//!
//! | file | holds |
//! |---|---|
//! | [`source`] | where one value comes from (`json:/a`, `css:h1`, …) |
//! | [`extractor`] | source, choice of members, transforms, labels, limits |
//! | [`transform`] | the named transforms |
//! | [`items`] | the elements of a list result |
//! | [`findings`] | results of a hit |
//! | `distinct` | findings without repetitions |
//! | `valid` | what a value must look like to be an entity of its type |
//! | [`portrait`] | what a profile page says of itself in the ways that all sites share |

mod distinct;
pub(crate) mod extractor;
pub(crate) mod findings;
pub(crate) mod items;
pub(crate) mod portrait;
pub(crate) mod source;
pub(crate) mod transform;
mod valid;

use super::answer::Answer;
use super::template::Values;
use items::Item;

/// The answers of a check, by probe.
pub(crate) struct Answers<'r> {
    list: Vec<Option<Answer<'r>>>,
    /// Further pages, each with its probe.
    pages: Vec<(usize, Answer<'r>)>,
}

impl<'r> Answers<'r> {
    pub(crate) fn new(list: Vec<Option<Answer<'r>>>) -> Self {
        Self { list, pages: Vec::new() }
    }

    /// The same with further pages, each with its probe.
    pub(crate) fn with_pages(self, pages: Vec<(usize, Answer<'r>)>) -> Self {
        Self { pages, ..self }
    }

    /// The index of the last answer that was obtained.
    pub(crate) fn last(&self) -> Option<usize> {
        self.list.iter().rposition(Option::is_some)
    }

    /// The answer of that probe; `None`: the last one that was obtained.
    pub(crate) fn get(&self, probe: Option<usize>) -> Option<&Answer<'r>> {
        self.list.get(probe.or_else(|| self.last())?)?.as_ref()
    }

    /// All pages of the answer of that probe, the first one first.
    pub(crate) fn pages(&self, probe: Option<usize>) -> impl Iterator<Item = &Answer<'r>> {
        let index = probe.or_else(|| self.last());
        let further = self.pages.iter().filter(move |(at, _)| Some(*at) == index);
        self.get(probe).into_iter().chain(further.map(|(_, page)| page))
    }

    /// The last answer that is a page.
    pub(crate) fn page(&self) -> Option<&Answer<'r>> {
        self.list.iter().rev().flatten().find(|answer| answer.is_page())
    }

    /// Every answer that was obtained, with its probe.
    pub(crate) fn obtained(&self) -> impl Iterator<Item = (usize, &Answer<'r>)> {
        self.list.iter().enumerate().filter_map(|(index, answer)| Some((index, answer.as_ref()?)))
    }
}

/// What an extractor reads from.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a, 'r> {
    pub(crate) answer: Option<&'a Answer<'r>>,
    pub(crate) values: Values<'a>,
    /// The element of a list result.
    pub(crate) item: Option<&'a Item<'a>>,
}
