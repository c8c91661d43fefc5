//! Reads the results of a hit.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::extractor::MAX_ITEMS;
use super::page_profile::PageProfile;
use super::valid::{fit, valid};
use super::{Answers, Item, Reading};
use crate::modules::definition::{Entry, Extractor, ListResult, MainResult, Probe, ResultType, as_text};
use crate::modules::html::MAX_FOUND;
use crate::modules::outcome::Finding;
use crate::modules::query::SearchType;
use crate::modules::template::Values;
use crate::modules::text::clean;

/// The default maximum number of results of one list.
const DEFAULT_LIMIT: usize = 100;
/// The maximum numbers of nodes (members and elements) and of levels that a nested metadata value keeps.
const MAX_NODES: usize = 300;
const MAX_DEPTH: usize = 6;

/// Findings without those of equal type, value and identifying members. Only plain repetitions are removed. The run decides
/// whether two differently written values are the same entity.
#[derive(Debug, Default)]
struct Distinct {
    found: Vec<Finding>,
    places: HashMap<(ResultType, String, Vec<Option<String>>), usize>,
}

impl Distinct {
    /// Adds a finding. If an equal one exists, only the metadata that it lacks is added to it. Returns `false` if there are
    /// `most` findings already.
    fn add(&mut self, found: Finding, most: usize) -> bool {
        let Finding { result_type, value, metadata } = &found;
        let members = result_type.identifying().iter().map(|name| metadata.get(*name).map(Value::to_string));
        let key = (*result_type, value.clone(), members.collect());
        match self.places.get(&key) {
            Some(at) => found.metadata.into_iter().for_each(|(name, value)| {
                self.found[*at].metadata.entry(name).or_insert(value);
            }),
            None if self.found.len() >= most => return false,
            None => {
                self.places.insert(key, self.found.len());
                self.found.push(found);
            }
        }
        true
    }
}

/// What the answers of a site give for a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Findings {
    /// The findings of a hit, without the generic profile data. That of a username begins with the main result.
    pub(crate) found: Vec<Finding>,
    /// The generic profile data of the page, if it is read.
    pub(crate) page_profile: Option<PageProfile>,
    /// Whether a list has more elements than it may return.
    pub(crate) is_cut: bool,
}

impl Findings {
    /// Returns the findings of a hit of `name`. `control` is the profile data of a made-up name, with that name removed.
    pub(crate) fn complete(
        mut self,
        entry: &Entry,
        name: &str,
        control: Option<&PageProfile>,
    ) -> Vec<Finding> {
        if let (Some(page_profile), Some(first)) = (self.page_profile, self.found.first_mut()) {
            let is_set = |key: &str| entry.main().is_some_and(|main| main.metadata.contains_key(key));
            page_profile.add_to(&mut first.metadata, is_set, name, control);
        }
        self.found
    }
}

impl Entry {
    /// Returns the main result. Without one, a hit for a person is an account.
    fn main(&self) -> Option<&MainResult> {
        static ACCOUNT: MainResult =
            MainResult { result_type: ResultType::Account, value: None, metadata: BTreeMap::new() };
        let is_account = self.results.is_empty() && self.search_type != SearchType::Domain;
        self.result.as_deref().or(is_account.then_some(&ACCOUNT))
    }

    /// Returns whether the generic profile data of a page is read, without that of the page of a made-up name.
    pub(crate) fn reads_page_profile(&self) -> bool {
        let is_account =
            |main: &MainResult| matches!(main.result_type, ResultType::Account | ResultType::Profile);
        // Links on the page are resolved against its address, which must therefore contain no key.
        self.search_type == SearchType::Username
            && self.main().is_some_and(is_account)
            && !self.probes.iter().any(Probe::has_key_in_address)
    }

    /// Returns the generic profile data in these responses, for the metadata of a hit.
    pub(crate) fn page_profile(&self, answers: &Answers<'_>, name: &str) -> Option<PageProfile> {
        let page = answers.page().filter(|_| self.reads_page_profile())?;
        PageProfile::read(page, name, &self.platform)
    }

    /// Returns what the answers to a hit give, without duplicates.
    pub(crate) fn findings(&self, answers: &Answers<'_>, values: Values<'_>) -> Findings {
        let (mut distinct, mut is_cut) = (Distinct::default(), false);
        if let Some(found) = self.main().and_then(|main| self.main_finding(main, answers, values)) {
            distinct.add(found, usize::MAX);
        }
        for list in self.results.iter() {
            is_cut |= list.read(answers, values, &mut distinct);
        }
        Findings { found: distinct.found, page_profile: self.page_profile(answers, values.name), is_cut }
    }

