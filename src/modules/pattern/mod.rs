//! Regexes of the catalogue: those with variables here, and the searches with limited work in `search`.

mod search;

use std::borrow::Cow;

use super::definition::text::entry_text;
use super::template::{FillError, Kind, Template, Values};
pub(crate) use search::{SearchRegex, Searches};

/// A regex that may contain variables.
#[derive(Debug, Clone)]
pub struct Pattern {
    template: Template,
    /// The regex itself, if it has no variables.
    fixed: Option<SearchRegex>,
}

entry_text!(Pattern, Pattern::parse);

impl Pattern {
    /// Parses a template of a regex. The regex itself is compiled when it is first used.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let template = Template::parse(text, Kind::Regex)?;
        let fixed = template.literal().map(SearchRegex::lazy);
        Ok(Self { template, fixed })
    }

    /// Returns the text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.template
    }

    /// Returns the regex with examples as the values of its variables.
    pub(crate) fn example(&self) -> SearchRegex {
        self.fixed.clone().unwrap_or_else(|| SearchRegex::lazy(&self.template.example()))
    }

    /// Returns the regex with the values of this check.
    pub(crate) fn regex(&self, values: &Values<'_>) -> Result<Cow<'_, SearchRegex>, FillError> {
        if let Some(regex) = &self.fixed {
            return Ok(Cow::Borrowed(regex));
        }
        // Only an extremely long value makes a valid regex too large or too expensive.
        let filled = values.searches.filled(self.template.fill(values)?);
        filled.map(Cow::Owned).map_err(|_| FillError::Unfit)
    }

    /// Returns whether the regex matches in `text`. Returns `false` if a variable has no value.
    pub(crate) fn is_found(&self, text: &str, values: &Values<'_>) -> bool {
        self.regex(values).is_ok_and(|regex| regex.is_found(text, values.searches))
    }

    /// Returns whether the regex matches in `text`. If `text` was cut off, the match must end before the
    /// cut, which is not the end of a line, a word or the text.
    pub(crate) fn is_found_in(&self, text: &str, is_cut: bool, values: &Values<'_>) -> bool {
        if !is_cut {
            return self.is_found(text, values);
        }
        self.regex(values).is_ok_and(|regex| regex.is_found_before_end(text, values.searches))
    }

    /// Returns the template of the regex.
    pub(crate) fn template(&self) -> &Template {
        &self.template
    }
}
