//! A web of which everything is known, at two moments, and a run at each of them.
//!
//! The model does not know how runs are compared. It knows what each site has, and what a module then finds.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sightline::base::ids::RunId;
use sightline::model::diff::{Difference, FieldChange};
use sightline::model::entity::{EntityKey, merge};
use sightline::model::run::{ModuleReport, ResultRecord, Status};
use sightline::modules::outcome::Outcome;
use sightline::modules::reason::Reason;

use crate::support::chance::Chance;

const PLATFORMS: usize = 12;
const LISTS: usize = 3;
const HOSTS: usize = 10;

/// The data of an account, or of a host in one list.
type Fields = BTreeMap<&'static str, Value>;

/// What the web has at one moment.
#[derive(Default, Clone)]
struct Moment {
    /// The accounts by platform.
    accounts: BTreeMap<usize, Fields>,
    /// The hosts of each list.
    hosts: BTreeMap<(usize, usize), Fields>,
}

/// How a module is written in the catalogue at one moment.
#[derive(Clone)]
struct Rules {
    version: u8,
    result_type: &'static str,
    /// Whether it also has a hit where nothing is.
    is_wrong: bool,
    platform: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Subject {
    Account(usize),
    List(usize),
}

struct Module {
    id: String,
    subject: Subject,
    /// What the module adds to each text, as modules write the same thing in several ways.
    style: &'static str,
    weak_miss: bool,
    rules: [Rules; 2],
}

/// A run.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) run_id: RunId,
    pub(super) status: Status,
    pub(super) results: Vec<ResultRecord>,
    pub(super) modules: Vec<ModuleReport>,
}

pub(super) struct World {
    moments: [Moment; 2],
    modules: Vec<Module>,
    pub(super) runs: [Made; 2],
}

/// What goes wrong in a run.
struct Trouble {
    is_calm: bool,
    /// A version that did not record rules.
    is_old: bool,
    has_failed: bool,
}

impl World {
    /// Returns a world in which anything can go wrong.
    pub(super) fn new(seed: u64) -> Self {
        Self::make(&mut Chance::new(seed), false)
    }

    /// Returns a world in which sites change and nothing else happens.
    pub(super) fn calm(seed: u64) -> Self {
        Self::make(&mut Chance::new(seed), true)
    }

    fn make(draw: &mut Chance, is_calm: bool) -> Self {
        let before = Moment::new(draw);
        let moments = [before.clone(), before.later(draw)];
        let modules = modules(draw, is_calm);
        let mut world = Self { moments, modules, runs: [Made::empty(), Made::empty()] };
        world.runs = [0, 1].map(|at| {
            let trouble = Trouble {
                is_calm,
                is_old: !is_calm && draw.is_one_in(20),
                has_failed: !is_calm && draw.is_one_in(30),
            };
            world.run(draw, at, &trouble)
        });
        world
    }

    fn run(&self, draw: &mut Chance, at: usize, trouble: &Trouble) -> Made {
        let mut made = Made::empty();
        let mut order: Vec<&Module> = self.modules.iter().collect();
        for end in (1..order.len()).rev() {
            order.swap(end, draw.below(end + 1));
        }
        for module in order {
            // Another choice of modules, another catalogue, no premium.
            if !trouble.is_calm && draw.is_one_in(15) {
                continue;
            }
            let (mut report, found) = self.check(draw, module, at, trouble);
            if trouble.is_old {
                (report.rules, report.partial) = (None, false);
            }
            made.modules.push(report);
            found.into_iter().for_each(|record| made.add(record));
        }
        if !trouble.is_calm && draw.is_one_in(4) {
            made.add_looked_up(draw);
        }
        if trouble.has_failed {
            made.status = Status::Failed;
            made.results.truncate(made.results.len() / 2);
        }
        made
    }

