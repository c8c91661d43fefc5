//! Reads HTML in one streaming pass: the title, `<meta>` elements, scripts, and the elements that selectors find.
//!
//! No tree is built. The open elements are on a stack of limited depth, each with how far the selectors have come inside
//! it. The time to read a page is therefore proportional to its length, whatever its structure is.

mod builder;
mod page;
pub(crate) mod selector;
mod selectors;
mod tags;

pub(crate) use builder::fragment_text;
pub(crate) use page::{Element, Page, ScriptKind};
pub(crate) use selectors::{Selector, Selectors};

#[cfg(test)]
mod tests;
