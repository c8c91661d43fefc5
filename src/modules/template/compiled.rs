//! A compiled template and the functions that fill it.

use super::filter::Filter;
use super::optional;
use super::parse;
use super::place::{FillError, Kind, Place};
use super::slot::{Part, Slot, Values, Variable, write_parts};

/// A text with slots for values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    pub(super) parts: Vec<Part>,
    pub(super) kind: Kind,
}

impl Template {
    /// Parses a template. The error describes the mistake and the allowed values.
    pub(crate) fn parse(text: &str, kind: Kind) -> Result<Self, String> {
        parse::parse(text, kind).map(|parts| Self { parts, kind })
    }

    /// Returns the text if the template has no slots.
    pub(crate) fn literal(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Slot(_) => None,
            })
            .collect()
    }

    /// Returns the texts before and after the query, if that is the only slot and is filled with the name as it is (in
    /// lower case at most).
    pub(crate) fn around_query(&self) -> Option<(&str, &str)> {
        let is_name = |slot: &Slot| {
            slot.variable == Variable::Query && slot.filters.iter().all(|filter| *filter == Filter::Lower)
        };
        match self.parts.as_slice() {
            [Part::Text(before), Part::Slot(slot)] if is_name(slot) => Some((before, "")),
            [Part::Text(before), Part::Slot(slot), Part::Text(after)] if is_name(slot) => {
                Some((before, after))
            }
            _ => None,
        }
    }

    /// Returns the texts between the slots, for validation.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Slot(_) => None,
        })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.slots().map(|slot| &slot.variable)
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Slot(slot) => Some(slot),
        })
    }

    /// Returns whether the filled template contains the query, or a part of it, in clear text (not as a
    /// hash).
    pub(crate) fn shows_query(&self) -> bool {
        self.slots().any(|slot| {
            matches!(slot.variable, Variable::Query | Variable::Local | Variable::Domain)
                && !slot.filters.iter().any(|filter| filter.is_hash())
        })
    }

    /// Returns whether the template contains a key that may be missing.
    pub(crate) fn is_optional(&self) -> bool {
        self.variables().any(|variable| matches!(variable, Variable::Config { is_optional: true, .. }))
    }

    /// Returns the template with every slot filled with a harmless word, to validate the text around the
    /// slots.
    pub(crate) fn example(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Slot(Slot { place: Place::Address, .. }) => "https://example.com/",
                Part::Slot(_) => "example",
            })
            .collect()
    }

    /// Fills every slot with its value.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<String, FillError> {
        let mut out = String::new();
        match self.kind {
            Kind::Url if self.is_optional() => optional::write_url(&self.parts, values, &mut out)?,
            _ => write_parts(&self.parts, values, &mut out)?,
        }
        if self.kind == Kind::Url && has_dot_segment(&out) {
            return Err(FillError::Unfit);
        }
        Ok(out)
    }
}

/// Returns whether a path segment is `.` or `..`. A URL parser would resolve it to another path, even if it
/// is escaped.
fn has_dot_segment(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).skip(1).any(|segment| matches!(segment, "." | ".."))
}
