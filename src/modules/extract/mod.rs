//! Reads the results of a hit with the extractors of its entry.
//!
//! | file | holds |
//! |---|---|
//! | [`source`] | the values or elements that a source finds (`json:/a`, `css:h1`, …) |
//! | [`extractor`] | an extractor: source, selection of elements, transforms, labels, limits |
//! | [`transform`] | the transforms that an extractor can name |
//! | [`findings`] | the results of a hit |
//! | `number` | numbers as people write them |
//! | `fit` | metadata values of the types that their names have |
//! | `valid` | validation of a value by the type of its entity |
//! | [`page_profile`] | generic profile data, such as Open Graph and JSON-LD |

pub(crate) mod extractor;
pub(crate) mod findings;
mod fit;
mod number;
pub(crate) mod page_profile;
mod reading;
pub(crate) mod source;
pub(crate) mod transform;
mod valid;

pub(crate) use reading::{Answers, Reading};
