//! The context of one answer: the module, the query, and the values of earlier answers.

use std::borrow::Cow;

use super::sample::Sampler;
use crate::modules::definition::Entry;
use crate::modules::module::Module;
use crate::modules::pattern::{SearchRegex, Searches};
use crate::modules::query::Query;
use crate::modules::sample::Sampled;
use crate::modules::template::{Pattern, Saved, Template, Values};
use crate::sandbox::draw::draw;
use crate::sandbox::people::PeoplePage;

/// The maximum number of texts that are sampled from a pattern to find one on a single line.
const ATTEMPTS: u64 = 16;
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
    pub(super) fn text(&self, template: &Template) -> Option<String> {
        template.fill(&self.values()).ok()
    }

    /// Returns the regex of a pattern, or `None` if it cannot be filled.
    pub(super) fn regex(&self, pattern: &Pattern) -> Option<SearchRegex> {
        pattern.regex(&self.values()).ok().map(Cow::into_owned)
    }

    /// Returns the values that templates are filled with.
    pub(super) fn values(&self) -> Values<'_> {
        Values::new(self.entry.host(), self.query, &self.name, &self.saved, &self.searches)
    }

    /// Returns a text that matches a regex, without line ends if possible. It is the same for all queries.
    pub(super) fn sampled(&self, regex: &SearchRegex, index: usize) -> Option<String> {
        let sampled = Sampled::of(regex.clone())?;
        let seed = draw(0, &[&self.entry.id, regex, &index.to_string()]);
        let mut samples = (0..ATTEMPTS).filter_map(|attempt| sampled.text(seed.wrapping_add(attempt)));
        let is_line = |text: &String| !text.contains(['\n', '\r']);
        let first = samples.next()?;
        if is_line(&first) { Some(first) } else { samples.find(is_line).or(Some(first)) }
    }

    /// Returns a text like [`Context::sampled`] with the given text in each group of the regex, where it allows that.
    /// Group 0 is the whole match.
    pub(super) fn sampled_with(
        &self,
        regex: &SearchRegex,
        index: usize,
        groups: &[(usize, String)],
    ) -> Option<String> {
        let (mut text, regex) = (self.sampled(regex, index)?, regex.regex());
        for (number, wanted) in groups {
            let range = regex.captures(&text).and_then(|found| Some(found.get(*number)?.range()));
            let Some(range) = range else { continue };
            let changed = format!("{}{wanted}{}", &text[..range.start], &text[range.end..]);
            let found = regex.captures(&changed).and_then(|found| found.get(*number));
            if found.is_some_and(|found| found.as_str() == wanted) {
                text = changed;
            }
        }
        Some(text)
    }
}
