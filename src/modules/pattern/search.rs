//! Searches with limited time in texts that sites send.
//!
//! A search cannot be interrupted. A text that could take long is therefore searched in windows that overlap
//! by half, and the time is checked between them. A match longer than half a window is not found. A window
//! has at least 16 KiB.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use regex::{Captures, Regex};

use super::compile;
use crate::modules::definition::text::entry_text;

/// The work of one window, in positions times bytes. It takes less than half a second.
const WINDOW_WORK: usize = 10_000_000;
/// The minimum size of a window, in bytes.
const MIN_WINDOW: usize = 16 * 1024;
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

    fn may_continue(&self) -> bool {
        let is_over = self.is_out_of_time() || self.until.get().is_some_and(|until| Instant::now() >= until);
        self.is_out_of_time.set(is_over);
        !is_over
    }

    /// Returns the compiled regex of a filled template. The latest ones are cached.
    pub(super) fn filled(&self, pattern: String) -> Result<SearchRegex, String> {
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

/// A regex that is searched in texts. It is compiled when it is first used, and `^` and `$` also match at the ends of
/// lines.
#[derive(Debug, Clone)]
pub struct SearchRegex(Arc<Lazy>);

#[derive(Debug)]
struct Lazy {
    pattern: String,
    compiled: OnceLock<Compiled>,
}

/// A compiled regex with the limits that follow from its cost.
#[derive(Debug, Clone)]
struct Compiled {
    regex: Regex,
    window: usize,
    cost: usize,
}

entry_text!(SearchRegex, |text| Ok(SearchRegex::lazy(text)));

impl SearchRegex {
    /// Compiles a regex. Returns the mistake in the pattern if it is not valid.
    pub(crate) fn compile(pattern: &str) -> Result<Self, String> {
        let regex = Self::lazy(pattern);
        regex.check().map(|()| regex)
    }

    /// Creates a regex that is compiled when it is first used. The pattern must be valid.
    pub(crate) fn lazy(pattern: &str) -> Self {
        Self(Arc::new(Lazy { pattern: pattern.to_owned(), compiled: OnceLock::new() }))
    }

    /// Returns the text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0.pattern
    }

    /// Compiles the regex. Returns the mistake in it if it is not valid.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.0.compiled.get().is_none() {
            let (regex, cost) = compile::search(&self.0.pattern)?;
            let window = (WINDOW_WORK / cost.max(1)).max(MIN_WINDOW);
            self.0.compiled.get_or_init(|| Compiled { regex, window, cost });
        }
        Ok(())
    }

    fn compiled(&self) -> &Compiled {
        if let Err(mistake) = self.check() {
            unreachable!("an entry with this mistake is refused: {mistake}");
        }
        self.0.compiled.get().expect("it was just compiled")
    }

    /// Returns the regex itself, for short texts of this program.
    pub(crate) fn regex(&self) -> &Regex {
        &self.compiled().regex
    }

    /// Returns whether the regex matches in `text`.
    pub(crate) fn is_found(&self, text: &str, searches: &Searches) -> bool {
        if text.len() <= self.compiled().window {
            return self.may_search(text.len(), searches) && self.regex().is_match(text);
        }
        self.find(text, 0, searches, |regex, window, at| regex.find_at(window, at).map(|it| it.range()))
            .is_some()
    }

    /// Returns whether the regex matches in `text` with a match that ends before the end of the text.
    pub(crate) fn is_found_before_end(&self, text: &str, searches: &Searches) -> bool {
        let mut at = 0;
        while at <= text.len() {
            let find = |regex: &Regex, window: &str, at| regex.find_at(window, at).map(|it| it.range());
            let Some(found) = self.find(text, at, searches, find) else { return false };
            if found.end < text.len() {
                return true;
            }
            at = offset_after(text, &found);
        }
        false
    }

    /// Returns all matches in `text`, with their groups.
    pub(crate) fn captures<'t>(
        &self,
        text: &'t str,
        searches: &Searches,
    ) -> impl Iterator<Item = Captures<'t>> {
        let (mut at, mut last_end) = (0, None);
        std::iter::from_fn(move || {
            while at <= text.len() {
                let captures = |regex: &Regex, window: &'t str, at| regex.captures_at(window, at);
                let found = self.find(text, at, searches, captures)?;
                let range = found.get_match().range();
                at = offset_after(text, &range);
                // Like the regex crate, this skips an empty match directly after another match.
                if range.is_empty() && last_end == Some(range.end) {
                    continue;
                }
                last_end = Some(range.end);
                return Some(found);
            }
            None
        })
    }

    /// Returns the first match at or after `start`. `find` searches one window: the text up to some end,
    /// from a position on.
    fn find<'t, M: Found>(
        &self,
        text: &'t str,
        start: usize,
        searches: &Searches,
        find: impl Fn(&Regex, &'t str, usize) -> Option<M>,
    ) -> Option<M> {
        let Compiled { regex, window, .. } = self.compiled();
        let mut at = start;
        loop {
            let end = boundary(text, at.saturating_add(*window).min(text.len()));
            if !self.may_search(end - at, searches) {
                return None;
            }
            let is_last = end == text.len();
            // A match that begins after this position is found in the next window, which contains more of
            // the text after it.
            let next = if is_last { end + 1 } else { boundary(text, at + window / 2) };
            let found = find(regex, &text[..end], at);
            // The end of a window is not the end of a line or a word.
            let found =
                found.filter(|found| found.place().start < next && (is_last || found.place().end < end));
            if found.is_some() || is_last {
                return found;
            }
            at = next;
        }
    }

    fn may_search(&self, bytes: usize, searches: &Searches) -> bool {
        self.compiled().cost.saturating_mul(bytes) <= SMALL_WORK || searches.may_continue()
    }
}

