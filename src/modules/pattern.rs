//! Searches in texts from sites, with linear time, limited size and limited work.
//!
//! If the engine's fast automata give up, the engine follows all states of a search in parallel. The number of those states
//! is at most the number of positions in the pattern, with its repetitions written out. In the worst cases that were
//! measured, one position takes 20 to 45 ns per byte on common hardware.
//!
//! A search cannot be interrupted. The time is therefore checked before each search, and of a text in which a search could
//! take long only the beginning is searched.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use regex::{Captures, Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use super::definition::text::entry_text;
use super::text::truncate;

/// The maximum size of a compiled regex, in bytes.
const SIZE_LIMIT: usize = 1 << 20;
/// The maximum depth of nested groups.
const NEST_LIMIT: u32 = 50;
/// The maximum cost of a regex for each byte of the searched text. The most expensive one of the built-in catalogue costs 600.
const MAX_COST: usize = 1_000;

/// The text in which a regex is to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Any part of a text. `^` and `$` also match at the ends of lines.
    Part,
    /// A whole text.
    Whole,
    /// A whole ASCII text. Classes such as `\w` are small then. With the letters of all scripts, `\w{3,64}` alone would
    /// be too large.
    WholeAscii,
}

/// Compiles a regex, and estimates its cost for each byte.
fn compile(pattern: &str, subject: Subject) -> Result<(Regex, usize), String> {
    let shown = truncate(pattern, 60);
    let parsed = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern);
    let cost = parsed.as_ref().map_or(0, positions);
    if cost > MAX_COST {
        return Err(format!(
            "the regex `{shown}` is too costly: with its repetitions written out it has {cost} positions, \
             expected {MAX_COST}"
        ));
    }
    // An invalid pattern such as `a)|(b`, which would leave the group around it, is compiled for the error message.
    let is_whole = subject != Subject::Part && parsed.is_ok();
    let text = if is_whole { format!(r"\A(?:{pattern})\z") } else { pattern.to_owned() };
    let build = |is_unicode: bool| {
        let mut builder = RegexBuilder::new(&text);
        builder.unicode(is_unicode).multi_line(!is_whole).nest_limit(NEST_LIMIT);
        builder.size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).build()
    };
    // A pattern that can match other characters, such as `.` or `[^a]`, is compiled with Unicode support.
    let ascii = if subject == Subject::WholeAscii { build(false).ok() } else { None };
    let regex = ascii.map_or_else(|| build(true), Ok).map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the regex `{shown}` is too large; make its repetitions smaller")
        }
        other => {
            // The library's message draws the pattern over several lines.
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let variables = ["{query", "{local}", "{domain", "{value}", "{saved.", "{config."];
            let has_variable = variables.iter().any(|variable| pattern.contains(variable));
            let hint = if has_variable { "; variables are not filled in at this place" } else { "" };
            format!("the regex `{shown}` is not valid: {reason}{hint}")
        }
    })?;
    Ok((regex, cost))
}

/// Returns the number of positions in a pattern, with its repetitions written out. The recursion is limited by
/// [`NEST_LIMIT`].
fn positions(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Capture(capture) => 1 + positions(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, usize::saturating_add)
        }
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or_else(|| repetition.min.saturating_add(1)).max(1);
            positions(&repetition.sub).saturating_mul(times as usize)
        }
    }
}

/// The most work of one search, in positions of the regex times bytes of the text. It takes a few seconds at worst.
const MAX_WORK: usize = 160 * 1024 * 1024;
/// The work below which a search begins without checking the time.
const SMALL_WORK: usize = 100_000;
/// The minimum time for the rules of a check after each response, even if the deadline is closer.
const LEAST_TIME: Duration = Duration::from_secs(2);
/// The number of filled regexes that are cached. It is enough for the conditions that are tested on one
/// value after another.
const RECENT: usize = 8;

/// The regex searches of one check: their time limit, and a cache of the regexes that were filled for them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Searches {
    /// The end of the time for searches, or `None` for no limit.
    until: Cell<Option<Instant>>,
    is_out_of_time: Cell<bool>,
    is_cut: Cell<bool>,
    filled: RefCell<VecDeque<(String, SearchRegex)>>,
}

