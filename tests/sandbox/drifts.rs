//! Sites that changed after their entries were written: new rules are learned from their answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sightline::modules::control::two_made_up;
use sightline::modules::definition::{Entry, Method, Via};
use sightline::modules::learn::{Learner, NotLearned};
use sightline::modules::module::Module;
use sightline::modules::outcome::Outcome;
use sightline::modules::query::Query;
use sightline::modules::reason::Reason;
use sightline::sandbox::SandboxOptions;

use super::drift::{Drift, DriftKind, Drifting};
use super::lab::{Lab, PATIENCE};
use crate::support::modules::builtin;
use crate::support::tier::often;

/// The end of one repair.
#[derive(Debug, Clone, PartialEq)]
enum Repair {
    /// The new rules judge names correctly that they were not learned from.
    Correct,
    /// The new rules misjudge a name.
    Wrong(String),
    /// There are no new rules.
    None(NotLearned),
}

/// Returns a number that depends on the words only (FNV-1a).
pub(super) fn hash(words: &[&str]) -> u64 {
    let bytes = words.iter().flat_map(|word| word.bytes().chain([0xff]));
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    hash ^ (hash >> 29)
}

/// Returns whether rules can be learned for an entry at all, and whether a kind of change may affect it.
fn is_affected(entry: &Entry, kind: DriftKind) -> bool {
    let [probe] = entry.probes.as_slice() else { return false };
    let reads_json = entry.hit.iter().chain(entry.miss.iter()).any(|rule| !rule.json.is_empty());
    entry.enabled
        && probe.feed.is_none()
        && probe.via == Via::Http
        && probe.method != Method::Head
        && !entry.known.is_empty()
        && !entry.miss.is_empty()
        && match kind {
            DriftKind::Moved => !probe.follow && probe.method == Method::Get,
            DriftKind::FieldRenamed => reads_json,
            DriftKind::Marker | DriftKind::Status | DriftKind::SoftMiss => true,
        }
}

/// Returns the names that exist everywhere or nowhere, as far as the module accepts them.
fn names(module: &Module, stem: &str) -> Vec<Query> {
    let ends = ["", "7", "else", "-two", "_three"];
    let kind = module.search_type();
    let texts = ends.iter().flat_map(|end| {
        let name = format!("{stem}{end}");
        let domains = module.entry().domain_in.iter().map(String::as_str).chain(["example.com"]);
        let emails = domains.map(|domain| format!("{name}@{domain}")).collect::<Vec<_>>();
        match kind.as_str() {
            "username" => vec![name],
            "email" => emails,
            _ => vec![format!("{name}.com"), format!("{name}.org")],
        }
    });
    let queries = texts.filter_map(|text| Query::parse(kind, &text).ok());
    queries.filter(|query| module.why_skipped(query, &Default::default()).is_none()).take(3).collect()
}

/// Returns the first query that has another outcome than the wanted one.
fn misjudged(lab: &Lab, module: &Module, queries: &[Query], wanted: Outcome) -> Option<String> {
    queries.iter().find_map(|query| {
        let report = lab.check(module, query);
        let reason = report.reason.map_or("", Reason::as_str);
        let rule = report.evidence.matcher.unwrap_or_default();
        (report.outcome != wanted).then(|| format!("{}: {} {reason} {rule}", query.normal(), report.outcome))
    })
}

/// Returns whether a module no longer judges its known account and a made-up name correctly.
fn is_broken(lab: &Lab, module: &Module) -> bool {
    let known = Query::parse(module.search_type(), &module.entry().known[0]).unwrap();
    let made_up = two_made_up(module, &known, 7);
    misjudged(lab, module, &[known], Outcome::Hit).is_some()
        || made_up.iter().any(|name| {
            let until = std::time::Instant::now() + PATIENCE;
            lab.checker.check_made_up(module, name, until).outcome != Outcome::Miss
        })
}

