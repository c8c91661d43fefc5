//! Reads HTML or XML in one streaming pass: the title, `<meta>` elements, scripts, and the elements that
//! selectors find.
//!
//! No tree is built. The open elements are on a stack of limited depth. Each has a bit mask of the selector
//! parts that it and its ancestors matched. The time to read a page is therefore proportional to its length,
//! whatever its structure is.

mod builder;
mod page;
mod read;
pub(crate) mod selector;
mod selectors;
mod tags;
mod xml;

pub(crate) use page::{Element, Page, ScriptKind};
pub(crate) use read::{fragment_text, has_xml_prolog};
pub(crate) use selectors::{Selector, SelectorId, Selectors};

#[cfg(test)]
mod tests;
