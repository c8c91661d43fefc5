//! What changed between two runs of one query.
//!
//! A difference is stated only if the runs prove it. A site that was blocked in one run says nothing about what it has,
//! so its results are `unknown`, and never `removed` or `added`.
//!
//! # Which results are the same
//! Results are the same if their [`EntityKey`]s are equal. Of the rest, accounts and profiles are the same if they are the
//! same [`Entity`], so that another spelling of a name is a change of the account. A platform that the catalogue calls by
//! another name in the later run is the same platform. Ids, times, confidences and the order of results count for nothing.
//!
//! # What is proven
//! - A result is missing in a run if **every** module that found it in the other run concluded there without it, by
//!   the same rules. A hit proves this only if the module read all of its answer; a weak miss never does.
//! - The data of a result differs if the same modules found it in both runs, in the same order, by the same rules and from
//!   the same source, and read all of their answers. With other modules, or in another order, a value may be that of
//!   another module.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Map, Value, json};
use url::Url;
use uuid::Uuid;

use super::record::Findings;
use crate::model::diff::{Cause, ComparedRun, Diff, DiffCounts, Difference, FieldChange, RunSide, Undecided};
use crate::model::entity::identified::Entity;
use crate::model::entity::merge::{self, MAX_SOURCES, SOURCES};
use crate::model::entity::{EntityKey, folded};
use crate::model::notes;
use crate::model::refusal::{Code, Refusal};
use crate::model::run::{ModuleReport, ResultRecord, Status};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::rules_version::RulesVersion;
use crate::runs::leads::FOUND_BY;

/// Members that say nothing about the entity: how it was found, and the time that an answer stays in a cache, which
/// passes from request to request.
const LEFT_OUT: [&str; 3] = [SOURCES, FOUND_BY, "ttl_seconds"];
/// Members that identify an entity or its owner, in the order in which they are shown.
const IDENTITY: &str = "type value username user_id display_name real_name name first_name last_name email verified \
     suspended website links bio location company";
/// Parts of the names of members that hold the address of an image.
const IMAGES: [&str; 7] = ["avatar", "banner", "cover", "image", "photo", "picture", "thumbnail"];

impl Diff {
    /// Compares two runs.
    ///
    /// # Errors
    /// Fails if a run has not ended, or if the runs do not have the same query.
    pub fn between(
        before: &Findings<'_>,
        after: &Findings<'_>,
        profiles: &ProfileIndex,
    ) -> Result<Self, Refusal> {
        check(before, after)?;
        let old = Side::of(RunSide::Before, before, after.modules, profiles);
        let new = Side::of(RunSide::After, after, after.modules, profiles);
        let modules: BTreeSet<&str> = old.reports.keys().chain(new.reports.keys()).copied().collect();
        let is_compared = |module: &&&str| [&old, &new].iter().all(|side| side.is_conclusive(module));
        let modules_compared = modules.iter().filter(is_compared).count();
        let only_new = new.entries.iter().filter(|(key, _)| !old.entries.contains_key(key));
        let mut only_new: BTreeMap<_, &Entry> =
            only_new.map(|(key, entry)| ((entry.account, *key), entry)).collect();
        let (mut removed, mut changed, mut unchanged) = (Vec::new(), Vec::new(), 0);
        for (key, one) in &old.entries {
            let same_account = || {
                let account = Some(one.account?);
                let of_account = (account, EntityKey([0; 16]))..=(account, EntityKey([u8::MAX; 16]));
                let found = *only_new.range(of_account).next()?.0;
                Some((&found.1, only_new.remove(&found)?)).map(|(key, entry)| (*key, entry))
            };
            let same = new.entries.get(key).map(|entry| (*key, entry)).or_else(same_account);
            let Some((other_key, other)) = same else {
                removed.push(difference(Some(one), None, new.why_no_absence(one, &old)));
                continue;
            };
            let fields = differences(&one.record, &other.record, *key != other_key);
            if fields.is_empty() {
                unchanged += 1;
            } else {
                let undecided = why_not_compared(one, other, &old, &new);
                changed.push(Difference { fields, ..difference(Some(one), Some(other), undecided) });
            }
        }
        let added = only_new.into_values().map(|it| difference(None, Some(it), old.why_no_absence(it, &new)));
        let mut lists = [added.collect(), removed, changed, Vec::new()];
        let [stated @ .., unknown] = &mut lists;
        for list in stated {
            unknown.extend(list.extract_if(.., |it: &mut Difference| !it.undecided.is_empty()));
        }
        lists.iter_mut().for_each(|list| list.sort_by_cached_key(for_people));
        let [added, removed, changed, unknown] = lists;
        Ok(Self {
            search_type: after.query.search_type(),
            query: after.query.normal().to_owned(),
            before: old.head(before),
            after: new.head(after),
            counts: DiffCounts {
                added: added.len(),
                removed: removed.len(),
                changed: changed.len(),
                unknown: unknown.len(),
                unchanged,
            },
            modules_compared,
            modules_not_compared: modules.len() - modules_compared,
            added,
            removed,
            changed,
            unknown,
        })
    }
}