fn repair(lab: &Lab, module: &Module) -> Repair {
    let learner = Learner { checker: &lab.checker, timeout: PATIENCE, is_stopped: &|| false };
    let lesson = match learner.learn(module.entry()) {
        Ok(lesson) => lesson,
        Err(why) => return Repair::None(why),
    };
    let repaired = Module::compile(lesson.entry.clone()).unwrap();
    let (real, missing) = (names(&repaired, "everybody"), names(&repaired, "nobody"));
    let wrong = misjudged(lab, &repaired, &real, Outcome::Hit)
        .or_else(|| misjudged(lab, &repaired, &missing, Outcome::Miss));
    match wrong {
        None => Repair::Correct,
        Some(what) => {
            let rules = serde_json::to_string(&(&lesson.entry.hit, &lesson.entry.miss)).unwrap();
            Repair::Wrong(format!("{what}; {rules}"))
        }
    }
}

#[test]
fn entries_of_changed_sites_are_repaired_and_none_wrongly() {
    let catalog = builtin();
    // The changed sites of each kind, and the entries from which those are taken that the change breaks.
    let (of_each_kind, tried_of_each_kind) = often((4, 24), (20, 90));
    let mut all: Vec<(DriftKind, String, Repair)> = Vec::new();
    for kind in DriftKind::ALL {
        let is_usable = |module: &&Arc<Module>| {
            is_affected(module.entry(), kind)
                && module.entry().needs.is_empty()
                && names(module, "everybody").len() >= 2
                && names(module, "nobody").len() >= 2
        };
        let mut modules: Vec<Arc<Module>> = catalog.modules().iter().filter(is_usable).cloned().collect();
        modules.sort_by_key(|module| hash(&[module.id(), &format!("{kind:?}")]));
        modules.truncate(tried_of_each_kind);
        let drift = |module: &Arc<Module>| {
            (module.id().clone(), (module.clone(), Drift { kind, seed: hash(&["seed", module.id()]) }))
        };
        let sites = modules.iter().map(drift).collect();
        let lab = Lab::behind(modules, SandboxOptions::perfect(), |web| {
            Arc::new(Drifting { web, sites, requests: AtomicU64::default() })
        });
        let broken: Vec<String> = lab.complaints(4, |module| is_broken(&lab, module).then(String::new));
        let broken: BTreeSet<&str> = broken.iter().map(|line| line.trim_end_matches(": ")).collect();
        let chosen: Vec<&Arc<Module>> =
            lab.modules.iter().filter(|module| broken.contains(&**module.id())).take(of_each_kind).collect();
        println!("{kind:?}: {} of {} are broken", broken.len(), lab.modules.len());
        let ids: BTreeSet<&str> = chosen.iter().map(|module| &**module.id()).collect();
        let found = parking_lot::Mutex::new(Vec::new());
        lab.complaints(4, |module| {
            if ids.contains(&**module.id()) {
                let end = repair(&lab, module);
                found.lock().push((kind, module.id().to_string(), end));
            }
            None
        });
        all.extend(found.into_inner());
    }
    let count = |wanted: fn(&Repair) -> bool| all.iter().filter(|(.., end)| wanted(end)).count();
    let correct = count(|end| *end == Repair::Correct);
    let wrong = count(|end| matches!(end, Repair::Wrong(_)));
    let entries: BTreeSet<&str> = all.iter().map(|(_, id, _)| id.as_str()).collect();
    let told: Vec<String> = all
        .iter()
        .filter(|(.., end)| *end != Repair::Correct)
        .map(|(kind, id, end)| format!("{kind:?} {id}: {end:?}"))
        .collect();
    let told = told.join("\n");
    println!("{correct} of {} repaired, {wrong} wrongly, {} entries\n{told}", all.len(), entries.len());
    assert_eq!(all.len(), often(20, 100));
    assert!(entries.len() >= often(10, 40), "only {} entries", entries.len());
    assert_eq!(wrong, 0, "{told}");
    assert!(correct >= often(17, 85), "only {correct}:\n{told}");
}
