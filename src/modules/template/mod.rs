//! Templates: parsed once, filled with every value escaped for the place where it stands.
//!
//! See [`super::definition`] for the language.

use super::keys::OperatorKeys;
use super::query::{Query, SearchType};

mod escape;
mod filter;
mod host;
mod optional;
mod parse;

use filter::Filter;
pub(crate) use filter::hex;
pub(crate) use host::Host;
pub(crate) use parse::is_name;

/// What a template's text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Url,
    Header,
    /// Text inside a JSON string that is written by hand.
    Json,
    /// A form-encoded body that is written by hand.
    Form,
    Xml,
    Regex,
    /// Nothing to escape from: whoever uses the text escapes it as a whole.
    Plain,
}

/// Where a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A whole address at the start of a URL.
    Address,
    Host,
    Path,
    UrlQuery,
    Header,
    Json,
    Form,
    Xml,
    Regex,
    Plain,
}

/// What a slot asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    Query,
    Local,
    Domain,
    /// From an earlier probe.
    Saved(String),
    /// An operator's key.
    Config {
        name: String,
        is_optional: bool,
    },
    /// What leads to the next page.
    Page,
    /// The value that an extractor read.
    Value,
}

#[derive(Debug, Clone, PartialEq)]
struct Slot {
    variable: Variable,
    filters: Vec<Filter>,
    place: Place,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Slot(Slot),
}

/// A text with slots.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Template {
    parts: Vec<Part>,
    kind: Kind,
}

/// What slots are filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) query: &'a Query,
    /// The query's normal form without the characters that the module strips.
    pub(crate) name: &'a str,
    /// No keys: rules and results must not hold them.
    pub(crate) keys: Option<&'a OperatorKeys>,
    pub(crate) saved: &'a Saved,
    /// What an extractor read, or what leads to the next page.
    pub(crate) value: Option<&'a str>,
}

/// Values saved from answers, by name.
pub(crate) type Saved = std::collections::BTreeMap<String, String>;

/// Why a template cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FillError {
    /// The query has no such part (a username has no domain).
    NoPart,
    /// The operator gave no key of that name.
    NoKey(String),
    /// The operator gave no key of that name, and none is needed: what holds it is left out.
    LeftOut,
    /// No earlier answer gave a value of that name.
    NotSaved(String),
    /// The value cannot stand there: no host name, a path segment `..`, a line break in a header.
    Unfit,
}

impl Template {
    /// Reads a template. The error says what is wrong and what is allowed.
    pub(crate) fn parse(text: &str, kind: Kind) -> Result<Self, String> {
        parse::parse(text, kind).map(|parts| Self { parts, kind })
    }

    /// The text, if there are no slots.
    pub(crate) fn literal(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Slot(_) => None,
            })
            .collect()
    }

    /// The text between the slots, for validation.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Slot(_) => None,
        })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.slots().map(|slot| &slot.variable)
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Slot(slot) => Some(slot),
        })
    }

    /// Whether the query, or a part of it, stands in it in clear text (no hash).
    pub(crate) fn shows_query(&self) -> bool {
        self.slots().any(|slot| {
            matches!(slot.variable, Variable::Query | Variable::Local | Variable::Domain)
                && !slot.filters.iter().any(|filter| filter.is_hash())
        })
    }

    /// Whether it holds a key that may be missing.
    pub(crate) fn is_optional(&self) -> bool {
        self.variables().any(|variable| matches!(variable, Variable::Config { is_optional: true, .. }))
    }

    /// Every slot filled with a harmless word: to try what surrounds them.
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

    /// Fills every slot.
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

fn write_parts(parts: &[Part], values: &Values<'_>, out: &mut String) -> Result<(), FillError> {
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Slot(slot) => slot.write(values, parts.get(index + 1), out)?,
        }
    }
    Ok(())
}

impl Slot {
    /// The filtered value, not yet escaped.
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
            Variable::Value | Variable::Page => values.value,
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
            Place::Address => escape::address(&value, next, out),
            Place::Host => escape::host(&value, self.may_hold_dots(values), out),
            place => escape::escape(&value, place, out),
        }
    }

    /// A username with a dot would reach into another zone than the site's own names.
    fn may_hold_dots(&self, values: &Values<'_>) -> bool {
        match self.variable {
            Variable::Query => values.query.search_type() == SearchType::Domain,
            Variable::Local => false,
            _ => true,
        }
    }
}

/// Whether a path segment is `.` or `..`: URL parsers would climb, however it is escaped.
fn has_dot_segment(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).skip(1).any(|segment| matches!(segment, "." | ".."))
}

#[cfg(test)]
mod tests;