impl Searches {
    /// Allows searches until `deadline`, but for at least two seconds from now.
    pub(crate) fn allow_until(&self, deadline: Instant) {
        self.until.set(Some(deadline.max(Instant::now() + LEAST_TIME)));
    }

    /// Returns whether a search was stopped early, so that a missing match proves nothing.
    pub(crate) fn is_out_of_time(&self) -> bool {
        self.is_out_of_time.get()
    }

    /// Returns whether a search found all that is in the beginning of a text, and did not read the rest. That it found
    /// nothing proves nothing.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// Notes whether a part of a text was not read, or forgets what was not read so far.
    pub(crate) fn set_cut(&self, is_cut: bool) {
        self.is_cut.set(is_cut);
    }

    fn may_continue(&self) -> bool {
        let is_over = self.is_out_of_time() || self.until.get().is_some_and(|until| Instant::now() >= until);
        self.is_out_of_time.set(is_over);
        !is_over
    }

    /// Returns the compiled regex of a filled template. The latest ones are cached.
    pub(crate) fn filled(&self, pattern: String) -> Result<SearchRegex, String> {
        let mut filled = self.filled.borrow_mut();
        if let Some((_, regex)) = filled.iter().find(|(known, _)| *known == pattern) {
            return Ok(regex.clone());
        }
        let regex = SearchRegex::compile(&pattern)?;
        filled.truncate(RECENT - 1);
        filled.push_front((pattern, regex.clone()));
        Ok(regex)
    }
}

/// A regex that is searched in texts, or must match a whole one. It is compiled when it is first used. In a search, `^`
/// and `$` also match at the ends of lines.
#[derive(Debug, Clone)]
pub struct SearchRegex {
    pattern: Arc<str>,
    subject: Subject,
    /// The compiled regex, and its cost for each byte.
    compiled: Arc<OnceLock<(Regex, usize)>>,
}

entry_text!(SearchRegex, pattern, |text| Ok(SearchRegex::lazy(text)));

impl SearchRegex {
    /// Compiles a regex. Returns the mistake in the pattern if it is not valid.
    pub(crate) fn compile(pattern: &str) -> Result<Self, String> {
        let regex = Self::lazy(pattern);
        regex.check().map(|()| regex)
    }

    /// Creates a regex that is compiled when it is first used. The pattern must be valid.
    pub(crate) fn lazy(pattern: &str) -> Self {
        Self { pattern: pattern.into(), subject: Subject::Part, compiled: Arc::default() }
    }

    /// Creates a regex that must match a whole text. With `is_ascii`, only ASCII texts are matched.
    pub(crate) fn whole(pattern: &str, is_ascii: bool) -> Self {
        let subject = if is_ascii { Subject::WholeAscii } else { Subject::Whole };
        Self { subject, ..Self::lazy(pattern) }
    }

