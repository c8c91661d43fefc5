//! What all parts of one answer have in common: the module, the query, what earlier answers gave.

use std::borrow::Cow;
use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::sample::{Sampler, as_text};
use crate::modules::definition::Entry;
use crate::modules::query::Query;
use crate::modules::sample;
use crate::modules::template::{Kind, Template, Values};
use crate::sandbox::draw::draw;

/// How many texts are sampled from a pattern until one fits.
const ATTEMPTS: usize = 16;

/// One module and one query.
#[derive(Debug, Clone)]
pub(super) struct Scene<'a> {
    pub(super) entry: &'a Entry,
    pub(super) query: &'a Query,
    pub(super) sampler: Sampler<'a>,
    /// The query without the characters that the module strips.
    pub(super) name: Cow<'a, str>,
    /// What the answers so far gave to save.
    saved: BTreeMap<String, String>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(entry: &'a Entry, query: &'a Query, seed: u64) -> Self {
        let name = match entry.strip.as_deref() {
            Some(strip) => Cow::Owned(query.normal().replace(|c| strip.contains(c), "")),
            None => Cow::Borrowed(query.normal()),
        };
        let sampler = Sampler::new(seed, &entry.id, query);
        let mut scene = Self { entry, query, sampler, name, saved: BTreeMap::new() };
        for probe in 0..entry.probes.len() {
            let saved = super::plant::saved_values(&scene, probe);
            scene.saved.extend(saved);
        }
        scene
    }

    /// A filled template.
    pub(super) fn text(&self, template: &str) -> Option<String> {
        self.fill(template, Kind::Plain)
    }

    /// A filled template for regexes, compiled as rules compile it.
    pub(super) fn regex(&self, pattern: &str) -> Option<Regex> {
        let pattern = self.fill(pattern, Kind::Regex)?;
        crate::modules::pattern::search(&pattern).ok()
    }

    fn fill(&self, template: &str, kind: Kind) -> Option<String> {
        let values =
            Values { query: self.query, name: &self.name, keys: None, saved: &self.saved, value: None };
        Template::parse(template, kind).ok()?.fill(&values).ok()
    }

    /// A text in which the pattern (a template for regexes) is found; the same for every query, but for
    /// what the template fills in. Without line ends, where that is possible.
    pub(super) fn sampled(&self, pattern: &str, index: usize) -> Option<String> {
        let filled = self.fill(pattern, Kind::Regex)?;
        let regex = crate::modules::pattern::search(&filled).ok()?;
        let salt = index.to_string();
        let seed = draw(0, &[&self.entry.id, pattern, &salt]);
        let samples =
            (0..ATTEMPTS as u64).filter_map(|attempt| sample::sample(&filled, seed.wrapping_add(attempt)));
        let mut fitting = samples.filter(|text| regex.is_match(text));
        let first = fitting.next()?;
        if first.contains(['\n', '\r']) {
            return Some(fitting.find(|text| !text.contains(['\n', '\r'])).unwrap_or(first));
        }
        Some(first)
    }

    /// Like [`Scene::sampled`], with these texts in the pattern's groups as far as it allows them; in
    /// group 0 the text is to be the whole match.
    pub(super) fn sampled_with(
        &self,
        pattern: &str,
        index: usize,
        groups: &[(usize, String)],
    ) -> Option<String> {
        let mut text = self.sampled(pattern, index)?;
        let regex = self.regex(pattern)?;
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

    /// The value, or, where the pattern is not found in it, a text sampled from the pattern, with the
    /// value in its first group if that can be.
    pub(super) fn fitting(&self, value: Value, pattern: &str, index: usize) -> Value {
        let text = as_text(&value);
        let fits = self.regex(pattern).is_some_and(|regex| regex.is_match(&text));
        if fits {
            value
        } else {
            self.sampled_with(pattern, index, &[(1, text)]).map_or(value, Value::String)
        }
    }
}

/// A regex as a template for regexes that holds no variables: braces that are neither a quantifier's nor an
/// escape's are doubled.
pub(super) fn verbatim(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let escaped = if c == '\\' { rest[1..].chars().next() } else { None };
        let head = c.len_utf8() + escaped.map_or(0, char::len_utf8);
        let has_braces =
            matches!(escaped, Some('p' | 'P' | 'x' | 'u' | 'U' | 'b')) && rest[head..].starts_with('{');
        let inside = rest[head..].split('}').next().unwrap_or_default();
        let is_quantifier = c == '{'
            && inside.starts_with(|c: char| c.is_ascii_digit())
            && inside.bytes().all(|b| b.is_ascii_digit() || b == b',');
        let length = match rest.find('}') {
            Some(end) if has_braces || is_quantifier => end + 1,
            _ => head,
        };
        if length == head && matches!(c, '{' | '}') {
            out.push(c);
        }
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::query::SearchType;

    #[test]
    fn a_verbatim_pattern_means_what_it_means_to_an_extractor() {
        let query = Query::parse(SearchType::Username, "alice").unwrap();
        for pattern in [
            r#"[{,]\s*"id""#,
            r"\{a{2,3}\}x{4}",
            r"\p{L}+\x{41}é\d",
            "{query}",
            "a{b}c",
            r"\b{start}x",
            "}{",
            "",
            r"\\",
        ] {
            let values =
                Values { query: &query, name: "alice", keys: None, saved: &BTreeMap::new(), value: None };
            let template = Template::parse(&verbatim(pattern), Kind::Regex).unwrap();
            assert_eq!(template.fill(&values).unwrap(), pattern);
        }
    }
}
