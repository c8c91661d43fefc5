//! Reads the results of a hit.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::distinct::{Distinct, Found};
use super::extractor::Extractor;
use super::fit::fit;
use super::items::{Each, Item, MAX_ITEMS};
use super::page_profile::PageProfile;
use super::reading::{Answers, Reading};
use super::source::Source;
use super::valid::valid;
use crate::modules::definition::{Entry, Extractor as ExtractorEntry, ListResult, MainResult, ResultType};
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::outcome::Finding;
use crate::modules::pattern::Pattern;
use crate::modules::query::SearchType;
use crate::modules::rule::json::{JsonMatcher, as_text};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values};
use crate::modules::text::clean;

/// The default maximum number of results of one list.
const DEFAULT_LIMIT: usize = 100;
/// The maximum numbers of nodes (members and elements) and of levels that a nested metadata value keeps.
const MAX_NODES: usize = 300;
const MAX_DEPTH: usize = 6;

/// The compiled fields `profile`, `result` and `results`.
#[derive(Debug, Clone)]
pub(crate) struct ResultFields {
    profile: Option<Template>,
    main: Option<Main>,
    /// Whether the generic profile data is read from a hit's page.
    draws_portraits: bool,
    lists: Vec<List>,
}

#[derive(Debug, Clone)]
struct Main {
    result_type: ResultType,
    value: Option<Extractor>,
    metadata: Vec<(String, Extractor)>,
}

#[derive(Debug, Clone)]
struct List {
    result_type: ResultType,
    probe: Option<usize>,
    each: Each,
    filter: Vec<JsonMatcher>,
    value: Option<Extractor>,
    keep: Option<Pattern>,
    metadata: Vec<(String, Extractor)>,
    limit: usize,
}