/// Returns why two runs cannot be compared, if they cannot.
fn check(before: &Findings<'_>, after: &Findings<'_>) -> Result<(), Refusal> {
    let query = |run: &Findings<'_>| (run.query.search_type(), run.query.normal().to_owned());
    if !before.status.is_terminal() || !after.status.is_terminal() {
        let message = "a run has not ended; only runs that have ended can be compared";
        Err(Refusal::new(Code::RunNotEnded, message))
    } else if query(before) != query(after) {
        let message = "the runs have different queries; only runs of one type and query can be compared";
        Err(Refusal::new(Code::RunsDiffer, message))
    } else if before.simulated != after.simulated {
        let message =
            "only one of the runs is of the simulated web; two runs of the same web can be compared";
        Err(Refusal::new(Code::RunsDiffer, message))
    } else {
        Ok(())
    }
}

/// Returns what differences are sorted by, in the order in which people read them.
fn for_people(it: &Difference) -> (u8, String, String, String, Option<String>) {
    let folded = |text: &Option<String>| text.as_deref().unwrap_or_default().to_lowercase();
    (
        notes::rank(it.verdict),
        it.result_type.clone(),
        folded(&it.platform),
        folded(&it.value),
        it.value.clone(),
    )
}

/// Returns a result that one of the runs has, or both, without the fields that differ.
fn difference(one: Option<&Entry>, other: Option<&Entry>, mut undecided: Vec<Undecided>) -> Difference {
    undecided.sort_by_cached_key(|it| (it.module.clone(), it.run, it.cause));
    let [before_id, after_id] = [one, other].map(|entry| entry.map(|entry| entry.record.id));
    let shown = other.or(one).map(|entry| &entry.record);
    let verdict = |entry: Option<&Entry>| entry?.record.verdict();
    Difference {
        verdict: verdict(other).or_else(|| verdict(one)),
        result_type: shown.map(|record| record.result_type.clone()).unwrap_or_default(),
        platform: shown.and_then(|record| record.platform.clone()),
        value: shown.and_then(|record| record.value.clone()),
        profile_url: shown.and_then(|it| it.metadata.get("profile_url")?.as_str()).map(str::to_owned),
        before_id,
        after_id,
        fields: Vec::new(),
        undecided,
    }
}

/// Returns why a difference between the data of a result may lie in the runs. It is empty if it lies in the site.
fn why_not_compared(one: &Entry, other: &Entry, before: &Side<'_>, after: &Side<'_>) -> Vec<Undecided> {
    let modules: BTreeSet<&String> = one.sources.iter().chain(&other.sources).collect();
    let is_looked_up = one.is_looked_up() || other.is_looked_up();
    let mut undecided = Vec::new();
    for module in &modules {
        for side in [before, after] {
            undecided.extend(side.why_not_read(module).map(|cause| side.undecided(module, cause)));
        }
        let has_other_rules = before.rules(module) != after.rules(module);
        for (holds, cause) in [(has_other_rules, Cause::OtherRules), (is_looked_up, Cause::LookedUp)] {
            undecided.extend(holds.then(|| after.undecided(module, cause)));
        }
    }
    let are_other = one.sources != other.sources || one.has_all_sources() || other.has_all_sources();
    if undecided.is_empty() && are_other {
        undecided.extend(modules.iter().map(|module| after.undecided(module, Cause::OtherSources)));
    }
    undecided
}

