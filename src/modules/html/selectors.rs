//! The selectors of a module, which are all searched in one pass over a page.

use std::rc::Rc;

use super::selector::{self, Compound};
use crate::modules::definition::text::entry_text;

/// The maximum number of compounds in all selectors of a module, which bounds the time for each element.
const MAX_COMPOUNDS: usize = 128;

/// The index of a selector in its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SelectorId(pub(super) usize);

/// A CSS selector of an entry.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    text: String,
}

entry_text!(Selector, Selector::parse);

impl Selector {
    /// Checks the text of a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        selector::parse(text).map(|_| Self { text: text.to_owned() })
    }

    /// Returns the text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

/// For each alternative of the selectors, how many of its first compounds an element and its ancestors match. The
/// children of an element share it, as far as they match no more.
pub(super) type Progress = Rc<[u8]>;

/// The selectors of a module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selectors {
    texts: Vec<String>,
    /// The alternatives, which are separated by commas in a selector, each with the index of its selector.
    alternatives: Vec<(usize, Vec<Compound>)>,
    /// The attributes that results are read from.
    wanted: Vec<String>,
    /// The attributes in `wanted`, and those that compounds test.
    seen: Vec<String>,
    /// Whether a rule distinguishes visible text from hidden text.
    sees_visibility: bool,
}

impl Selectors {
    /// Records that this attribute (in lower case) will be read from elements.
    pub(crate) fn want(&mut self, attribute: &str) {
        remember(&mut self.seen, attribute);
        remember(&mut self.wanted, attribute);
    }

    /// Records that hidden text must be distinguished from visible text.
    pub(crate) fn want_visibility(&mut self) {
        self.sees_visibility = true;
    }

    /// Returns whether hidden text must be distinguished from visible text.
    pub(super) fn sees_visibility(&self) -> bool {
        self.sees_visibility
    }

    /// Adds a selector. `attribute` is the attribute that will be read from the elements that it finds.
    pub(crate) fn add(&mut self, text: &str, attribute: Option<&str>) -> Result<SelectorId, String> {
        if let Some(attribute) = attribute {
            self.want(&attribute.to_ascii_lowercase());
        }
        if let Some(known) = self.id(text) {
            return Ok(known);
        }
        let (id, list) = (self.texts.len(), selector::parse(text)?);
        let known = self.alternatives.iter().map(|(_, compounds)| compounds);
        if known.chain(&list).map(Vec::len).sum::<usize>() > MAX_COMPOUNDS {
            return Err(format!("the module's selectors have more than {MAX_COMPOUNDS} parts in all"));
        }
        for compounds in list {
            for test in compounds.iter().flat_map(|compound| &compound.tests) {
                remember(&mut self.seen, &test.name);
            }
            self.alternatives.push((id, compounds));
        }
        self.texts.push(text.to_owned());
        Ok(SelectorId(id))
    }

    /// Returns the index of a selector that was added.
    pub(crate) fn id(&self, text: &str) -> Option<SelectorId> {
        self.texts.iter().position(|known| known == text).map(SelectorId)
    }

    /// Returns the number of selectors.
    pub(super) fn count(&self) -> usize {
        self.texts.len()
    }

    /// Returns whether a rule needs this attribute.
    pub(super) fn is_seen(&self, attribute: &str) -> bool {
        self.seen.iter().any(|seen| seen == attribute)
    }

    pub(super) fn wanted(&self) -> &[String] {
        &self.wanted
    }

    /// Returns the progress outside of all elements.
    pub(super) fn start(&self) -> Progress {
        vec![0; self.alternatives.len()].into()
    }

    /// Returns the selectors that find an element, and the progress inside it. `above` is that of its parent. Since
    /// compounds are joined by spaces only, the outermost element that matches a compound is as good as any other.
    pub(super) fn test<'e>(
        &self,
        above: &Progress,
        tag: &str,
        attribute: impl Fn(&str) -> Option<&'e str>,
    ) -> (Vec<usize>, Progress) {
        let (mut found, mut inside) = (Vec::new(), Progress::clone(above));
        for (index, (id, compounds)) in self.alternatives.iter().enumerate() {
            let at = usize::from(above[index]);
            if !compounds[at].matches(tag, &attribute) {
                continue;
            }
            if at + 1 == compounds.len() {
                found.push(*id);
            } else {
                Rc::make_mut(&mut inside)[index] += 1;
            }
        }
        found.dedup();
        (found, inside)
    }
}

fn remember(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