    fn main_finding(&self, main: &MainResult, answers: &Answers<'_>, values: Values<'_>) -> Option<Finding> {
        let reading =
            |extractor: &Extractor| Reading { answer: answers.get(extractor.probe), values, item: None };
        let fit = |text: &str| valid(main.result_type, &clean(text), values.query);
        let value = main.value.as_ref().and_then(|extractor| {
            extractor.values(&reading(extractor)).iter().filter_map(as_text).find_map(|text| fit(&text))
        });
        // A hit on a person's account is an account, even if its page contains no valid value.
        let (result_type, value) = match value.or_else(|| fit(values.name)) {
            Some(value) => (main.result_type, value),
            None if values.query.search_type() == SearchType::Domain => return None,
            None => (ResultType::Account, clean(values.name)),
        };
        let url = self.profile.as_ref().and_then(|profile| profile.fill(&values).ok());
        let mut metadata: Map<String, Value> =
            url.map(|url| ("profile_url".to_owned(), Value::from(url))).into_iter().collect();
        metadata.extend(read_metadata(&main.metadata, reading));
        Some(Finding { result_type, value, metadata })
    }
}

impl ListResult {
    /// Adds the values of the list: filtered, at most `limit` that are not known. Returns whether there are more.
    fn read(&self, answers: &Answers<'_>, values: Values<'_>, distinct: &mut Distinct) -> bool {
        let most = distinct.found.len() + self.limit.unwrap_or(DEFAULT_LIMIT);
        let Ok(keep) = self.keep.as_ref().map(|pattern| pattern.regex(&values)).transpose() else {
            // If a value that the filter needs is missing, no element can pass it.
            return false;
        };
        let answer = answers.get(self.probe);
        let items = self.each.items(&Reading { answer, values, item: None });
        for item in &items {
            if !self.filter.iter().all(|rule| rule.holds(&item.value, &values)) {
                continue;
            }
            let reading = Reading { answer, values, item: Some(item) };
            let mut metadata = None;
            for text in self.texts(&reading, item) {
                if keep.as_ref().is_some_and(|regex| !regex.is_found(&text, values.searches)) {
                    continue;
                }
                let Some(value) = valid(self.result_type, &text, values.query) else { continue };
                let metadata = metadata.get_or_insert_with(|| read_metadata(&self.metadata, |_| reading));
                let found = Finding { result_type: self.result_type, value, metadata: metadata.clone() };
                if !distinct.add(found, most) {
                    return true;
                }
            }
        }
        items.len() >= if self.each.starts_with("css:") { MAX_FOUND } else { MAX_ITEMS }
    }

    fn texts(&self, reading: &Reading<'_, '_>, item: &Item<'_>) -> Vec<String> {
        let values = match &self.value {
            None => vec![item.value.clone().into_owned()],
            Some(extractor) => extractor.values(reading),
        };
        // Cleaning removes control characters, which would make one name of two.
        let is_name = matches!(
            self.result_type,
            ResultType::Domain | ResultType::Subdomain | ResultType::Email | ResultType::IpAddress
        );
        let read = |text: Cow<'_, str>| if is_name { text.trim().to_owned() } else { clean(&text) };
        values.iter().filter_map(as_text).map(read).collect()
    }
}

/// Returns what the extractors read, by their names. `reading` gives the input of each one.
fn read_metadata<'a, 'r: 'a>(
    extractors: &BTreeMap<String, Extractor>,
    reading: impl Fn(&Extractor) -> Reading<'a, 'r>,
) -> Map<String, Value> {
    let read = |(name, extractor): (&String, &Extractor)| {
        let mut nodes = MAX_NODES;
        let value = clean_value(extractor.value(&reading(extractor))?, 0, &mut nodes)?;
        Some((name.clone(), fit(name, value)?))
    };
    extractors.iter().filter_map(read).collect()
}

/// Returns a value that can be stored and shown: texts are cleaned, nesting and size are limited. Returns
/// `None` if nothing is left.
fn clean_value(value: Value, depth: usize, nodes: &mut usize) -> Option<Value> {
    *nodes = nodes.checked_sub(1)?;
    let mut child = |value| if depth < MAX_DEPTH { clean_value(value, depth + 1, nodes) } else { None };
    match value {
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) => Some(value),
        Value::String(text) => {
            let text = clean(&text);
            (!text.is_empty()).then_some(Value::String(text))
        }
        Value::Array(elements) => {
            let kept: Vec<Value> = elements.into_iter().filter_map(child).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(members) => {
            let kept = members.into_iter().filter_map(|(name, value)| Some((clean(&name), child(value)?)));
            let kept: Map<String, Value> = kept.collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
    }
}
