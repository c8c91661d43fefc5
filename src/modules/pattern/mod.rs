//! Regexes of the catalogue, with linear time, limited size and limited work.
//!
//! | file | holds |
//! |---|---|
//! | here | regexes with variables, and regexes of a whole text |
//! | `compile` | compiles a regex and explains the mistakes in it |
//! | `cost` | the cost of a regex per byte of text, and its limit |
//! | `search` | searches in texts from sites, with limited work |

mod compile;
mod cost;
mod search;

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::Regex;

use super::definition::text::entry_text;
use super::template::{FillError, Kind, Template, Values};
pub(crate) use compile::whole;
use compile::whole_ascii;
pub(crate) use search::{SearchRegex, Searches};

/// A regex of an entry that must match a whole text. It is compiled when it is first used.
#[derive(Debug, Clone)]
pub(crate) struct WholeRegex {
    is_ascii: bool,
    regex: OnceLock<Option<Regex>>,
}

impl WholeRegex {
    /// With `is_ascii`, only ASCII texts are matched.
    pub(crate) fn new(is_ascii: bool) -> Self {
        Self { is_ascii, regex: OnceLock::new() }
    }

    /// Returns the mistake in the regex, if there is one.
    pub(crate) fn check(&self, pattern: &str) -> Result<Regex, String> {
        if self.is_ascii { whole_ascii(pattern) } else { whole(pattern) }
    }

    /// Returns whether the regex matches the whole text.
    pub(crate) fn is_match(&self, pattern: &str, text: &str) -> bool {
        self.regex.get_or_init(|| self.check(pattern).ok()).as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

/// A regex that may contain variables.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    form: Form,
}

#[derive(Debug, Clone)]
enum Form {
    Fixed(SearchRegex),
    Filled(Template),
}

entry_text!(Pattern, Pattern::parse);

impl Pattern {
    /// Parses a template of a regex. The regex itself is compiled when it is first used.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let template = Template::parse(text, Kind::Regex)?;
        let form = match template.literal() {
            Some(pattern) => Form::Fixed(SearchRegex::lazy(&pattern)),
            None => Form::Filled(template),
        };
        Ok(Self { text: text.to_owned(), form })
    }

    /// Returns the text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the mistake in the regex, if there is one. Variables are filled with examples.
    pub(crate) fn check(&self) -> Result<(), String> {
        match &self.form {
            Form::Fixed(regex) => regex.check(),
            Form::Filled(template) => SearchRegex::lazy(&template.example()).check(),
        }
    }

    /// Returns the regex with the values of this check.
    pub(crate) fn regex(&self, values: &Values<'_>) -> Result<Cow<'_, SearchRegex>, FillError> {
        match &self.form {
            Form::Fixed(regex) => Ok(Cow::Borrowed(regex)),
            Form::Filled(template) => {
                let pattern = template.fill(values)?;
                // Only an extremely long value makes a valid regex too large or too expensive.
                values.searches.filled(pattern).map(Cow::Owned).map_err(|_| FillError::Unfit)
            }
        }
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

    /// Returns the regex if it has no variables.
    pub(crate) fn literal(&self) -> Option<String> {
        match &self.form {
            Form::Fixed(regex) => Some(regex.to_string()),
            Form::Filled(_) => None,
        }
    }

    /// Returns the template, if the regex contains variables.
    pub(crate) fn template(&self) -> Option<&Template> {
        match &self.form {
            Form::Fixed(_) => None,
            Form::Filled(template) => Some(template),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unicode_classes_are_small_for_ascii_texts() {
        let wide = r"[\w.-]{3,64}";
        assert!(whole(wide).is_err_and(|error| error.contains("too large")));
        let ascii = whole_ascii(wide).unwrap();
        assert!(ascii.is_match("bob.1-x") && !ascii.is_match("bo") && !ascii.is_match("bob 1"));
        for pattern in ["[^/]+", ".{2,5}", r"\p{L}+", "(?i)[a-k]+", "a|bc"] {
            let (ascii, any) = (whole_ascii(pattern).unwrap(), whole(pattern).unwrap());
            for text in ["a", "bc", "ab", "K", "a/b", "abcdef", "", "a\nb"] {
                assert_eq!(ascii.is_match(text), any.is_match(text), "{pattern} {text:?}");
            }
        }
        for pattern in ["a)|(b", "(", "[a", "a{2000000}"] {
            assert_eq!(whole_ascii(pattern).err(), whole(pattern).err());
            assert!(whole(pattern).is_err(), "{pattern}");
        }
    }
}
