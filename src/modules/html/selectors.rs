//! The selectors of a module, which are tested together with one bit for each compound.

use super::selector::{self, Combinator, Compound};
use crate::modules::definition::text::entry_text;

/// The maximum number of compounds in all selectors of a module. It is the number of bits in a mask.
const MAX_COMPOUNDS: usize = 128;

/// A set of compounds, with one bit for each.
pub(super) type Mask = u128;

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

/// The selectors of a module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selectors {
    texts: Vec<String>,
    compounds: Vec<Compound>,
    /// For each compound, the selector that it completes, if any.
    completes: Vec<Option<usize>>,
    /// The compounds that begin a selector.
    first: Mask,
    /// The compounds whose successor may be any descendant.
    before_descendant: Mask,
    /// The compounds whose successor must be a child.
    before_child: Mask,
    /// The attributes that results are read from.
    wanted: Vec<String>,
    /// The attributes in `wanted`, and those that compounds test.
    seen: Vec<String>,
    /// Whether a rule distinguishes visible text from hidden text.
    sees_visibility: bool,
}

/// The state that an element passes to its children.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inherited {
    /// The compounds that the parent or one of its ancestors matched.
    pub(super) above: Mask,
    /// The compounds that the parent itself matched.
    pub(super) parent: Mask,
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
        let list = selector::parse(text)?;
        let id = self.texts.len();
        if self.compounds.len() + list.iter().map(Vec::len).sum::<usize>() > MAX_COMPOUNDS {
            return Err(format!("the module's selectors have more than {MAX_COMPOUNDS} parts in all"));
        }
        self.texts.push(text.to_owned());
        for complex in list {
            let last = complex.len() - 1;
            for (index, (combinator, compound)) in complex.into_iter().enumerate() {
                self.push(compound, combinator, index == 0, (index == last).then_some(id));
            }
        }
        Ok(SelectorId(id))
    }

    /// Returns the index of a selector that was added.
    pub(crate) fn id(&self, text: &str) -> Option<SelectorId> {
        self.texts.iter().position(|known| known == text).map(SelectorId)
    }

    fn push(&mut self, compound: Compound, combinator: Combinator, is_first: bool, completes: Option<usize>) {
        let bit = 1 << self.compounds.len();
        if is_first {
            self.first |= bit;
        } else {
            match combinator {
                Combinator::Descendant => self.before_descendant |= bit >> 1,
                Combinator::Child => self.before_child |= bit >> 1,
            }
        }
        for test in &compound.tests {
            remember(&mut self.seen, &test.name);
        }
        self.compounds.push(compound);
        self.completes.push(completes);
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

    /// Returns the compounds that an element matches. Only those that its ancestors allow are tested.
    pub(super) fn test<'e>(
        &self,
        inherited: Inherited,
        tag: &str,
        attribute: impl Fn(&str) -> Option<&'e str>,
    ) -> Mask {
        let mut open = self.first
            | (inherited.above & self.before_descendant) << 1
            | (inherited.parent & self.before_child) << 1;
        let mut matched = 0;
        while open != 0 {
            let index = open.trailing_zeros() as usize;
            open &= open - 1;
            if self.compounds[index].matches(tag, &attribute) {
                matched |= 1 << index;
            }
        }
        matched
    }

    /// Returns the selectors that the given compounds complete.
    pub(super) fn completed(&self, mut matched: Mask) -> impl Iterator<Item = usize> {
        std::iter::from_fn(move || {
            while matched != 0 {
                let index = matched.trailing_zeros() as usize;
                matched &= matched - 1;
                if let Some(id) = self.completes[index] {
                    return Some(id);
                }
            }
            None
        })
    }
}

fn remember(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