impl ResultFields {
    /// Compiles the results of a hit of `entry`.
    pub(crate) fn compile(
        entry: &Entry,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Self {
        let profile = entry.profile.as_deref().and_then(|text| {
            // The link is for people. It contains the query alone, so that it works even if nothing was
            // saved.
            let scope = Scope { saved: BTreeSet::new(), allows_config: false, ..scope.clone() };
            mistakes.field("profile", |mistakes| scope.template(text, Kind::Url, mistakes))
        });
        let main = match &entry.result {
            Some(result) => {
                mistakes.field("result", |mistakes| compile_main(result, selectors, scope, mistakes))
            }
            None if entry.results.is_empty() && entry.search_type != SearchType::Domain => {
                Some(Main { result_type: ResultType::Account, value: None, metadata: Vec::new() })
            }
            None => None,
        };
        let lists = mistakes.list("results", &entry.results, |mistakes, list| {
            List::compile(list, selectors, scope, mistakes)
        });
        let is_account = |main: &Main| matches!(main.result_type, ResultType::Account | ResultType::Profile);
        // Links on the page are resolved against its address, which must therefore contain no key.
        let has_key = entry.probes.iter().any(|probe| probe.url.contains("{config."));
        let draws_portraits =
            entry.search_type == SearchType::Username && main.as_ref().is_some_and(is_account) && !has_key;
        Self { profile, main, draws_portraits, lists }
    }

    /// Returns the texts of the profile's address before and after the query, or `None` if it has no address with the
    /// query in one place.
    pub(crate) fn profile_parts(&self) -> Option<(&str, &str)> {
        self.profile.as_ref().and_then(Template::around_query)
    }

    /// Returns every extractor that reads a response, with its probe.
    pub(crate) fn extractors(&self) -> impl Iterator<Item = (Option<usize>, &Extractor)> {
        let main = self
            .main
            .iter()
            .flat_map(|main| main.value.iter().chain(main.metadata.iter().map(|(_, extractor)| extractor)));
        main.map(|extractor| (extractor.probe, extractor))
    }

    /// Returns the probes whose addresses appear in results.
    pub(crate) fn address_probes(&self) -> impl Iterator<Item = Option<usize>> {
        let lists = self.lists.iter().flat_map(|list| {
            let metadata = list.metadata.iter().map(|(_, extractor)| extractor);
            list.value.iter().chain(metadata).map(|extractor| (list.probe, extractor))
        });
        let told = self.extractors().chain(lists).filter(|(_, extractor)| extractor.tells_address());
        told.map(|(probe, _)| probe)
    }

    /// Returns the probes whose bodies are read by lists.
    pub(crate) fn list_probes(&self) -> impl Iterator<Item = Option<usize>> {
        self.lists.iter().filter(|list| !matches!(list.each, Each::Header(_))).map(|list| list.probe)
    }

    /// Returns whether the generic profile data of a page is read, without that of the page of a made-up name.
    pub(crate) fn reads_page_profile(&self) -> bool {
        self.draws_portraits
    }

    /// Returns the generic profile data in these responses, for the metadata of a hit.
    pub(crate) fn page_profile(
        &self,
        platform: &str,
        answers: &Answers<'_>,
        name: &str,
    ) -> Option<PageProfile> {
        let page = answers.page().filter(|_| self.draws_portraits)?;
        PageProfile::read(page, name, platform)
    }

    /// Returns the results of the responses, without duplicates, and whether a list has more elements than it may
    /// return. `control` is the profile data of a made-up
    /// name, with that name removed.
    pub(crate) fn read(
        &self,
        platform: &str,
        answers: &Answers<'_>,
        values: Values<'_>,
        confidence: f64,
        control: Option<&PageProfile>,
    ) -> (Vec<Finding>, bool) {
        let (mut distinct, mut is_cut) = (Distinct::default(), false);
        if let Some(main) = &self.main {
            let value = main.value.as_ref().and_then(|extractor| {
                let reading = Reading { answer: answers.get(extractor.probe), values, item: None };
                let texts = extractor.values(&reading);
                texts
                    .iter()
                    .filter_map(as_text)
                    .find_map(|text| valid(main.result_type, &clean(&text), values.query))
            });
            let own = || valid(main.result_type, &clean(values.name), values.query);
            // A hit on a person's account is an account, even if its page contains no valid value.
            let (result_type, value) = match value.or_else(own) {
                Some(value) => (main.result_type, Some(value)),
                None if values.query.search_type() == SearchType::Domain => (main.result_type, None),
                None => (ResultType::Account, Some(clean(values.name))),
            };
            if let Some(value) = value {
                let mut metadata = self.main_metadata(main, answers, values);
                if let Some(page_profile) = self.page_profile(platform, answers, values.name) {
                    let is_set = |key: &str| main.metadata.iter().any(|(name, _)| name == key);
                    page_profile.add_to(&mut metadata, is_set, values.name, control);
                }
                distinct.add((result_type, value, metadata));
            }
        }
        for list in &self.lists {
            let (found, is_list_cut) = list.read(answers, values);
            found.into_found().for_each(|found| distinct.add(found));
            is_cut |= is_list_cut;
        }
        let finding = |(result_type, value, metadata): Found| Finding {
            result_type,
            value: Some(value),
            platform: Some(platform.to_owned()),
            confidence,
            metadata,
        };
        (distinct.into_found().map(finding).collect(), is_cut)
    }

    fn main_metadata(&self, main: &Main, answers: &Answers<'_>, values: Values<'_>) -> Map<String, Value> {
        let mut metadata = Map::new();
        if let Some(url) = self.profile.as_ref().and_then(|profile| profile.fill(&values).ok()) {
            metadata.insert("profile_url".into(), Value::from(url));
        }
        for (name, extractor) in &main.metadata {
            let reading = Reading { answer: answers.get(extractor.probe), values, item: None };
            insert(&mut metadata, name, extractor, &reading);
        }
        metadata
    }
}

fn compile_main(
    result: &MainResult,
    selectors: &mut Selectors,
    scope: &Scope,
    mistakes: &mut Mistakes,
) -> Option<Main> {
    let value = match &result.value {
        None => None,
        Some(entry) => Some(
            mistakes
                .field("value", |mistakes| Extractor::compile(entry, false, selectors, scope, mistakes))?,
        ),
    };
    let metadata = compile_metadata(&result.metadata, false, selectors, scope, mistakes);
    Some(Main { result_type: result.result_type, value, metadata })
}

fn compile_metadata(
    metadata: &BTreeMap<String, ExtractorEntry>,
    in_list: bool,
    selectors: &mut Selectors,
    scope: &Scope,
    mistakes: &mut Mistakes,
) -> Vec<(String, Extractor)> {
    mistakes.field("metadata", |mistakes| {
        let members = metadata.iter().filter_map(|(name, entry)| {
            let extractor = mistakes
                .field(name, |mistakes| Extractor::compile(entry, in_list, selectors, scope, mistakes))?;
            Some((name.clone(), extractor))
        });
        members.collect()
    })
}

impl List {
    fn compile(
        list: &ListResult,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let before = mistakes.count();
        scope.check_probe(list.probe, mistakes);
        let each = mistakes.field("each", |mistakes| Each::compile(&list.each, selectors, scope, mistakes));
        let value = list.value.as_ref().map(|entry| {
            mistakes.field("value", |mistakes| Extractor::compile(entry, true, selectors, scope, mistakes))
        });
        let keep =
            list.keep.as_ref().map(|text| mistakes.field("keep", |mistakes| scope.pattern(text, mistakes)));
        let metadata = compile_metadata(&list.metadata, true, selectors, scope, mistakes);
        let filter = mistakes
            .list("where", &list.filter, |mistakes, rule| JsonMatcher::compile(rule, scope, mistakes));
        let each = each?;
        if !filter.is_empty() && !each.gives_json() {
            mistakes.add_in("where", "its pointers need JSON elements; use `keep` for texts");
        }
        let value = value.map_or(Some(None), |compiled| compiled.map(Some));
        let keep = keep.map_or(Some(None), |compiled| compiled.map(Some));
        let (value, keep) = (value?, keep?);
        for extractor in value.iter().chain(metadata.iter().map(|(_, extractor)| extractor)) {
            check_kinds(extractor, &each, mistakes);
        }
        (mistakes.count() == before).then_some(Self {
            result_type: list.result_type,
            probe: list.probe,
            each,
            filter,
            value,
            keep,
            metadata,
            limit: list.limit.unwrap_or(DEFAULT_LIMIT),
        })
    }

