//! Reads the results of a hit with the extractors of its entry.
//!
//! | file | holds |
//! |---|---|
//! | [`extractor`] | an extractor: its sources (`json:/a`, `css:h1`, …), selection of elements, transforms, labels, limits |
//! | [`transform`] | the transforms that an extractor can name |
//! | [`findings`] | the results of a hit |
//! | `number` | numbers as people write them |
//! | `valid` | validation of a value by the type of its entity, or of its name in metadata |
//! | [`page_profile`] | generic profile data, such as Open Graph and JSON-LD |

pub(crate) mod extractor;
pub(crate) mod findings;
mod number;
pub(crate) mod page_profile;
pub(crate) mod transform;
mod valid;

use std::borrow::Cow;

use serde_json::Value;

use super::answer::Answer;
use super::pointer::Key;
use super::template::Values;

/// The responses of a check, indexed by probe.
pub(crate) struct Answers<'r>(pub(crate) Vec<Option<Answer<'r>>>);

impl<'r> Answers<'r> {
    /// Returns the index of the last response that was obtained.
    pub(crate) fn last(&self) -> Option<usize> {
        self.0.iter().rposition(Option::is_some)
    }

    /// Returns the response of the given probe, or the last one that was obtained if `probe` is `None`.
    pub(crate) fn get(&self, probe: Option<usize>) -> Option<&Answer<'r>> {
        self.0.get(probe.or_else(|| self.last())?)?.as_ref()
    }

    /// Returns the last response that is a page.
    pub(crate) fn page(&self) -> Option<&Answer<'r>> {
        self.0.iter().rev().flatten().find(|answer| answer.is_page())
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
    key: Key<'a>,
    /// The capture groups, with the whole match first.
    groups: Vec<Option<String>>,
}
