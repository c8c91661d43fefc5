//! Regexes of the catalogue: linear time, bounded size.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::template::{FillError, Kind, Template, Values};

/// The most bytes that one compiled regex may take.
const SIZE_LIMIT: usize = 1 << 20;

/// How deep groups may stand in each other.
const NEST_LIMIT: u32 = 50;

/// Compiles a regex that is searched in a text: `^` and `$` match at line ends.
pub(crate) fn search(pattern: &str) -> Result<Regex, String> {
    can_match(pattern)?;
    build(pattern, true).map_err(|error| explain(pattern, &error))
}

/// Compiles a regex that must match a whole text.
pub(crate) fn whole(pattern: &str) -> Result<Regex, String> {
    is_closed(pattern)?;
    build(&format!(r"\A(?:{pattern})\z"), false).map_err(|error| explain(pattern, &error))
}

/// The same for texts that are ASCII: `\w` and the like are small then, where with the letters of all
/// scripts `\w{3,64}` alone would be too large.
pub(crate) fn whole_ascii(pattern: &str) -> Result<Regex, String> {
    is_closed(pattern)?;
    let whole = format!(r"\A(?:{pattern})\z");
    // What speaks of other characters (`.`, `[^a]`) is compiled as it is meant.
    let ascii = builder(&whole, false).unicode(false).build();
    ascii.or_else(|_| build(&whole, false)).map_err(|error| explain(pattern, &error))
}

/// `a)|(b` must not climb out of the brackets around it. Read only: compiling is what takes time.
fn is_closed(pattern: &str) -> Result<(), String> {
    let read = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern);
    // Whatever is wrong, the compiler tells it in its own words.
    if read.is_ok() {
        can_match(pattern)
    } else {
        build(pattern, false).map(|_| ()).map_err(|error| explain(pattern, &error))
    }
}

/// `[a&&b]` is valid, and found nowhere.
fn can_match(pattern: &str) -> Result<(), String> {
    // Nothing else than a class of no characters does that.
    if !["&&", "--", "~~", "[^"].iter().any(|sign| pattern.contains(sign)) {
        return Ok(());
    }
    let read = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern);
    if read.is_ok_and(|read| is_never(&read)) {
        return Err(format!(
            "the regex `{}` matches nothing: a class in it is empty",
            super::text::cut(pattern, 60)
        ));
    }
    Ok(())
}

fn is_never(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Class(Class::Unicode(class)) => class.ranges().is_empty(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().is_empty(),
        HirKind::Repetition(repetition) => repetition.min > 0 && is_never(&repetition.sub),
        HirKind::Capture(capture) => is_never(&capture.sub),
        HirKind::Concat(parts) => parts.iter().any(is_never),
        HirKind::Alternation(parts) => parts.iter().all(is_never),
        _ => false,
    }
}

fn build(pattern: &str, multi_line: bool) -> Result<Regex, regex::Error> {
    builder(pattern, multi_line).build()
}

fn builder(pattern: &str, multi_line: bool) -> RegexBuilder {
    let mut builder = RegexBuilder::new(pattern);
    builder.multi_line(multi_line).size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).nest_limit(NEST_LIMIT);
    builder
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

/// How many filled regexes a thread remembers during a check: those of the conditions that are put to one value after
/// the other.
const RECENT: usize = 8;

thread_local! {
    static FILLED: RefCell<VecDeque<(String, Regex)>> = const { RefCell::new(VecDeque::new()) };
}

/// While it lives, a thread may remember filled regexes; they go with it. A check makes one: between checks
/// nothing stays, for hundreds of check workers that keep some regexes each would hold 100 MB.
pub(crate) struct Remembering(());

impl Remembering {
    pub(crate) fn begin() -> Self {
        Self(())
    }
}

impl Drop for Remembering {
    fn drop(&mut self) {
        FILLED.take();
    }
}

/// How many this thread remembers.
#[cfg(test)]
pub(crate) fn remembered() -> usize {
    FILLED.with_borrow(VecDeque::len)
}

/// The regex of a filled template: compiled for the first of many values, not for each.
fn recent(pattern: String) -> Result<Regex, String> {
    FILLED.with_borrow_mut(|filled| {
        if let Some((_, regex)) = filled.iter().find(|(known, _)| *known == pattern) {
            return Ok(regex.clone());
        }
        let regex = search(&pattern)?;
        filled.truncate(RECENT - 1);
        filled.push_front((pattern, regex.clone()));
        Ok(regex)
    })
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
                recent(pattern).map(Cow::Owned).map_err(|_| FillError::Unfit)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filled_regex_is_compiled_for_the_first_of_many_values_alone() {
        let known = |pattern: &str| {
            FILLED.with_borrow(|filled| filled.iter().filter(|(text, _)| text == pattern).count())
        };
        for _ in 0..3 {
            assert!(recent("^bob$".into()).unwrap().is_match("bob"));
        }
        assert_eq!(known("^bob$"), 1);
        // What is remembered is what is used.
        FILLED.with_borrow_mut(|filled| filled.push_front(("^eve$".into(), search("^mallory$").unwrap())));
        assert!(recent("^eve$".into()).unwrap().is_match("mallory"));
        for number in 0..RECENT {
            recent(format!("^{number}$")).unwrap();
        }
        assert_eq!((known("^bob$"), remembered()), (0, RECENT));
        assert!(recent("(".into()).is_err());
        drop(Remembering::begin());
        assert_eq!(remembered(), 0);
    }

    #[test]
    fn for_ascii_texts_the_alphabets_of_the_world_take_no_place() {
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
