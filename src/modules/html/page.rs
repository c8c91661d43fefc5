//! The data that is kept of a page after it was read.

use std::ops::Range;

use super::selectors::SelectorId;
use crate::modules::text::squeeze;

/// The maximum size of an element's text, in bytes. Scripts are not cut, since they cannot be nested.
const MAX_ELEMENT_TEXT: usize = 20_000;

/// The data of a page, read in one pass.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    /// The canonical address that the page states.
    pub(crate) canonical: Option<String>,
    /// The `<meta>` elements, each with its name or property in lower case and its content.
    pub(super) metas: Vec<(String, String)>,
    /// The positions of scripts in `raw`.
    pub(super) scripts: Vec<Script>,
    /// The text of the page in order, without scripts and styles.
    pub(super) text: String,
    /// The ranges of `text` that are hidden, in order. They are recorded only if a rule needs them.
    pub(super) hidden: Vec<Range<usize>>,
    /// The text of scripts and styles, in order.
    pub(super) raw: String,
    pub(super) found: Vec<Vec<Element>>,
}

/// The kind of a `<script>` element, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    LinkedData,
    Json,
    Code,
}

#[derive(Debug)]
pub(super) struct Script {
    pub(super) kind: ScriptKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl ScriptKind {
    /// Returns the kind for a `type` attribute, which is empty if it is missing. Returns `None` for
    /// templates and other types.
    pub(super) fn of(media_type: &str) -> Option<Self> {
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

/// An element that was found by a selector.
#[derive(Debug, Clone, Default)]
pub(crate) struct Element {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_raw: bool,
    pub(super) attributes: Vec<(String, String)>,
}

impl Page {
    /// Returns the elements that a selector found, in document order, at most 1,000.
    pub(crate) fn elements(&self, id: SelectorId) -> &[Element] {
        self.found.get(id.0).map_or(&[], Vec::as_slice)
    }

    /// Returns the text of an element. White space is normalized, except in scripts.
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

    /// Returns the visible text of the page, with white space normalized.
    pub(crate) fn visible_text(&self) -> String {
        let (mut shown, mut at) = (String::with_capacity(self.text.len()), 0);
        for hidden in &self.hidden {
            shown.push_str(self.text.get(at..hidden.start).unwrap_or_default());
            at = hidden.end;
        }
        shown.push_str(self.text.get(at..).unwrap_or_default());
        squeeze(&shown)
    }

    /// Returns whether the element's text extends to the end of the text that was read.
    pub(crate) fn is_last(&self, element: &Element) -> bool {
        element.end >= if element.is_raw { self.raw.len() } else { self.text.len() }
    }

    /// Returns the scripts of the page that are not empty, in order, at most 300.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = (ScriptKind, &str)> {
        let text = |script: &Script| self.raw.get(script.start..script.end).unwrap_or_default();
        self.scripts.iter().map(move |script| (script.kind, text(script)))
    }

    /// Returns the contents of the `<meta>` elements with the given name or property, in order.
    pub(crate) fn metas(&self, name: &str) -> impl Iterator<Item = &str> {
        self.metas.iter().filter(move |(known, _)| known == name).map(|(_, content)| content.as_str())
    }
}

impl Element {
    /// Returns the value of an attribute that was requested when the selector was added. `name` is in lower
    /// case.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}