/// Returns the last character boundary at or before `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// Returns the offset at which the search continues after a match.
fn offset_after(text: &str, found: &Range<usize>) -> usize {
    match text[found.end..].chars().next() {
        Some(next) if found.is_empty() => found.end + next.len_utf8(),
        None if found.is_empty() => text.len() + 1,
        _ => found.end,
    }
}

/// A match, with or without capture groups.
trait Found {
    fn place(&self) -> Range<usize>;
}

impl Found for Range<usize> {
    fn place(&self) -> Range<usize> {
        self.clone()
    }
}

impl Found for Captures<'_> {
    fn place(&self) -> Range<usize> {
        self.get_match().range()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::modules::sample::Random;

    fn regex(pattern: &str) -> SearchRegex {
        SearchRegex::compile(pattern).unwrap()
    }

    fn with_window(regex: &SearchRegex, window: usize) -> SearchRegex {
        let compiled = Compiled { window, ..regex.compiled().clone() };
        SearchRegex(Arc::new(Lazy { pattern: regex.to_string(), compiled: compiled.into() }))
    }

    #[test]
    fn a_lazy_regex_is_compiled_when_it_is_used() {
        let (lazy, searches) = (SearchRegex::lazy("^b.b$"), Searches::default());
        assert!(lazy.0.compiled.get().is_none());
        assert!(lazy.clone().is_found("a\nbob", &searches) && !lazy.is_found("bobby", &searches));
        assert_eq!(lazy.0.compiled.get().unwrap().cost, regex("^b.b$").compiled().cost);
    }

    #[test]
    fn a_filled_regex_is_compiled_only_once_for_a_value() {
        let searches = Searches::default();
        let known =
            |pattern: &str| searches.filled.borrow().iter().filter(|(text, _)| text == pattern).count();
        for _ in 0..3 {
            assert!(searches.filled("^bob$".into()).unwrap().is_found("bob", &searches));
        }
        assert_eq!(known("^bob$"), 1);
        // The cached regex is the one that is used.
        searches.filled.borrow_mut().push_front(("^eve$".into(), regex("^mallory$")));
        assert!(searches.filled("^eve$".into()).unwrap().is_found("mallory", &searches));
        for number in 0..RECENT {
            searches.filled(format!("^{number}$")).unwrap();
        }
        assert_eq!((known("^bob$"), searches.filled.borrow().len()), (0, RECENT));
        assert!(searches.filled("(".into()).is_err());
    }

    #[test]
    fn the_most_expensive_pattern_stops_at_its_time_limit() {
        let searches = Searches::default();
        // No automaton with few states can find it.
        let costly = regex("[ab]*a[ab]{980}c");
        let mut random = Random::new(1);
        let text: String = (0..1 << 20).map(|_| random.pick(b"ab")).collect();
        searches.allow_until(Instant::now());
        let began = Instant::now();
        // This is the number of searches that a hostile entry could cause.
        let found = (0..1000).filter(|_| costly.is_found(&text, &searches)).count();
        assert_eq!(found, 0);
        if searches.is_out_of_time() {
            assert!(!regex("a").is_found(&text, &searches), "nothing is searched any more");
            assert!(regex("a").is_found("a", &searches), "but for what takes no time");
        }
        // Each of them would take half a minute without a limit.
        assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
    }

    #[test]
    fn a_search_without_a_time_limit_completes() {
        let searches = Searches::default();
        let text = "x".repeat(1 << 20) + "foo";
        assert!(regex("(?:a|foo)$").is_found(&text, &searches) && !searches.is_out_of_time());
    }

    #[test]
    fn a_window_boundary_does_not_match_as_a_line_end() {
        let searches = Searches::default();
        let window = with_window(&regex("ab$|^c"), 8);
        assert!(!window.is_found("xxxxxxabxxcxxxxxabxxxxxx", &searches));
        assert!(window.is_found("xxxxxxabxxxxxxxxxxab\nxxx", &searches));
        assert!(window.is_found("xxxxxxxxxxxxxxxxxxxab", &searches));
        assert!(!window.is_found_before_end("xxxxxxxxxxxxxxxxxxxab", &searches));
        assert!(window.is_found_before_end("xxxxxxxxx\ncxxxxxxxxxab", &searches));
    }

    proptest! {
        /// Tests that matches shorter than half a window do not depend on the positions of the windows.
        #[test]
        fn searching_in_windows_gives_the_same_result(
            text in "[abé \n]{0,120}",
            pattern in prop::sample::select(vec![
                "a", "ab?", "(a)(b)?", "^a", "b$", r"\ba", "a*", "é", "(?s)a.b", r"[^a]{2}", "", r"\B", "(é|a){1,4}",
            ]),
        ) {
            let searches = Searches::default();
            let whole = regex(pattern);
            let cut = with_window(&whole, 40);
            let all = |regex: &SearchRegex| -> Vec<Vec<Option<String>>> {
                let groups = |found: Captures<'_>| found.iter().map(|it| it.map(|it| it.as_str().to_owned())).collect();
                regex.captures(&text, &searches).map(groups).collect()
            };
            let std: Vec<Vec<Option<String>>> = whole.regex().captures_iter(&text)
                .map(|found| found.iter().map(|it| it.map(|it| it.as_str().to_owned())).collect()).collect();
            prop_assert_eq!(&all(&whole), &std);
            prop_assume!(std.iter().all(|found| found[0].as_ref().is_none_or(|it| it.len() < 20)));
            prop_assert_eq!(all(&cut), std);
            prop_assert_eq!(cut.is_found(&text, &searches), whole.regex().is_match(&text));
            prop_assert_eq!(
                cut.is_found_before_end(&text, &searches),
                whole.regex().find_iter(&text).any(|found| found.end() < text.len())
            );
        }
    }
}
