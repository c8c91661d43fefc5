//! The context of one answer: the module, the query, and the values of earlier answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::sample::Sampler;
use crate::modules::definition::Entry;
use crate::modules::module::Module;
use crate::modules::pattern::Searches;
use crate::modules::query::Query;
use crate::modules::sample::Sampled;
use crate::modules::template::{Kind, Saved, Template, Values};
use crate::sandbox::draw::draw;
use crate::sandbox::people::PeoplePage;

/// The maximum number of texts that are sampled from a pattern to find one on a single line.
const ATTEMPTS: u64 = 16;
/// The number of compiled patterns that each thread keeps: most modules have fewer.
const KEPT_PATTERNS: usize = 32;

/// A regex of a catalogue entry.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pattern<'p> {
    /// A regex that is used unchanged, as in extractors.
    Plain(&'p str),
    /// A template whose result is a regex, as in rules.
    Template(&'p str),
}

/// Returns the compiled pattern, or `None` if it is not valid. Some are kept, since all pages of a site need the same
/// ones.
fn compiled(pattern: String) -> Option<Rc<Sampled>> {
    thread_local! {
        static KNOWN: RefCell<HashMap<String, Option<Rc<Sampled>>>> = RefCell::default();
    }
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= KEPT_PATTERNS {
            known.clear();
        }
        known.entry(pattern).or_insert_with_key(|pattern| Sampled::new(pattern).map(Rc::new)).clone()
    })
}

/// The module and the query of one answer, and the values that were saved so far.
#[derive(Debug, Clone)]
pub(super) struct Context<'a> {
    pub(super) entry: &'a Entry,
    pub(super) query: &'a Query,
    pub(super) sampler: Sampler<'a>,
    /// What the answer says about simulated people, if the query is the name of one.
    pub(super) people: Option<PeoplePage>,
    /// The query without the characters that the module strips.
    pub(super) name: String,
    /// The values that were saved from the answers so far.
    pub(super) saved: Saved,
    searches: Searches,
}

impl<'a> Context<'a> {
    pub(super) fn new(module: &'a Module, query: &'a Query, seed: u64) -> Self {
        let (entry, name) = (module.entry(), module.name_of(query));
        let sampler = Sampler::new(seed, &entry.id, query);
        let people = PeoplePage::of(entry, query.normal());
        Self { entry, query, sampler, people, name, saved: Saved::new(), searches: Searches::default() }
    }

    /// Returns the filled template, or `None` if it cannot be filled.
    pub(super) fn text(&self, template: &str) -> Option<String> {
        self.fill(template, Kind::Plain)
    }

    /// Returns the compiled pattern, or `None` if it is not valid.
    pub(super) fn compiled(&self, pattern: Pattern<'_>) -> Option<Rc<Sampled>> {
        compiled(self.filled(pattern)?)
    }

    /// Returns whether the pattern is found in the text.
    pub(super) fn matches(&self, pattern: Pattern<'_>, text: &str) -> bool {
        self.compiled(pattern).is_some_and(|sampled| sampled.regex().is_match(text))
    }

    fn filled(&self, pattern: Pattern<'_>) -> Option<String> {
        match pattern {
            Pattern::Plain(text) => Some(text.to_owned()),
            Pattern::Template(text) => self.fill(text, Kind::Regex),
        }
    }

    fn fill(&self, template: &str, kind: Kind) -> Option<String> {
        Template::parse(template, kind).ok()?.fill(&self.values()).ok()
    }

    /// Returns the values that templates are filled with.
    pub(super) fn values(&self) -> Values<'_> {
        Values::new(self.query, &self.name, &self.saved, &self.searches)
    }

    /// Returns a text that matches the pattern, without line ends if possible. It differs between queries only in the
    /// placeholders of the template.
    pub(super) fn sampled(&self, pattern: Pattern<'_>, index: usize) -> Option<String> {
        let sampled = self.compiled(pattern)?;
        let (Pattern::Plain(text) | Pattern::Template(text)) = pattern;
        let seed = draw(0, &[&self.entry.id, text, &index.to_string()]);
        let mut samples = (0..ATTEMPTS).filter_map(|attempt| sampled.text(seed.wrapping_add(attempt)));
        let is_line = |text: &String| !text.contains(['\n', '\r']);
        let first = samples.next()?;
        if is_line(&first) { Some(first) } else { samples.find(is_line).or(Some(first)) }
    }

    /// Returns a text like [`Context::sampled`] with the given texts in the pattern's groups, as far as the pattern
    /// allows it. Group 0 is the whole match.
    pub(super) fn sampled_with(
        &self,
        pattern: Pattern<'_>,
        index: usize,
        groups: &[(usize, String)],
    ) -> Option<String> {
        let mut text = self.sampled(pattern, index)?;
        let sampled = self.compiled(pattern)?;
        let regex = sampled.regex();
        for (number, wanted) in groups {
            let Some(range) = regex.captures(&text).and_then(|found| Some(found.get(*number)?.range()))
            else {
                continue;
            };
            let changed = format!("{}{wanted}{}", &text[..range.start], &text[range.end..]);
            let stands =
                |found: regex::Captures<'_>| found.get(*number).is_some_and(|it| it.as_str() == wanted);
            if regex.captures(&changed).is_some_and(stands) {
                text = changed;
            }
        }
        Some(text)
    }
}
