//! The parts of an entry, with the templates and regexes in them.

use serde::Deserialize;
use serde_json::Value;

use super::entry::Entry;
use super::probe::JsonBody;
use super::read::places;
use super::source::{Reads, Source};
use crate::modules::pattern::SearchRegex;
use crate::modules::template::{Pattern, Template, Variable};

/// A value in an entry.
pub(crate) struct Part {
    /// The path, such as `probes[0].url`.
    pub(crate) at: String,
    pub(crate) value: Value,
    /// The name of the type that parses the text, as the JSON Schema gives it.
    format: &'static str,
    pub(crate) templates: Vec<Template>,
    /// The regex, with examples as the values of its variables.
    pub(crate) regex: Option<SearchRegex>,
}

impl Entry {
    /// Returns all values in the entry. What is inside a value precedes it.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let json = Self::serialize(self, serde_json::value::Serializer).unwrap_or_default();
        let parts = places(&json).into_iter().filter(|place| !place.value.is_null()).map(|place| {
            let format = place.schema["format"].as_str().unwrap_or_default();
            let (templates, regex) = languages(format, &place.value).unwrap_or_default();
            Part { at: place.at, format, templates, regex, value: place.value.into_owned() }
        });
        parts.collect()
    }
}

/// Returns the templates and the regex in a text of this format.
fn languages(format: &str, value: &Value) -> Result<(Vec<Template>, Option<SearchRegex>), serde_json::Error> {
    let of_pattern = |pattern: Pattern| (vec![pattern.template().clone()], Some(pattern.example()));
    Ok(match format {
        "Template" => (vec![Template::deserialize(value)?], None),
        "Pattern" => of_pattern(Pattern::deserialize(value)?),
        "SearchRegex" => (Vec::new(), Some(SearchRegex::deserialize(value)?)),
        "JsonBody" => (JsonBody::deserialize(value)?.templates().to_vec(), None),
        "Source" => match Source::deserialize(value)?.reads {
            Reads::Template(template) => (vec![template], None),
            Reads::Regex(pattern) => of_pattern(pattern),
            _ => (Vec::new(), None),
        },
        _ => (Vec::new(), None),
    })
}

impl Part {
    /// Returns the index of the probe that the part belongs to, and the path in it.
    pub(crate) fn probe(&self) -> Option<(usize, &str)> {
        let (index, path) = self.at.strip_prefix("probes[")?.split_once(']')?;
        Some((index.parse().ok()?, path.trim_start_matches('.')))
    }

    /// Returns whether the part is the `format` of an extractor, or a template with this name in a request.
    pub(crate) fn is_format(&self) -> bool {
        self.format == "Template" && self.at.ends_with(".format")
    }

    /// Returns whether the part is in one of these members of the entry.
    pub(crate) fn is_in(&self, members: &[&str]) -> bool {
        members.iter().any(|member| self.at.strip_prefix(member).is_some_and(|path| path.starts_with('[')))
    }

    /// Returns whether the part compares something with the query, or has a variable for which `is_meant` returns `true`.
    pub(crate) fn asks_for(&self, is_meant: impl Fn(&Variable) -> bool) -> bool {
        (self.at.ends_with(".equals_query") && self.value.is_boolean())
            || (self.at.ends_with(".shows_query") && self.value == true)
            || self.templates.iter().flat_map(Template::variables).any(is_meant)
    }
}