    fn check(
        &self,
        draw: &mut Chance,
        module: &Module,
        at: usize,
        trouble: &Trouble,
    ) -> (ModuleReport, Vec<ResultRecord>) {
        let rules = &module.rules[at];
        let mut report = ModuleReport {
            module: module.id.clone(),
            platform: rules.platform.clone(),
            status: Outcome::Miss,
            reason: None,
            http_status: Some(200),
            elapsed_ms: draw.next() % 1_000,
            circuit: None,
            rules: None,
            partial: false,
        };
        if !trouble.is_calm && draw.is_one_in(5) {
            let (status, reason) = failure(draw);
            (report.status, report.reason) = (status, Some(reason));
            return (report, Vec::new());
        }
        let is_fallback = !trouble.is_calm && draw.is_one_in(12);
        let is_cut = !trouble.is_calm && draw.is_one_in(12);
        let number = self.modules.iter().position(|it| it.id == module.id).unwrap();
        let digest = format!("{:08x}", number * 256 + usize::from(rules.version));
        let is_account = matches!(module.subject, Subject::Account(_));
        let mut found = self.found(module, at);
        found.retain_mut(|record| {
            // A weaker source has less, and a cut answer may lack anything.
            if is_fallback {
                record.metadata.retain(|name, _| name == "display_name");
                record.metadata.values_mut().for_each(|value| *value = format!("{value}, in short").into());
            }
            if is_cut {
                record.metadata.retain(|_, _| draw.below(2) == 0);
            }
            let is_left_out =
                is_fallback && record.value.as_deref().is_some_and(|value| value.contains(['1', '4', '7']));
            is_account || !(is_left_out || (is_cut && draw.below(2) == 0))
        });
        if found.is_empty() {
            let is_unconfirmed = !trouble.is_calm && draw.is_one_in(10);
            // A cut list without elements is a hit all the same, or no conclusion.
            if is_cut || is_fallback {
                (report.status, report.reason) = (Outcome::Error, Some(Reason::Truncated));
                return (report, Vec::new());
            }
            report.reason = match (module.weak_miss, is_unconfirmed) {
                (true, _) => Some(Reason::Weak),
                (false, true) => Some(Reason::KnownUnclear),
                (false, false) => None,
            };
        } else {
            report.status = Outcome::Hit;
            report.partial = is_cut;
            report.reason = (is_cut && draw.below(2) == 0).then_some(Reason::PagesIncomplete);
        }
        let is_hit = report.status == Outcome::Hit;
        report.rules =
            Some(if is_fallback && is_hit { format!("{digest}.1") } else { digest }.try_into().unwrap());
        (report, found)
    }

    /// Returns what a module finds if nothing goes wrong.
    fn found(&self, module: &Module, at: usize) -> Vec<ResultRecord> {
        let (moment, rules) = (&self.moments[at], &module.rules[at]);
        let record = |value: String, result_type: &str, fields: &Fields| {
            let written = |(name, value): (&&str, &Value)| {
                let value = match value {
                    Value::String(text) => format!("{text}{}", module.style).into(),
                    other => other.clone(),
                };
                // Newer rules read one member more, and write another one differently.
                let value = match (rules.version, *name) {
                    (0, "bio") => return None,
                    (1, _) | (_, "followers") => value,
                    (_, "display_name") => format!("{value} by other rules").into(),
                    _ => value,
                };
                Some(((*name).to_owned(), value))
            };
            let metadata: Map<String, Value> = fields.iter().filter_map(written).collect();
            record(&module.id, &rules.platform, result_type, &value, metadata)
        };
        match module.subject {
            Subject::Account(platform) => {
                let value = format!("account{platform}");
                match moment.accounts.get(&platform) {
                    Some(fields) => vec![record(value, rules.result_type, fields)],
                    None if rules.is_wrong => vec![record(value, rules.result_type, &Fields::new())],
                    None => Vec::new(),
                }
            }
            Subject::List(list) => {
                let own = moment.hosts.iter().filter(|((of, _), _)| *of == list);
                // Older rules leave some elements out.
                let own = own.filter(|((_, host), _)| rules.version == 1 || host % 3 > 0);
                own.map(|((_, host), fields)| record(format!("host{host}.example.com"), "subdomain", fields))
                    .collect()
            }
        }
    }

