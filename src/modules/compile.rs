//! Compiles catalogue entries to modules.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::barrier::BARRIER_REACH;
use super::definition::{Entry, Extractor as ExtractorEntry, Method, Scripts};
use super::extract::extractor::Extractor;
use super::extract::findings::ResultFields;
use super::feed::MAX_FEED_BYTES;
use super::html::Selectors;
use super::lint;
use super::mistake::{Mistake, Mistakes};
use super::module::{Module, rules_on};
use super::pattern::WholeRegex;
use super::plan::Plan;
use super::probe::MAX_BODY_BYTES;
use super::query::SearchType;
use super::render::Waiting;
use super::rule::matcher::Matcher;
use super::scope::Scope;

/// The bytes that are read if only the title and the `<meta>` elements are needed.
const HEAD_REACH: usize = 256 * 1024;

impl Module {
    /// Compiles an entry.
    ///
    /// # Errors
    /// Returns every mistake in the entry, each with its place.
    pub fn compile(entry: Entry) -> Result<Self, Vec<Mistake>> {
        Self::compile_with(entry, Mistakes::default())
    }

    /// Compiles an entry that is known to have no mistake, as those of the built-in catalogue. It is not checked again,
    /// and its regexes are compiled when they are first used.
    pub(crate) fn compile_proven(entry: Entry) -> Result<Self, Vec<Mistake>> {
        Self::compile_with(entry, Mistakes::of_proven_entry())
    }

    fn compile_with(entry: Entry, mut mistakes: Mistakes) -> Result<Self, Vec<Mistake>> {
        let module = compile(entry, &mut mistakes);
        match module {
            Some(module) if mistakes.count() == 0 => Ok(module),
            _ => Err(mistakes.into_list()),
        }
    }
}

fn compile(entry: Entry, mistakes: &mut Mistakes) -> Option<Module> {
    if !mistakes.is_proven() {
        lint::entry(&entry, mistakes);
    }
    let accepts = entry.accepts.as_deref().and_then(|text| {
        // A query in another script is skipped before this regex is used.
        let is_ascii = entry.search_type != SearchType::Username || entry.scripts == Scripts::Ascii;
        mistakes.field("accepts", |mistakes| WholeRegex::read(text, is_ascii, mistakes))
    });
    let mut scope = Scope { allows_config: true, ..Scope::of_rules(&entry, BTreeSet::new()) };
    let mut selectors = Selectors::default();
    let plans = mistakes.list("probes", &entry.probes, |mistakes, probe| {
        let plan = Plan::compile(probe, &mut selectors, &scope, mistakes);
        scope.saved.extend(probe.save.keys().cloned());
        plan
    });
    scope.allows_config = false;
    let mut rules = |field: &str, list: &[_], mistakes: &mut Mistakes| {
        mistakes.list(field, list, |mistakes, rule| Matcher::compile(rule, &mut selectors, &scope, mistakes))
    };
    let barrier = rules("barrier", &entry.barrier, mistakes);
    let hit = rules("hit", &entry.hit, mistakes);
    let miss = rules("miss", &entry.miss, mistakes);
    let result_fields = ResultFields::compile(&entry, &mut selectors, &scope, mistakes);
    if mistakes.count() > 0 {
        return None;
    }
    let id = entry.id.as_str().into();
    let rules = OnceLock::new();
    let mut module =
        Module { id, accepts, plans, barrier, hit, miss, result_fields, selectors, rules, entry };
    if !mistakes.is_proven() {
        lint::module(&module, mistakes);
    }
    for index in 0..module.plans.len() {
        let (body_limit, wants_json) = (body_limit(&module, index), wants_json(&module, index));
        module.plans[index].body_limit = body_limit;
        module.plans[index].wants_json = wants_json;
        module.plans[index].waiting = Waiting::compile(&module.entry, index, &scope, mistakes);
    }
    Some(module)
}

/// Returns the number of bytes that the module needs from the answer to a probe.
fn body_limit(module: &Module, probe: usize) -> usize {
    let plan = &module.plans[probe];
    if plan.method == Method::Head {
        return 0;
    }
    if plan.keep.is_some() {
        return MAX_FEED_BYTES;
    }
    let is_here = |index: Option<usize>| index.is_none_or(|index| index == probe);
    if rules_on(module, probe).any(|rule| rule.condition_kinds().reads_body)
        || module.result_fields.list_probes().any(is_here)
    {
        return MAX_BODY_BYTES;
    }
    let results = module
        .result_fields
        .extractors()
        .filter(|(index, _)| is_here(*index))
        .map(|(_, extractor)| extractor);
    let saves = plan.save.iter().map(|(_, extractor)| extractor);
    let needs = results.chain(saves).filter_map(Extractor::body_need);
    needs.map(|head_only| if head_only { HEAD_REACH } else { MAX_BODY_BYTES }).max().unwrap_or(BARRIER_REACH)
}

fn wants_json(module: &Module, probe: usize) -> bool {
    let entry = &module.entry.probes[probe];
    let save_reads_json = entry.save.values().any(|extractor| match extractor {
        ExtractorEntry::Short(text) => text.starts_with("json:"),
        ExtractorEntry::Long(long) => long.from.iter().any(|text| text.starts_with("json:")),
    });
    save_reads_json || rules_on(module, probe).any(|rule| rule.condition_kinds().json)
}
