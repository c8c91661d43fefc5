//! The responses of a check, as input of extractors, and what is found in them.

use std::borrow::Cow;

use serde_json::Value;

use crate::modules::answer::Answer;
use crate::modules::pointer::Key;
use crate::modules::template::Values;

/// The responses of a check, indexed by probe.
pub(crate) struct Answers<'r> {
    list: Vec<Option<Answer<'r>>>,
}

impl<'r> Answers<'r> {
    pub(crate) fn new(list: Vec<Option<Answer<'r>>>) -> Self {
        Self { list }
    }

    /// Returns the index of the last response that was obtained.
    pub(crate) fn last(&self) -> Option<usize> {
        self.list.iter().rposition(Option::is_some)
    }

    /// Returns the response of the given probe, or the last one that was obtained if `probe` is `None`.
    pub(crate) fn get(&self, probe: Option<usize>) -> Option<&Answer<'r>> {
        self.list.get(probe.or_else(|| self.last())?)?.as_ref()
    }

    /// Returns the last response that is a page.
    pub(crate) fn page(&self) -> Option<&Answer<'r>> {
        self.list.iter().rev().flatten().find(|answer| answer.is_page())
    }

    /// Returns every response that was obtained, with the index of its probe.
    pub(crate) fn obtained(&self) -> impl Iterator<Item = (usize, &Answer<'r>)> {
        self.list.iter().enumerate().filter_map(|(index, answer)| Some((index, answer.as_ref()?)))
    }
}

/// The input of an extractor.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a, 'r> {
    pub(crate) answer: Option<&'a Answer<'r>>,
    pub(crate) values: Values<'a>,
    /// The current element of a list result.
    pub(crate) item: Option<&'a Item<'a>>,
}

/// What a source finds: one value, or one element of a list.
#[derive(Debug, Clone)]
pub(crate) struct Item<'a> {
    pub(crate) value: Cow<'a, Value>,
    pub(super) key: Key<'a>,
    /// The capture groups, with the whole match first.
    pub(super) groups: Vec<Option<String>>,
}