/// A result of a run.
struct Entry {
    /// The result, with the platform's name of the later run.
    record: ResultRecord,
    /// The entity of an account or profile.
    account: Option<Uuid>,
    /// The ids of the modules that found the result, in the order in which they did.
    sources: Vec<String>,
}

impl Entry {
    /// Returns whether it was found by following a link, so that a module asks for it only if the link is there.
    fn is_looked_up(&self) -> bool {
        self.record.metadata.contains_key(FOUND_BY)
    }

    /// Returns whether there may be further sources, which are not listed.
    fn has_all_sources(&self) -> bool {
        self.sources.len() >= MAX_SOURCES
    }

    /// Returns what results about the same account share, whatever their types: the entity, or for each module the name
    /// that it has found. A tenant is compared only within its platform, so it has a name as well.
    fn marks(&self) -> impl Iterator<Item = (String, String)> {
        let entity = self.account.map(|id| (String::new(), id.to_string()));
        let is_named = self.account.is_some() || self.record.result_type == ResultType::Tenant.as_str();
        let name = self.record.value.as_deref().filter(|_| is_named).map(folded);
        let names = name.map(|name| self.sources.iter().map(move |module| (module.clone(), name.clone())));
        entity.into_iter().chain(names.into_iter().flatten())
    }
}

/// One of the two runs, and what its modules prove.
struct Side<'a> {
    run: RunSide,
    entries: BTreeMap<EntityKey, Entry>,
    /// The marks of all entries.
    marks: HashSet<(String, String)>,
    reports: BTreeMap<&'a str, &'a ModuleReport>,
    has_failed: bool,
}

impl<'a> Side<'a> {
    /// Prepares a run. `later` are the modules of the later run, which may call their platforms by other names.
    fn of(side: RunSide, run: &Findings<'a>, later: &[ModuleReport], profiles: &ProfileIndex) -> Self {
        let (reports, later) = (by_module(run.modules), by_module(later));
        let mut entries: BTreeMap<EntityKey, Entry> = BTreeMap::new();
        for record in run.results {
            let mut record = record.clone();
            let sources = merge::modules(&record);
            let later_name = sources.iter().find_map(|module| {
                let old = reports.get(module.as_str())?;
                let is_own = record.platform.as_ref() == Some(&old.platform);
                later.get(module.as_str()).filter(|_| is_own).map(|report| report.platform.clone())
            });
            record.platform = later_name.or(record.platform);
            let is_account = ["account", "profile"].contains(&record.result_type.as_str());
            let account = is_account.then(|| Entity::of_result(&record, profiles).id);
            // An earlier version stored equal entities as separate results. The first of them counts.
            entries.entry(EntityKey::of(&record)).or_insert(Entry { record, account, sources });
        }
        let marks = entries.values().flat_map(Entry::marks).collect();
        Self { run: side, entries, marks, reports, has_failed: run.status != Status::Completed }
    }

    /// Returns the run as the diff shows it.
    fn head(&self, run: &Findings<'_>) -> ComparedRun {
        let Findings { run_id, status, created_at, .. } = *run;
        ComparedRun { run_id, status, created_at, total_results: self.entries.len() }
    }

    fn is_conclusive(&self, module: &str) -> bool {
        !self.has_failed && self.reports.get(module).is_some_and(|report| report.status.is_conclusive())
    }

    /// Returns the rules by which a module came to its conclusion.
    fn rules(&self, module: &str) -> Option<&RulesVersion> {
        self.reports.get(module)?.rules.as_ref()
    }