    /// Compiles the regex. Returns the mistake in it if it is not valid.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.compiled.get().is_none() {
            let compiled = compile(&self.pattern, self.subject)?;
            self.compiled.get_or_init(|| compiled);
        }
        Ok(())
    }

    fn compiled(&self) -> &(Regex, usize) {
        if let Err(mistake) = self.check() {
            unreachable!("an entry with this mistake is refused: {mistake}");
        }
        self.compiled.get().expect("it was just compiled")
    }

    /// Returns the regex itself, for short texts of this program.
    pub(crate) fn regex(&self) -> &Regex {
        &self.compiled().0
    }

    /// Returns whether the regex matches in `text`.
    pub(crate) fn is_found(&self, text: &str, searches: &Searches) -> bool {
        if self.reach(text).len() < text.len() {
            return self.captures(text, searches).next().is_some();
        }
        self.may_search(text, searches) && self.regex().is_match(text)
    }

    /// Returns whether the regex matches in `text` with a match that ends before the end of the text.
    pub(crate) fn is_found_before_end(&self, text: &str, searches: &Searches) -> bool {
        self.captures(text, searches).any(|found| found.get_match().end() < text.len())
    }

    /// Returns all matches in `text`, with their groups.
    pub(crate) fn captures<'t>(
        &self,
        text: &'t str,
        searches: &Searches,
    ) -> impl Iterator<Item = Captures<'t>> {
        let reach = self.reach(text);
        let is_cut = reach.len() < text.len();
        let mut found = self.regex().captures_iter(reach);
        let next = move || {
            let found = if self.may_search(reach, searches) { found.next() } else { None };
            // The end of what is searched is not the end of a line or a word.
            let found = found.filter(|found| !is_cut || found.get_match().end() < reach.len());
            if is_cut && found.is_none() {
                searches.is_cut.set(true);
            }
            found
        };
        std::iter::from_fn(next)
    }

    /// Returns the part of a text that is searched.
    fn reach<'t>(&self, text: &'t str) -> &'t str {
        let most = text.len().min(MAX_WORK / self.compiled().1.max(1));
        let end = (0..=most).rev().find(|end| text.is_char_boundary(*end));
        &text[..end.unwrap_or_default()]
    }

    fn may_search(&self, text: &str, searches: &Searches) -> bool {
        self.compiled().1.saturating_mul(text.len()) <= SMALL_WORK || searches.may_continue()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_expanded_in_the_cost() {
        let cost = |pattern| compile(pattern, Subject::Part).map(|(_, cost)| cost);
        for (pattern, want) in [
            ("abc", 3),
            ("a|bc", 3),
            ("[a-z]+@", 3),
            (".{0,100}x", 101),
            ("(a{2,3}){4}", 16),
            ("a{1000}", 1000),
        ] {
            assert_eq!(cost(pattern), Ok(want), "{pattern}");
        }
        let huge = "(?:(?:(?:(?:(?:a{1000}){1000}){1000}){1000}){1000}){1000}";
        for pattern in [huge, "a{1001}", "(?:a{1,100}){1,100}b"] {
            assert!(cost(pattern).is_err_and(|why| why.contains("expected 1000")), "{pattern}");
        }
    }

    #[test]
    fn unicode_classes_are_small_for_ascii_texts() {
        let whole = |pattern, subject| compile(pattern, subject).map(|(regex, _)| regex);
        let wide = r"[\w.-]{3,64}";
        assert!(whole(wide, Subject::Whole).is_err_and(|error| error.contains("too large")));
        let ascii = whole(wide, Subject::WholeAscii).unwrap();
        assert!(ascii.is_match("bob.1-x") && !ascii.is_match("bo") && !ascii.is_match("bob 1"));
        for pattern in ["[^/]+", ".{2,5}", r"\p{L}+", "(?i)[a-k]+", "a|bc"] {
            let forms = [Subject::WholeAscii, Subject::Whole].map(|subject| whole(pattern, subject).unwrap());
            for text in ["a", "bc", "ab", "K", "a/b", "abcdef", "", "a\nb"] {
                assert_eq!(forms[0].is_match(text), forms[1].is_match(text), "{pattern} {text:?}");
            }
        }
    }
    fn regex(pattern: &str) -> SearchRegex {
        SearchRegex::compile(pattern).unwrap()
    }

    #[test]
    fn of_a_text_that_is_costly_to_search_only_the_beginning_counts() {
        let searches = Searches::default();
        let costly = regex("(?:x|ab)$|[cd]{990}");
        let text = |end: &str| "y".repeat(MAX_WORK / costly.compiled().1 - end.len()) + end;
        assert!(costly.is_found(&text("ab"), &searches));
        assert!(costly.is_found(&(text("ab\n") + "y"), &searches));
        assert!(!searches.is_cut(), "what was found is found");
        assert!(!costly.is_found(&(text("ab") + "y"), &searches), "the cut is not the end of a line");
        assert!(searches.is_cut(), "that nothing was found proves nothing");
        assert!(!costly.is_found(&(text("") + "\nx"), &searches));
        assert!(regex("x$").is_found(&(text("") + "\nx"), &searches));
    }
}
