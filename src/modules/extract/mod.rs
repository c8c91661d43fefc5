//! Compiled extractors: what a hit yields.
//!
//! | file | holds |
//! |---|---|
//! | [`source`] | where one value comes from (`json:/a`, `css:h1`, …) |
//! | [`extractor`] | source, choice of members, transforms, labels, limits |
//! | [`transform`] | the named transforms |
//! | [`items`] | the elements of a list result |
//! | [`findings`] | results of a hit |

pub(crate) mod extractor;
pub(crate) mod findings;
pub(crate) mod items;
pub(crate) mod source;
pub(crate) mod transform;

use super::answer::Answer;
use super::template::Values;
use items::Item;

/// The answers of a check, by probe.
pub(crate) struct Answers<'r> {
    list: Vec<Option<Answer<'r>>>,
}

impl<'r> Answers<'r> {
    pub(crate) fn new(list: Vec<Option<Answer<'r>>>) -> Self {
        Self { list }
    }

    /// The index of the last answer that was obtained.
    pub(crate) fn last(&self) -> Option<usize> {
        self.list.iter().rposition(Option::is_some)
    }

    /// The answer of that probe; `None`: the last one that was obtained.
    pub(crate) fn get(&self, probe: Option<usize>) -> Option<&Answer<'r>> {
        self.list.get(probe.or_else(|| self.last())?)?.as_ref()
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