    /// Returns why nobody can say that a result of the other run is missing in this one. It is empty if every module that
    /// found the result there looked for it here and did not find it.
    fn why_no_absence(&self, entry: &Entry, other: &Side<'_>) -> Vec<Undecided> {
        let is_still_found = entry.marks().any(|mark| self.marks.contains(&mark));
        let other_rules = |module: &str, is_same: fn(&RulesVersion, &RulesVersion) -> bool| match (
            self.rules(module),
            other.rules(module),
        ) {
            (Some(own), Some(rules)) => (!is_same(own, rules)).then_some(Cause::OtherRules),
            _ => Some(Cause::RulesUnknown),
        };
        let cause = |module: &str| match self.reports.get(module) {
            _ if is_still_found => Some(Cause::StillFound),
            _ if entry.is_looked_up() => Some(Cause::LookedUp),
            _ if entry.has_all_sources() => Some(Cause::OtherSources),
            Some(report) if report.status == Outcome::Miss && !self.has_failed => match report.reason {
                Some(_) => Some(Cause::WeakMiss),
                None => other_rules(module, RulesVersion::is_of_same_entry),
            },
            _ => self.why_not_read(module).or_else(|| other_rules(module, |own, rules| own == rules)),
        };
        let sources = entry.sources.iter();
        sources.filter_map(|module| Some(self.undecided(module, cause(module)?))).collect()
    }

    /// Returns why a module may not have read everything that its site has about the query.
    fn why_not_read(&self, module: &str) -> Option<Cause> {
        let Some(report) = self.reports.get(module) else { return Some(Cause::NotAsked) };
        match (report.status, report.reason, &report.rules) {
            _ if self.has_failed => Some(Cause::RunFailed),
            (Outcome::Hit, reason, _) if reason.is_some() || report.partial => Some(Cause::Incomplete),
            (Outcome::Hit, _, None) => Some(Cause::RulesUnknown),
            (Outcome::Hit, _, Some(_)) => None,
            // Another module found the result here.
            (Outcome::Miss, ..) => Some(Cause::OtherSources),
            _ => Some(Cause::NoConclusion),
        }
    }

    /// Returns the entry of a module for `undecided`.
    fn undecided(&self, module: &str, cause: Cause) -> Undecided {
        let report = self.reports.get(module);
        let (status, reason) = (report.map(|report| report.status), report.and_then(|report| report.reason));
        Undecided { module: module.to_owned(), run: self.run, cause, status, reason }
    }
}

fn by_module(reports: &[ModuleReport]) -> BTreeMap<&str, &ModuleReport> {
    reports.iter().map(|report| (report.module.as_str(), report)).collect()
}

/// Returns the members that differ, also type and value if the identity is written differently: what identifies first,
/// counts and times last.
fn differences(before: &ResultRecord, after: &ResultRecord, is_other_identity: bool) -> Vec<FieldChange> {
    let change =
        |name: &str, before: Value, after: Value| FieldChange { name: name.to_owned(), before, after };
    let mut all = Vec::new();
    if is_other_identity {
        all.push(change("type", json!(before.result_type), json!(after.result_type)));
        all.push(change("value", json!(before.value), json!(after.value)));
    }
    let names: BTreeSet<&String> = before.metadata.keys().chain(after.metadata.keys()).collect();
    let value = |of: &Map<String, Value>, name: &str| of.get(name).cloned().unwrap_or(Value::Null);
    let shown = names.into_iter().filter(|name| !LEFT_OUT.contains(&name.as_str()));
    all.extend(shown.map(|name| change(name, value(&before.metadata, name), value(&after.metadata, name))));
    all.retain(|change| !is_same(&change.name, &change.before, &change.after));
    all.sort_by_cached_key(|change| (rank(change), change.name.clone()));
    all
}

/// Returns the position of a change in the list: identity, other data, and what changes by itself.
fn rank(FieldChange { name, before, after }: &FieldChange) -> (usize, bool) {
    let place = IDENTITY.split(' ').position(|known| known == name).unwrap_or(usize::MAX);
    let is_number = |value: &Value| value.is_number() || value.is_null();
    (place, (is_number(before) && is_number(after)) || name.ends_with("_at"))
}

/// Returns whether two values say the same. The order of a list does not count, nor do the parameters in the address of
/// an image, which often are a signature with a time.
fn is_same(name: &str, before: &Value, after: &Value) -> bool {
    if before == after {
        return true;
    }
    match (before, after) {
        (Value::String(before), Value::String(after)) if IMAGES.iter().any(|word| name.contains(word)) => {
            matches!((file(before), file(after)), (Some(before), Some(after)) if before == after)
        }
        _ => unordered(before) == unordered(after),
    }
}