    /// Returns the values of the list: filtered, without duplicates, at most `limit`. Also returns whether there are
    /// more.
    fn read(&self, answers: &Answers<'_>, values: Values<'_>) -> (Distinct, bool) {
        let (mut found, mut is_cut) = (Distinct::default(), false);
        let keep = match self.keep.as_ref().map(|pattern| pattern.regex(&values)) {
            None => None,
            Some(Ok(regex)) => Some(regex),
            // If a value that the filter needs is missing, no element can pass it.
            Some(Err(_)) => return (found, false),
        };
        let items = answers.get(self.probe).into_iter().flat_map(|page| {
            let items = self.each.items(page, &values);
            is_cut |= items.len() >= MAX_ITEMS;
            items.into_iter().map(move |item| (page, item))
        });
        for (answer, item) in items {
            if !self.filter.iter().all(|rule| rule.holds(&item.value, &values)) {
                continue;
            }
            let reading = Reading { answer: Some(answer), values, item: Some(&item) };
            let mut metadata = None;
            for text in self.texts(&reading, &item) {
                if keep.as_ref().is_some_and(|regex| !regex.is_found(&text, values.searches)) {
                    continue;
                }
                let Some(text) = valid(self.result_type, &text, values.query) else { continue };
                let metadata = metadata.get_or_insert_with(|| self.metadata(&reading));
                let next = (self.result_type, text, metadata.clone());
                if found.len() < self.limit {
                    found.add(next);
                } else if !found.has(&next) {
                    return (found, true);
                }
            }
        }
        (found, is_cut)
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
        let texts = values.iter().filter_map(as_text).map(read);
        texts.filter(|text| !text.is_empty()).collect()
    }

    fn metadata(&self, reading: &Reading<'_, '_>) -> Map<String, Value> {
        let mut metadata = Map::new();
        for (name, extractor) in &self.metadata {
            insert(&mut metadata, name, extractor, reading);
        }
        metadata
    }
}

/// Checks that `group:` and `attr:` are used only with elements that have groups or attributes.
fn check_kinds(extractor: &Extractor, each: &Each, mistakes: &mut Mistakes) {
    if mistakes.is_proven() {
        return;
    }
    for source in extractor.sources() {
        match (source, each.groups()) {
            (Source::Group(_), None) => mistakes.add("`group:` needs `regex:` in `each`"),
            (Source::Group(group), Some(groups)) if *group >= groups => {
                mistakes.add(format!("`group:{group}`: the regex of `each` has only {} groups", groups - 1));
            }
            (Source::Attribute(_), _) if !each.gives_elements() => {
                mistakes.add("`attr:` needs `css:` in `each`");
            }
            _ => {}
        }
    }
}

fn insert(metadata: &mut Map<String, Value>, name: &str, extractor: &Extractor, reading: &Reading<'_, '_>) {
    let mut nodes = MAX_NODES;
    let value = extractor.value(reading).and_then(|value| clean_value(value, 0, &mut nodes));
    if let Some(value) = value.and_then(|value| fit(name, value)) {
        metadata.insert(name.to_owned(), value);
    }
}

/// Returns a value that can be stored and shown: texts are cleaned, nesting and size are limited. Returns
/// `None` if nothing is left.
fn clean_value(value: Value, depth: usize, nodes: &mut usize) -> Option<Value> {
    if *nodes == 0 || depth > MAX_DEPTH {
        return None;
    }
    *nodes -= 1;
    match value {
        Value::Null => None,
        Value::Bool(_) | Value::Number(_) => Some(value),
        Value::String(text) => {
            let text = clean(&text);
            (!text.is_empty()).then_some(Value::String(text))
        }
        Value::Array(elements) => {
            let kept: Vec<Value> = elements
                .into_iter()
                .map_while(|element| clean_child(element, depth, nodes))
                .flatten()
                .collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(members) => {
            let kept: Map<String, Value> = members
                .into_iter()
                .map_while(|(name, value)| {
                    clean_child(value, depth, nodes).map(|value| (clean(&name), value))
                })
                .filter_map(|(name, value)| Some((name, value?)))
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
    }
}

/// Returns the cleaned child. The outer `None` means that no more nodes are allowed.
fn clean_child(value: Value, depth: usize, nodes: &mut usize) -> Option<Option<Value>> {
    (*nodes > 0).then(|| clean_value(value, depth + 1, nodes))
}
