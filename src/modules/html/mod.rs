//! HTML, read in one streaming pass: title, `<meta>`, JSON-LD, and what selectors find.
//!
//! No tree is built. Open elements stand on a stack of bounded depth, each with a mask of the selector
//! parts that it and its ancestors matched, so that a page of any shape costs time in proportion to its
//! length.

mod builder;
mod selector;
mod selectors;
mod tags;

pub(crate) use selectors::{SelectorId, Selectors};

use super::text::squeeze;

/// The most bytes of text that one element gives (scripts are not cut: they cannot nest).
const MAX_ELEMENT_TEXT: usize = 20_000;

/// What a pass over a page found.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    /// Lower-case name or property, and content.
    metas: Vec<(String, String)>,
    /// The texts of JSON-LD blocks.
    pub(crate) json_ld: Vec<String>,
    /// All visible text, in order.
    text: String,
    /// All text of scripts and styles, in order.
    raw: String,
    found: Vec<Vec<Element>>,
}

/// An element that a selector found.
#[derive(Debug, Clone, Default)]
pub(crate) struct Element {
    start: usize,
    end: usize,
    is_raw: bool,
    attributes: Vec<(String, String)>,
}

impl Page {
    /// Reads a page.
    pub(crate) fn read(html: &str, selectors: &Selectors) -> Self {
        builder::read(html, selectors)
    }

    /// The elements that a selector found, in document order, at most 1,000.
    pub(crate) fn elements(&self, id: SelectorId) -> &[Element] {
        self.found.get(id.0).map_or(&[], Vec::as_slice)
    }

    /// An element's text: white space squeezed, but for scripts.
    pub(crate) fn text_of(&self, element: &Element) -> String {
        if element.is_raw {
            return self.raw.get(element.start..element.end).unwrap_or_default().trim().to_owned();
        }
        let mut end = element.end.min(element.start + MAX_ELEMENT_TEXT);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        squeeze(self.text.get(element.start..end).unwrap_or_default())
    }

    /// Whether the element's text reaches to the end of all that was read.
    pub(crate) fn is_last(&self, element: &Element) -> bool {
        element.end >= if element.is_raw { self.raw.len() } else { self.text.len() }
    }

    /// The content of the `<meta>`s of that name or property, in order.
    pub(crate) fn metas(&self, name: &str) -> impl Iterator<Item = &str> {
        self.metas.iter().filter(move |(known, _)| known == name).map(|(_, content)| content.as_str())
    }
}

impl Element {
    /// The value of an attribute that the selector set was told to read; `name` in lower case.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The text of an HTML fragment: tags removed, entities decoded.
pub(crate) fn fragment_text(html: &str) -> String {
    squeeze(&Page::read(html, &Selectors::default()).text)
}

#[cfg(test)]
mod tests;