    /// Returns the places on which a difference is: an account, or a host in every list.
    fn places(&self, it: &Difference) -> Vec<[Option<&Fields>; 2]> {
        let value = it.value.as_deref().unwrap();
        let number = |prefix: &str| value.strip_prefix(prefix)?.split('.').next()?.parse::<usize>().ok();
        if let Some(platform) = number("account") {
            return vec![[0, 1].map(|at| self.moments[at].accounts.get(&platform))];
        }
        let host = number("host").expect(value);
        (0..LISTS).map(|list| [0, 1].map(|at| self.moments[at].hosts.get(&(list, host)))).collect()
    }

    /// Returns the places whose modules found the result in the run.
    fn found_in(&self, it: &Difference, at: usize) -> Vec<[Option<&Fields>; 2]> {
        let id = if at == 0 { it.before_id } else { it.after_id };
        let result = self.runs[at].results.iter().find(|result| Some(result.id) == id).unwrap();
        let sources: BTreeSet<String> = merge::sources(result).into_iter().map(|it| it.module).collect();
        let places = self.places(it);
        let own = self.modules.iter().filter(|module| sources.contains(&module.id));
        own.filter_map(|module| match module.subject {
            Subject::Account(_) => places.first().copied(),
            Subject::List(list) => places.get(list).copied(),
        })
        .collect()
    }

    /// Returns whether every place that had the result before does not have it any more.
    pub(super) fn is_gone(&self, it: &Difference) -> bool {
        it.after_id.is_none()
            && self.found_in(it, 0).iter().all(|[before, after]| before.is_some() && after.is_none())
    }

    /// Returns whether every place that has the result now did not have it before.
    pub(super) fn is_new(&self, it: &Difference) -> bool {
        it.before_id.is_none()
            && self.found_in(it, 1).iter().all(|[before, after]| before.is_none() && after.is_some())
    }

    /// Returns whether a place of the result has another value of the member than before.
    pub(super) fn has_changed(&self, it: &Difference, field: &FieldChange) -> bool {
        let value = |of: Option<&Fields>| of.and_then(|fields| fields.get(field.name.as_str())).cloned();
        it.before_id.is_some()
            && it.after_id.is_some()
            && self.found_in(it, 1).iter().any(|[before, after]| value(*before) != value(*after))
    }
}

impl Moment {
    fn new(draw: &mut Chance) -> Self {
        let mut moment = Self::default();
        for platform in 0..PLATFORMS {
            if draw.below(3) > 0 {
                moment.accounts.insert(platform, fields(draw));
            }
        }
        for place in (0..LISTS).flat_map(|list| (0..HOSTS).map(move |host| (list, host))) {
            if draw.below(3) == 0 {
                moment.hosts.insert(place, fields(draw));
            }
        }
        moment
    }

    fn later(mut self, draw: &mut Chance) -> Self {
        for platform in 0..PLATFORMS {
            change(draw, self.accounts.entry(platform).or_default());
            self.accounts.retain(|_, fields| !fields.is_empty());
        }
        for place in (0..LISTS).flat_map(|list| (0..HOSTS).map(move |host| (list, host))) {
            change(draw, self.hosts.entry(place).or_default());
        }
        self.hosts.retain(|_, fields| !fields.is_empty());
        self
    }
}

/// Changes data, removes it, or makes new data of none.
fn change(draw: &mut Chance, fields: &mut Fields) {
    match (fields.is_empty(), draw.below(10)) {
        (true, 0..=2) => *fields = self::fields(draw),
        (false, 0..=1) => fields.clear(),
        (false, 2..=4) => {
            let other = self::fields(draw);
            let names = ["display_name", "bio", "followers"];
            let name = names[draw.below(names.len())];
            fields.insert(name, other[name].clone());
        }
        (false, 5) => {
            fields.remove("bio");
        }
        _ => {}
    }
}

