//! The data that is kept of a page after it was read.

use std::ops::Range;
use std::rc::Rc;

use super::selector::{Compound, Selector};
use crate::modules::text::squeeze;

/// The maximum size of an element's text, in bytes. Scripts are not cut, since they cannot be nested.
const MAX_ELEMENT_TEXT: usize = 20_000;
/// The maximum number of elements that a selector finds.
const MAX_FOUND: usize = 1_000;
/// The maximum number of scripts that are read.
const MAX_SCRIPTS: usize = 300;

/// The data of a page, read in one pass.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) title: Option<String>,
    /// The canonical address that the page states.
    pub(crate) canonical: Option<String>,
    /// The `<meta>` elements, each with its name or property in lower case and its content.
    pub(super) metas: Vec<(String, Rc<str>)>,
    /// The text of the page in order, without scripts and styles.
    pub(super) text: String,
    /// The ranges of `text` that are hidden, in order.
    pub(super) hidden: Vec<Range<usize>>,
    /// The text of scripts and styles, in order.
    pub(super) raw: String,
    /// The elements in document order.
    pub(super) elements: Vec<Element>,
    /// The names and values of all attributes, as ranges of `words`.
    pub(super) attributes: Vec<[Reach; 2]>,
    /// The names of the elements, and the names and values of their attributes.
    pub(super) words: String,
    /// Whether the page has more elements or attributes than are kept. No element can then be proved to be missing.
    pub(crate) is_full: bool,
}

/// A range of bytes or indices. It is half as large as a `Range<usize>`, since a hostile page has many of them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reach {
    start: u32,
    end: u32,
}

impl Reach {
    pub(super) fn new(start: usize, end: usize) -> Self {
        let at = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: at(start), end: at(end) }
    }

    /// Returns the range with another end.
    pub(super) fn to(self, end: usize) -> Self {
        Self::new(self.start as usize, end)
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The kind of a `<script>` element, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    LinkedData,
    Json,
    Code,
}

impl ScriptKind {
    /// Returns the kind for a `type` attribute, which is empty if it is missing. Returns `None` for
    /// templates and other types.
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

/// An element of a page.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    /// The index of the element around it.
    pub(super) parent: Option<u32>,
    /// The range of its name in the words of the page.
    pub(super) name: Reach,
    /// The range of its attributes among those of the page.
    pub(super) attributes: Reach,
    /// The range of its text in the text of the page, or in the raw text.
    pub(super) text: Reach,
    pub(super) is_raw: bool,
}

impl Page {
    /// Returns the elements that a selector finds, in document order, at most 1,000.
    pub(crate) fn select(&self, selector: &Selector) -> Vec<&Element> {
        let found = selector.alternatives().iter().flat_map(|compounds| self.matching(compounds));
        let mut found: Vec<usize> = found.collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().take(MAX_FOUND).map(|index| &self.elements[index]).collect()
    }

    /// Returns the indices of the elements that match the last compound inside elements that match the others. Since
    /// compounds are joined by spaces only, the outermost element that matches a compound is as good as any other.
    fn matching(&self, compounds: &[Compound]) -> Vec<usize> {
        let mut found = Vec::new();
        // How many of the first compounds each element and those around it match.
        let mut inside: Vec<usize> = Vec::with_capacity(self.elements.len());
        for (index, element) in self.elements.iter().enumerate() {
            let mut at = element.parent.map_or(0, |parent| inside[parent as usize]);
            if compounds[at].matches(&self.words[element.name.range()], |name| self.attribute(element, name))
            {
                match at + 1 == compounds.len() {
                    true => found.push(index),
                    false => at += 1,
                }
            }
            inside.push(at);
        }
        found
    }

    /// Returns the value of an attribute. `name` is in lower case. If an attribute is repeated, the first one counts.
    pub(crate) fn attribute(&self, element: &Element, name: &str) -> Option<&str> {
        let attributes = &self.attributes[element.attributes.range()];
        let found = attributes.iter().find(|[known, _]| self.words[known.range()] == *name);
        found.map(|[_, value]| &self.words[value.range()])
    }

    /// Returns the text of an element. White space is normalized, except in scripts.
    pub(crate) fn text_of(&self, element: &Element) -> String {
        let Range { start, end } = element.text.range();
        if element.is_raw {
            return self.raw.get(start..end).unwrap_or_default().trim().to_owned();
        }
        let mut end = end.min(start + MAX_ELEMENT_TEXT);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        squeeze(self.text.get(start..end).unwrap_or_default())
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
        element.text.range().end >= if element.is_raw { self.raw.len() } else { self.text.len() }
    }

    /// Returns the scripts of the page that are not empty, in order, at most 300.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = (ScriptKind, &str)> {
        let script = |element: &Element| {
            let is_script = element.is_raw && self.words[element.name.range()] == *"script";
            let kind = is_script.then(|| ScriptKind::of(self.attribute(element, "type").unwrap_or_default()));
            let text = self.raw.get(element.text.range()).unwrap_or_default();
            Some((kind??, text)).filter(|(_, text)| !text.is_empty())
        };
        self.elements.iter().filter_map(script).take(MAX_SCRIPTS)
    }

    /// Returns the contents of the `<meta>` elements with the given name or property, in order.
    pub(crate) fn metas(&self, name: &str) -> impl Iterator<Item = &str> {
        self.metas.iter().filter(move |(known, _)| known == name).map(|(_, content)| &**content)
    }
}
