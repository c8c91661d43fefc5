//! Reads HTML in one streaming pass: the title, `<meta>` elements, and the elements in document order, in which selectors
//! search.
//!
//! No tree is built. The open elements are on a stack of limited depth, and each element knows the one around it. The time
//! to read a page, and to search it for a selector, is therefore proportional to its length, whatever its structure is.

mod page;
mod reader;
pub(crate) mod selector;

#[cfg(test)]
mod tests;

pub(crate) use page::{Element, Page, ScriptKind};
pub(crate) use reader::fragment_text;
pub(crate) use selector::Selector;
