//! Regexes of the catalogue: those with variables here, and the searches with limited work in `search`.

mod search;

use std::borrow::Cow;

use super::definition::text::entry_text;
use super::template::{FillError, Kind, Template, Values};
pub(crate) use search::{SearchRegex, Searches, WholeRegex};

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

    /// Returns the mistake in the regex, if there is one. Variables are filled with examples.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.fixed {
            Some(regex) => regex.check(),
            None => SearchRegex::lazy(&self.template.example()).check(),
        }
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

/// A text of a rule or an extractor that is filled or searched.
#[derive(Clone, Copy)]
pub(crate) enum Piece<'e> {
    Template(&'e Template),
    Pattern(&'e Pattern),
    Regex(&'e SearchRegex),
}

impl<'e> Piece<'e> {
    /// Returns the mistake in the regex, if there is one.
    pub(crate) fn check(self) -> Result<(), String> {
        match self {
            Self::Template(_) => Ok(()),
            Self::Pattern(pattern) => pattern.check(),
            Self::Regex(regex) => regex.check(),
        }
    }

    /// Returns the template, if the text can have variables.
    pub(crate) fn template(self) -> Option<&'e Template> {
        match self {
            Self::Template(template) => Some(template),
            Self::Pattern(pattern) => Some(pattern.template()),
            Self::Regex(_) => None,
        }
    }

    /// Returns whether the text contains the query or a part of it.
    pub(crate) fn has_query(self) -> bool {
        self.template().is_some_and(Template::has_query)
    }
}
