//! Searches with limited work in texts that sites send.
//!
//! A search cannot be interrupted. The time is therefore checked before each search, and of a text in which a search could
//! take long only the beginning is searched.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use regex::{Captures, Regex};

use super::compile::{Subject, compile};
use crate::modules::definition::text::entry_text;

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
    is_cut_short: Cell<bool>,
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

    /// Returns whether a search found all that is in the beginning of a text, and did not read the rest.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut.get()
    }

    /// Returns whether such a search has found nothing, which proves nothing.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.is_cut_short.get()
    }

    /// Forgets what was not read of earlier answers.
    pub(crate) fn forget_cuts(&self) {
        self.is_cut.set(false);
        self.is_cut_short.set(false);
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
pub struct SearchRegex {
    pattern: Arc<str>,
    /// The compiled regex, and its cost for each byte.
    compiled: Arc<OnceLock<(Regex, usize)>>,
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
        Self { pattern: pattern.into(), compiled: Arc::default() }
    }

    /// Returns the text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Compiles the regex. Returns the mistake in it if it is not valid.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.compiled.get().is_none() {
            let compiled = compile(&self.pattern, Subject::Part)?;
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
        let (mut found, mut is_first) = (self.regex().captures_iter(reach), true);
        let next = move || {
            let found = if self.may_search(reach, searches) { found.next() } else { None };
            // The end of what is searched is not the end of a line or a word.
            let found = found.filter(|found| !is_cut || found.get_match().end() < reach.len());
            if is_cut && found.is_none() {
                searches.is_cut.set(true);
                searches.is_cut_short.set(searches.is_cut_short() || is_first);
            }
            is_first = false;
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
    use crate::modules::sample::Random;

    fn regex(pattern: &str) -> SearchRegex {
        SearchRegex::compile(pattern).unwrap()
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
    fn of_a_text_that_is_costly_to_search_only_the_beginning_counts() {
        let searches = Searches::default();
        let costly = regex("(?:x|ab)$|[cd]{990}");
        let text = |end: &str| "y".repeat(MAX_WORK / costly.compiled().1 - end.len()) + end;
        assert!(costly.is_found(&text("ab"), &searches));
        assert!(costly.is_found(&(text("ab\n") + "y"), &searches));
        assert!(!searches.is_cut_short(), "what was found is found");
        assert!(!costly.is_found(&(text("ab") + "y"), &searches), "the cut is not the end of a line");
        assert!(searches.is_cut_short(), "that nothing was found proves nothing");
        assert!(!costly.is_found(&(text("") + "\nx"), &searches));
        assert!(regex("x$").is_found(&(text("") + "\nx"), &searches));
    }
}