/// Returns the address of a file without its parameters.
fn file(address: &str) -> Option<Url> {
    let mut url = Url::parse(address).ok().filter(|url| url.has_host() && url.path() != "/")?;
    url.set_query(None);
    url.set_fragment(None);
    Some(url)
}

/// Returns a text that is the same for values that differ only in the order of lists and members.
fn unordered(value: &Value) -> String {
    match value {
        Value::Array(all) => {
            let mut all: Vec<String> = all.iter().map(unordered).collect();
            all.sort_unstable();
            format!("[{}]", all.join(","))
        }
        Value::Object(members) => {
            let members: BTreeMap<&String, String> =
                members.iter().map(|(name, value)| (name, unordered(value))).collect();
            format!("{members:?}")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ids::RunId;
    use crate::model::entity::tests::record;
    use crate::modules::catalog::Catalog;
    use crate::modules::query::{Query, SearchType};

    fn names(before: &Value, after: &Value) -> Vec<String> {
        let [before, after] = [before, after].map(|it| record(1, "account", "octocat", it));
        let all = differences(&before, &after, false);
        all.into_iter().map(|change| change.name).collect()
    }

    #[test]
    fn what_identifies_comes_first_and_what_counts_comes_last() {
        let before =
            json!({"followers": 1, "badge": "a", "last_seen_at": "x", "display_name": "A", "bio": "b"});
        let after =
            json!({"followers": 2, "badge": "b", "last_seen_at": "y", "display_name": "B", "website": "c"});
        let wanted = ["display_name", "website", "bio", "badge", "followers", "last_seen_at"];
        assert_eq!(names(&before, &after), wanted);
    }

    #[test]
    fn what_is_mine_or_unsure_comes_first_and_what_is_not_mine_last() {
        let results = [Some("not_mine"), None, Some("unsure"), Some("mine")].map(|verdict| {
            let result = record(1, "account", verdict.unwrap_or("none"), &json!({}));
            let annotation = json!({"note": null, "verdict": verdict});
            ResultRecord { annotation: Some(serde_json::from_value(annotation).unwrap()), ..result }
        });
        let run = |results| {
            Findings::new(RunId::new(), Query::parse(SearchType::Username, "ana").unwrap(), results)
        };
        let catalog = Catalog::from_text("none", "[]").unwrap();
        let diff = Diff::between(&run(&results), &run(&[]), catalog.profiles()).unwrap();
        let shown: Vec<_> = diff.unknown.iter().map(|it| it.value.as_deref().unwrap()).collect();
        assert_eq!(shown, ["mine", "unsure", "none", "not_mine"]);
    }

    #[test]
    fn values_that_say_the_same_are_no_change() {
        let image = |name: &str, query: &str| json!({ name: format!("https://cdn.example/a.png{query}") });
        let same = [
            (json!({"links": ["a", {"b": 1, "c": 2}]}), json!({"links": [{"c": 2, "b": 1}, "a"]})),
            (json!({"sources": [1]}), json!({"sources": [2]})),
            (json!({"ttl_seconds": 30}), json!({"ttl_seconds": 29})),
            (image("avatar_url", "?e=1&s=a"), image("avatar_url", "?e=2&s=b")),
        ];
        for (before, after) in same {
            assert_eq!(names(&before, &after), [""; 0], "{before}");
        }
        let differ = [
            (json!({"links": ["a", "a"]}), json!({"links": ["a"]})),
            (json!({"links": ["a,b"]}), json!({"links": ["a", "b"]})),
            (json!({"n": 1}), json!({"n": "1"})),
            (json!({"n": {"a": null}}), json!({"n": {}})),
            (image("website", "?a=1"), image("website", "?a=2")),
            (
                json!({"avatar_url": "https://a.example/?id=1"}),
                json!({"avatar_url": "https://a.example/?id=2"}),
            ),
        ];
        for (before, after) in differ {
            assert_eq!(names(&before, &after).len(), 1, "{before}");
        }
    }
}
