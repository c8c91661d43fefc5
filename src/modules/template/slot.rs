//! The parts of a template and the functions that write them.

use super::escape;
use super::filter::Filter;
use super::place::{FillError, Place};
use crate::modules::keys::OperatorKeys;
use crate::modules::pattern::Searches;
use crate::modules::query::{Query, SearchType};

/// The value that a slot is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    Query,
    Local,
    Domain,
    /// A value that was saved from an earlier probe.
    Saved(String),
    /// A key of the operator.
    Config {
        name: String,
        is_optional: bool,
    },
    /// The value that an extractor read.
    Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub(super) variable: Variable,
    pub(super) filters: Vec<Filter>,
    pub(super) place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    Slot(Slot),
}

/// The values that slots are filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) query: &'a Query,
    /// The query's normal form without the characters that the module strips.
    pub(crate) name: &'a str,
    /// The operator's keys, or `None` in rules and results, which must not contain keys.
    pub(crate) keys: Option<&'a OperatorKeys>,
    pub(crate) saved: &'a Saved,
    /// The value that an extractor read.
    pub(crate) value: Option<&'a str>,
    /// The regex searches of the check.
    pub(crate) searches: &'a Searches,
}

impl<'a> Values<'a> {
    /// Returns the values for rules and results, without keys and without a value that an extractor read.
    pub(crate) fn new(query: &'a Query, name: &'a str, saved: &'a Saved, searches: &'a Searches) -> Self {
        Self { query, name, keys: None, saved, value: None, searches }
    }
}

/// Values that were saved from responses, by name.
pub(crate) type Saved = std::collections::BTreeMap<String, String>;

pub(super) fn write_parts(parts: &[Part], values: &Values<'_>, out: &mut String) -> Result<(), FillError> {
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Slot(slot) => slot.write(values, parts.get(index + 1), out)?,
        }
    }
    Ok(())
}

impl Part {
    /// Returns the text of the part. It is empty for a slot.
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Slot(_) => "",
        }
    }
}

impl Slot {
    /// Returns the filtered value, which is not yet escaped.
    fn value(&self, values: &Values<'_>) -> Result<String, FillError> {
        let raw = match &self.variable {
            Variable::Query => Some(values.name),
            Variable::Local => values.query.local(),
            Variable::Domain => values.query.domain(),
            Variable::Saved(name) => match values.saved.get(name) {
                Some(value) => Some(value.as_str()),
                None => return Err(FillError::NotSaved(name.clone())),
            },
            Variable::Config { name, is_optional } => match values.keys.and_then(|keys| keys.get(name)) {
                Some(value) => Some(value),
                None if *is_optional => return Err(FillError::LeftOut),
                None => return Err(FillError::NoKey(name.clone())),
            },
            Variable::Value => values.value,
        };
        let mut value = raw.ok_or(FillError::NoPart)?.to_owned();
        for filter in &self.filters {
            value = filter.apply(&value, self.place).ok_or(FillError::NoPart)?;
        }
        Ok(value)
    }

    fn write(&self, values: &Values<'_>, next: Option<&Part>, out: &mut String) -> Result<(), FillError> {
        let value = self.value(values)?;
        match self.place {
            Place::Address => escape::address(&value, next.map(Part::text), out),
            Place::Host => escape::host(&value, self.may_hold_dots(values), out),
            place => escape::escape(&value, place, out),
        }
    }

    /// Returns whether the value may contain dots. A username with a dot would lead to another zone than the
    /// site's names.
    fn may_hold_dots(&self, values: &Values<'_>) -> bool {
        match self.variable {
            Variable::Query => values.query.search_type() == SearchType::Domain,
            Variable::Local => false,
            _ => true,
        }
    }
}
