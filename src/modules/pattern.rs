//! Regexes of the catalogue: linear time, bounded size.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};

use super::template::{FillError, Kind, Template, Values};

/// The most bytes that one compiled regex may take.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles a regex that is searched in a text: `^` and `$` match at line ends.
pub(crate) fn search(pattern: &str) -> Result<Regex, String> {
    build(pattern, true)
}

/// Compiles a regex that must match a whole text.
pub(crate) fn whole(pattern: &str) -> Result<Regex, String> {
    // The pattern is tried alone first, so that `a)|(b` cannot climb out of the brackets.
    build(pattern, false)?;
    build(&format!(r"\A(?:{pattern})\z"), false)
}

fn build(pattern: &str, multi_line: bool) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .multi_line(multi_line)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .nest_limit(50)
        .build()
        .map_err(|error| explain(pattern, &error))
}

/// The reason alone: the library's message draws the pattern over several lines.
fn explain(pattern: &str, error: &regex::Error) -> String {
    let shown = super::text::cut(pattern, 60);
    match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the regex `{shown}` is too large; make its repetitions smaller")
        }
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let variable = ["{query", "{local}", "{domain", "{value}", "{saved.", "{config."]
                .iter()
                .any(|variable| pattern.contains(variable));
            let hint = if variable { "; variables are not filled in at this place" } else { "" };
            format!("the regex `{shown}` is not valid: {reason}{hint}")
        }
    }
}

/// A regex that may hold variables.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Fixed(Regex),
    Filled(Template),
}

impl Pattern {
    /// Reads a template for regexes; tries it with an example where it has variables.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let template = Template::parse(text, Kind::Regex)?;
        match template.literal() {
            Some(pattern) => search(&pattern).map(Self::Fixed),
            None => search(&template.example()).map(|_| Self::Filled(template)),
        }
    }

    /// The regex for this check.
    pub(crate) fn regex(&self, values: &Values<'_>) -> Result<Cow<'_, Regex>, FillError> {
        match self {
            Self::Fixed(regex) => Ok(Cow::Borrowed(regex)),
            Self::Filled(template) => {
                let pattern = template.fill(values)?;
                // Only a value of absurd length makes a regex of ours too large.
                search(&pattern).map(Cow::Owned).map_err(|_| FillError::Unfit)
            }
        }
    }

    /// Whether the regex is found in `text`. Without a value for a variable: no.
    pub(crate) fn is_found(&self, text: &str, values: &Values<'_>) -> bool {
        self.regex(values).is_ok_and(|regex| regex.is_match(text))
    }

    /// As [`Pattern::is_found`]; in a text that was cut off, only where the match ends before the cut,
    /// which is no end of a line, a word or the text.
    pub(crate) fn is_found_in(&self, text: &str, is_cut: bool, values: &Values<'_>) -> bool {
        if !is_cut {
            return self.is_found(text, values);
        }
        self.regex(values).is_ok_and(|regex| regex.find_iter(text).any(|found| found.end() < text.len()))
    }

    pub(crate) fn template(&self) -> Option<&Template> {
        match self {
            Self::Fixed(_) => None,
            Self::Filled(template) => Some(template),
        }
    }
}
