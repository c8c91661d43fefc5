//! Regexes of the catalogue, with linear time, limited size and limited work.
//!
//! | file | holds |
//! |---|---|
//! | `cost` | the cost of a regex per byte of text, and its limit |
//! | `search` | searches in texts from sites, with a time limit |

mod compile;
mod cost;
mod search;

use std::borrow::Cow;
use std::sync::OnceLock;

use regex::Regex;

use super::mistake::Mistakes;
use super::template::{FillError, Kind, Template, Values};
pub(crate) use compile::whole;
use compile::whole_ascii;
pub(crate) use search::{SearchRegex, Searches};

/// Reads a regex of an entry that is searched in a text, and notes the mistakes in it. The regexes of a proven entry
/// are compiled when they are first used.
pub(crate) fn read_search(pattern: &str, mistakes: &mut Mistakes) -> Option<SearchRegex> {
    match mistakes.is_proven() {
        true => Some(SearchRegex::lazy(pattern)),
        false => mistakes.take(search(pattern)),
    }
}

/// Compiles a regex that is searched in a text. `^` and `$` also match at the ends of lines.
pub(crate) fn search(pattern: &str) -> Result<SearchRegex, String> {
    SearchRegex::compile(pattern)
}

/// A regex of an entry that must match a whole text.
#[derive(Debug, Clone)]
pub(crate) struct WholeRegex {
    pattern: String,
    is_ascii: bool,
    regex: OnceLock<Regex>,
}

impl WholeRegex {
    /// Reads a regex and notes the mistakes in it. With `is_ascii`, only ASCII texts are matched. The regex of a proven
    /// entry is compiled when it is first used.
    pub(crate) fn read(pattern: &str, is_ascii: bool, mistakes: &mut Mistakes) -> Option<Self> {
        let read = Self { pattern: pattern.to_owned(), is_ascii, regex: OnceLock::new() };
        if !mistakes.is_proven() {
            let regex = mistakes.take(read.compile())?;
            read.regex.get_or_init(|| regex);
        }
        Some(read)
    }

    fn compile(&self) -> Result<Regex, String> {
        if self.is_ascii { whole_ascii(&self.pattern) } else { whole(&self.pattern) }
    }

    /// Returns whether the regex matches the whole text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.get_or_init(|| self.compile().expect("the pattern is valid")).is_match(text)
    }
}

/// A regex that may contain variables.
#[derive(Debug, Clone)]
pub(crate) enum Pattern {
    Fixed(SearchRegex),
    Filled(Template),
}

impl Pattern {
    /// Reads a template of a regex and notes the mistakes in it. If it contains variables, it is compiled with example
    /// values to find them.
    pub(crate) fn read(text: &str, mistakes: &mut Mistakes) -> Option<Self> {
        let template = mistakes.take(Template::parse(text, Kind::Regex))?;
        match template.literal() {
            Some(pattern) => read_search(&pattern, mistakes).map(Self::Fixed),
            None if mistakes.is_proven() => Some(Self::Filled(template)),
            None => mistakes.take(search(&template.example())).map(|_| Self::Filled(template)),
        }
    }

    /// Returns the regex with the values of this check.
    pub(crate) fn regex(&self, values: &Values<'_>) -> Result<Cow<'_, SearchRegex>, FillError> {
        match self {
            Self::Fixed(regex) => Ok(Cow::Borrowed(regex)),
            Self::Filled(template) => {
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

    /// Returns the number of capture groups, with the whole match as the first, or `None` if the regex is not valid
    /// with example values.
    pub(crate) fn groups(&self) -> Option<usize> {
        match self {
            Self::Fixed(regex) => Some(regex.regex().captures_len()),
            Self::Filled(template) => {
                search(&template.example()).ok().map(|regex| regex.regex().captures_len())
            }
        }
    }

    pub(crate) fn template(&self) -> Option<&Template> {
        match self {
            Self::Fixed(_) => None,
            Self::Filled(template) => Some(template),
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
        for pattern in ["[a&&b]", "x[a--a]", r"[^\s\S]"] {
            assert!(search(pattern).is_err_and(|error| error.contains("matches nothing")), "{pattern}");
            assert!(whole_ascii(pattern).is_err_and(|error| error.contains("matches nothing")), "{pattern}");
        }
        for pattern in ["[a&&b]|c", "[a&&b]?", "[a-z&&[^b]]", "[a--b]"] {
            assert!(search(pattern).is_ok(), "{pattern}");
        }
        for pattern in ["a)|(b", "(", "[a", "a{2000000}"] {
            assert_eq!(whole_ascii(pattern).err(), whole(pattern).err());
            assert!(whole(pattern).is_err(), "{pattern}");
        }
    }
}