fn fields(draw: &mut Chance) -> Fields {
    BTreeMap::from([
        ("display_name", format!("name {}", draw.below(5)).into()),
        ("bio", format!("bio {}", draw.below(5)).into()),
        ("followers", json!(draw.below(1_000))),
    ])
}

fn modules(draw: &mut Chance, is_calm: bool) -> Vec<Module> {
    let mut modules = Vec::new();
    let mut add = |draw: &mut Chance, subject: Subject, name: String, later: String| {
        let (one, other) =
            (usize::from(!is_calm && draw.is_one_in(10)), usize::from(!is_calm && draw.is_one_in(10)));
        let rules = |is_old: usize, platform: String| Rules {
            version: u8::from(is_old == 0),
            result_type: if is_old == 0 { "account" } else { "profile" },
            is_wrong: is_old == 1,
            platform,
        };
        modules.push(Module {
            id: format!("module{}", modules.len()),
            subject,
            style: ["", ".", " (member)"][draw.below(3)],
            weak_miss: !is_calm && draw.is_one_in(10),
            rules: [rules(one, name), rules(other, later)],
        });
    };
    for platform in 0..PLATFORMS {
        let name = format!("Platform {platform}");
        let later = if !is_calm && draw.is_one_in(10) { format!("Renamed {platform}") } else { name.clone() };
        // Every third platform has a second module, which the catalogue may rename later.
        add(draw, Subject::Account(platform), name.clone(), later.clone());
        if platform % 3 == 0 {
            let later = if draw.below(2) == 0 { later } else { name.clone() };
            add(draw, Subject::Account(platform), name, later);
        }
    }
    for list in 0..LISTS {
        let name = format!("List {list}");
        add(draw, Subject::List(list), name.clone(), name);
    }
    modules
}

fn failure(draw: &mut Chance) -> (Outcome, Reason) {
    let all = [
        (Outcome::Blocked, Reason::Captcha),
        (Outcome::RateLimited, Reason::RetryAfter),
        (Outcome::Timeout, Reason::TimeoutConnect),
        (Outcome::Timeout, Reason::TimeBudget),
        (Outcome::Error, Reason::Unrecognized),
        (Outcome::Unreliable, Reason::Quarantined),
        (Outcome::Skipped, Reason::NeedsKey),
        (Outcome::Skipped, Reason::NoNetwork),
    ];
    all[draw.below(all.len())]
}

fn record(
    module: &str,
    platform: &str,
    result_type: &str,
    value: &str,
    metadata: Map<String, Value>,
) -> ResultRecord {
    ResultRecord {
        id: 0,
        result_type: result_type.into(),
        entity_type: result_type.into(),
        platform: Some(platform.into()),
        value: Some(value.into()),
        confidence: 0.9,
        source: module.into(),
        metadata,
        created_at: "2026-05-06T07:08:09Z".parse().unwrap(),
        annotation: None,
    }
}

impl Made {
    fn empty() -> Self {
        Self { run_id: RunId::new(), status: Status::Completed, results: Vec::new(), modules: Vec::new() }
    }

    /// Adds a finding as a run does.
    fn add(&mut self, mut record: ResultRecord) {
        merge::name_source(&mut record);
        let key = EntityKey::of(&record);
        match self.results.iter_mut().find(|known| EntityKey::of(known) == key) {
            Some(known) => {
                merge::merge(known, &record);
            }
            None => {
                record.id = u32::try_from(self.results.len()).unwrap() + 1;
                self.results.push(record);
            }
        }
    }

    /// Adds an account of another name that a link led to. The other run may not have seen the link.
    fn add_looked_up(&mut self, draw: &mut Chance) {
        if self.modules.is_empty() {
            return;
        }
        let report = self.modules[draw.below(self.modules.len())].clone();
        let metadata = json!({"found_by": {"class": "stated"}}).as_object().cloned().unwrap();
        let value = format!("account{}", draw.below(PLATFORMS));
        self.add(record(&report.module, &report.platform, "account", &value, metadata));
    }
}
