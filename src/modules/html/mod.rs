//! HTML (or XML), read in one streaming pass: title, `<meta>`, scripts, and what selectors find.
//!
//! No tree is built. Open elements stand on a stack of bounded depth, each with a mask of the selector
//! parts that it and its ancestors matched, so that a page of any shape costs time in proportion to its
//! length.

mod builder;
mod selector;
mod selectors;
mod tags;
mod xml;

pub(crate) use selectors::{SelectorId, Selectors};

use std::ops::Range;

use super::text::squeeze;

/// The most bytes of text that one element gives (scripts are not cut: they cannot nest).
const MAX_ELEMENT_TEXT: usize = 20_000;

/// What a pass over a page found.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    /// The address that the page gives as its own.
    pub(crate) canonical: Option<String>,
    /// Lower-case name or property, and content.
    metas: Vec<(String, String)>,
    /// Where scripts stand in `raw`.
    scripts: Vec<Script>,
    /// All text but that of scripts and styles, in order.
    text: String,
    /// Parts of `text` that nobody sees, in order; told apart where a rule asks for it.
    hidden: Vec<Range<usize>>,
    /// All text of scripts and styles, in order.
    raw: String,
    found: Vec<Vec<Element>>,
}

/// What a `<script>` says that it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    LinkedData,
    Json,
    Code,
}

#[derive(Debug)]
struct Script {
    kind: ScriptKind,
    start: usize,
    end: usize,
}

impl ScriptKind {
    /// By the `type` of the element (empty: none); `None` for templates and the like.
    fn of(media_type: &str) -> Option<Self> {
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is = |word| media_type.ends_with(word);
        match media_type.as_str() {
            "application/ld+json" => Some(Self::LinkedData),
            _ if is("json") => Some(Self::Json),
            "" | "module" => Some(Self::Code),
            _ if is("javascript") || is("ecmascript") => Some(Self::Code),
            _ => None,
        }
    }
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

    /// Reads a body that is XML: elements only, and the text of the first `<title>`.
    pub(crate) fn read_xml(xml: &str, selectors: &Selectors) -> Self {
        xml::read(xml, selectors)
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

    /// The text that is shown, white space squeezed.
    pub(crate) fn visible_text(&self) -> String {
        let (mut shown, mut at) = (String::with_capacity(self.text.len()), 0);
        for hidden in &self.hidden {
            shown.push_str(self.text.get(at..hidden.start).unwrap_or_default());
            at = hidden.end;
        }
        shown.push_str(self.text.get(at..).unwrap_or_default());
        squeeze(&shown)
    }

    /// Whether the element's text reaches to the end of all that was read.
    pub(crate) fn is_last(&self, element: &Element) -> bool {
        element.end >= if element.is_raw { self.raw.len() } else { self.text.len() }
    }

    /// The page's scripts that are not empty, in order, at most 300.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = (ScriptKind, &str)> {
        let text = |script: &Script| self.raw.get(script.start..script.end).unwrap_or_default();
        self.scripts.iter().map(move |script| (script.kind, text(script)))
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

/// Whether a body that begins like this says by its prolog that it is XML (XHTML counts as HTML).
pub(crate) fn has_xml_prolog(text: &str) -> bool {
    xml::has_prolog(text)
}

/// The text of an HTML fragment: tags removed, entities decoded.
pub(crate) fn fragment_text(html: &str) -> String {
    squeeze(&Page::read(html, &Selectors::default()).text)
}

#[cfg(test)]
mod tests;
