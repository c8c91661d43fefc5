//! A web of which everything is known, at two moments, and a run at each of them.
//!
//! The model does not know how runs are compared. It knows what each site has, and what a module then finds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::{Value, json};
use sightline::base::ids::RunId;
use sightline::model::diff::{Difference, FieldChange};
use sightline::model::entity::{EntityKey, merge};
use sightline::model::run::{ModuleReport, ResultRecord, Status};
use sightline::modules::outcome::Outcome;
use sightline::modules::reason::Reason;

use super::diff::shuffle;
use super::found;
use crate::support::chance::Chance;

const PLATFORMS: usize = 12;
const LISTS: usize = 3;
/// The hosts of each list.
const HOSTS: usize = 10;

/// The data of an account, or of a host in one list.
type Fields = BTreeMap<&'static str, Value>;

/// What the web has at one moment. The first places are the accounts on the platforms, the others the hosts of each list.
type Moment = BTreeMap<usize, Fields>;

/// The same place at both moments.
type Place<'a> = [Option<&'a Fields>; 2];

/// Returns what is found at a place. Lists have the same hosts.
fn value_at(place: usize) -> String {
    match place.checked_sub(PLATFORMS) {
        None => format!("account{place}"),
        Some(host) => format!("host{}.example.com", host % HOSTS),
    }
}

struct Module {
    id: String,
    /// An account, or the hosts of a list.
    places: Range<usize>,
    /// What the module adds to each text, as modules write the same thing in several ways.
    style: &'static str,
    weak_miss: bool,
    /// How the module is written in the catalogue at each moment.
    rules: [Rules; 2],
}

struct Rules {
    /// Older rules read less, and have a hit on a platform where nothing is.
    is_old: bool,
    platform: String,
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

/// The choices of a world, in which nothing goes wrong if it is calm.
struct Luck {
    draw: Chance,
    is_calm: bool,
}

impl Luck {
    /// Returns whether something goes wrong that does so once in so many times.
    fn is_out(&mut self, times: usize) -> bool {
        !self.is_calm && self.draw.is_one_in(times)
    }
}

impl World {
    /// Returns a world in which anything can go wrong.
    pub(super) fn new(seed: u64) -> Self {
        Self::make(Luck { draw: Chance::new(seed), is_calm: false })
    }

    /// Returns a world in which sites change and nothing else happens.
    pub(super) fn calm(seed: u64) -> Self {
        Self::make(Luck { draw: Chance::new(seed), is_calm: true })
    }

    fn make(mut luck: Luck) -> Self {
        let before = first_moment(&mut luck.draw);
        let moments = [before.clone(), later(before, &mut luck.draw)];
        let modules = modules(&mut luck);
        let mut world = Self { moments, modules, runs: [Made::empty(), Made::empty()] };
        world.runs = [0, 1].map(|at| world.run(&mut luck, at));
        world
    }

    fn run(&self, luck: &mut Luck, at: usize) -> Made {
        let mut made = Made::empty();
        // A version that did not record rules.
        let is_old = luck.is_out(20);
        let mut order: Vec<usize> = (0..self.modules.len()).collect();
        shuffle(&mut luck.draw, &mut order);
        for number in order {
            // Another choice of modules, another catalogue, no premium.
            if luck.is_out(15) {
                continue;
            }
            let (mut report, found) = self.check(luck, number, at);
            if is_old {
                (report.rules, report.partial) = (None, false);
            }
            made.modules.push(report);
            found.into_iter().for_each(|record| made.add(record));
        }
        if luck.is_out(4) {
            made.add_looked_up(&mut luck.draw);
        }
        if luck.is_out(30) {
            made.status = Status::Failed;
            made.results.truncate(made.results.len() / 2);
        }
        made
    }

    fn check(&self, luck: &mut Luck, number: usize, at: usize) -> (ModuleReport, Vec<ResultRecord>) {
        let module = &self.modules[number];
        let mut report = ModuleReport {
            module: module.id.clone(),
            platform: module.rules[at].platform.clone(),
            status: Outcome::Miss,
            reason: None,
            http_status: Some(200),
            elapsed_ms: luck.draw.next() % 1_000,
            circuit: None,
            rules: None,
            partial: false,
            engine: false,
        };
        if luck.is_out(5) {
            let (status, reason) = FAILURES[luck.draw.below(FAILURES.len())];
            (report.status, report.reason) = (status, Some(reason));
            return (report, Vec::new());
        }
        let (is_fallback, is_cut) = (luck.is_out(12), luck.is_out(12));
        let mut found = self.found(module, at);
        let mut is_lost = || luck.draw.below(2) == 0;
        found.retain_mut(|record| {
            // A weaker source has less, and a cut answer may lack anything.
            if is_fallback {
                record.metadata.retain(|name, _| name == "display_name");
                record.metadata.values_mut().for_each(|value| *value = format!("{value}, in short").into());
            }
            if is_cut {
                record.metadata.retain(|_, _| is_lost());
            }
            let is_left_out =
                is_fallback && record.value.as_deref().is_some_and(|value| value.contains(['1', '4', '7']));
            module.places.len() == 1 || !(is_left_out || is_cut && is_lost())
        });
        let is_hit = !found.is_empty();
        if is_hit {
            report.status = Outcome::Hit;
            report.partial = is_cut;
            report.reason = (is_cut && is_lost()).then_some(Reason::PagesIncomplete);
        } else if is_cut || is_fallback {
            // A cut list without elements is a hit all the same, or no conclusion.
            (report.status, report.reason) = (Outcome::Error, Some(Reason::Truncated));
            return (report, found);
        } else {
            let unclear = luck.is_out(10).then_some(Reason::KnownUnclear);
            report.reason = if module.weak_miss { Some(Reason::Weak) } else { unclear };
        }
        let digest = format!("{:08x}", number * 256 + usize::from(!module.rules[at].is_old));
        let rules = if is_fallback && is_hit { format!("{digest}.1") } else { digest };
        report.rules = Some(serde_json::from_value(rules.into()).unwrap());
        (report, found)
    }

    /// Returns what a module finds if nothing goes wrong.
    fn found(&self, module: &Module, at: usize) -> Vec<ResultRecord> {
        let Rules { is_old, ref platform } = module.rules[at];
        let is_account = module.places.len() == 1;
        let result_type = match is_old {
            _ if !is_account => "subdomain",
            true => "profile",
            false => "account",
        };
        let written = |(name, value): (&&str, &Value)| {
            let value = match value {
                Value::String(text) => format!("{text}{}", module.style).into(),
                other => other.clone(),
            };
            // Newer rules read one member more, and write another one differently.
            let value = match *name {
                "bio" if is_old => return None,
                "display_name" if is_old => format!("{value} by other rules").into(),
                _ => value,
            };
            Some(((*name).to_owned(), value))
        };
        let record = |place: usize| {
            let fields = match self.moments[at].get(&place) {
                None if is_old && is_account => &Fields::new(),
                // Older rules leave some elements out.
                Some(_) if is_old && !is_account && ((place - PLATFORMS) % HOSTS).is_multiple_of(3) => {
                    return None;
                }
                fields => fields?,
            };
            let metadata = fields.iter().filter_map(written).collect();
            let platform = Some(platform.clone());
            Some(ResultRecord { platform, metadata, ..found(0, &module.id, result_type, &value_at(place)) })
        };
        module.places.clone().filter_map(record).collect()
    }

    /// Returns the places whose modules found the result in the run.
    fn found_in(&self, it: &Difference, at: usize) -> Vec<Place<'_>> {
        let id = if at == 0 { it.before_id } else { it.after_id };
        let result = self.runs[at].results.iter().find(|result| Some(result.id) == id).unwrap();
        let sources: BTreeSet<String> = merge::sources(result).into_iter().map(|it| it.module).collect();
        let own = self.modules.iter().filter(|module| sources.contains(&module.id));
        let places = (0..PLATFORMS + LISTS * HOSTS).filter(|place| Some(value_at(*place)) == it.value);
        // A link leads to an account from any module.
        let found = own.flat_map(|module| {
            places.clone().filter(move |place| *place < PLATFORMS || module.places.contains(place))
        });
        found.map(|place| [0, 1].map(|at| self.moments[at].get(&place))).collect()
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

fn first_moment(draw: &mut Chance) -> Moment {
    let mut moment = Moment::new();
    for place in 0..PLATFORMS + LISTS * HOSTS {
        // Two of three accounts, and one of three hosts.
        if (draw.below(3) > 0) == (place < PLATFORMS) {
            moment.insert(place, fields(draw));
        }
    }
    moment
}

/// Changes data, removes it, or makes new data of none.
fn later(mut moment: Moment, draw: &mut Chance) -> Moment {
    for place in 0..PLATFORMS + LISTS * HOSTS {
        let old = moment.entry(place).or_default();
        match (old.is_empty(), draw.below(10)) {
            (true, 0..=2) => *old = fields(draw),
            (false, 0..=1) => old.clear(),
            (false, 2..=4) => {
                let name = ["display_name", "bio", "followers"][draw.below(3)];
                old.insert(name, fields(draw)[name].clone());
            }
            (false, 5) => drop(old.remove("bio")),
            _ => {}
        }
    }
    moment.retain(|_, fields| !fields.is_empty());
    moment
}

fn fields(draw: &mut Chance) -> Fields {
    BTreeMap::from([
        ("display_name", format!("name {}", draw.below(5)).into()),
        ("bio", format!("bio {}", draw.below(5)).into()),
        ("followers", json!(draw.below(1_000))),
    ])
}

fn modules(luck: &mut Luck) -> Vec<Module> {
    let mut modules = Vec::new();
    let mut add = |luck: &mut Luck, places: Range<usize>, names: [String; 2]| {
        modules.push(Module {
            id: format!("module{}", modules.len()),
            places,
            style: ["", ".", " (member)"][luck.draw.below(3)],
            weak_miss: luck.is_out(10),
            rules: names.map(|platform| Rules { is_old: luck.is_out(10), platform }),
        });
    };
    for platform in 0..PLATFORMS {
        let name = format!("Platform {platform}");
        let later = if luck.is_out(10) { format!("Renamed {platform}") } else { name.clone() };
        // Every third platform has a second module, which the catalogue may rename later.
        add(luck, platform..platform + 1, [name.clone(), later.clone()]);
        if platform % 3 == 0 {
            let later = if luck.draw.below(2) == 0 { later } else { name.clone() };
            add(luck, platform..platform + 1, [name, later]);
        }
    }
    for list in 0..LISTS {
        let first = PLATFORMS + list * HOSTS;
        add(luck, first..first + HOSTS, [format!("List {list}"), format!("List {list}")]);
    }
    modules
}

const FAILURES: [(Outcome, Reason); 8] = [
    (Outcome::Blocked, Reason::Captcha),
    (Outcome::RateLimited, Reason::RetryAfter),
    (Outcome::Timeout, Reason::TimeoutConnect),
    (Outcome::Timeout, Reason::TimeBudget),
    (Outcome::Error, Reason::Unrecognized),
    (Outcome::Unreliable, Reason::Quarantined),
    (Outcome::Skipped, Reason::NeedsKey),
    (Outcome::Skipped, Reason::NoNetwork),
];

impl Made {
    fn empty() -> Self {
        Self { run_id: RunId::new(), status: Status::Completed, results: Vec::new(), modules: Vec::new() }
    }

    /// Adds a finding as a run does.
    fn add(&mut self, mut record: ResultRecord) {
        merge::name_source(&mut record, None);
        let key = EntityKey::of(&record);
        if let Some(known) = self.results.iter_mut().find(|known| EntityKey::of(known) == key) {
            merge::merge(known, &record);
        } else {
            record.id = u32::try_from(self.results.len()).unwrap() + 1;
            self.results.push(record);
        }
    }

    /// Adds an account of another name that a link led to. The other run may not have seen the link.
    fn add_looked_up(&mut self, draw: &mut Chance) {
        if self.modules.is_empty() {
            return;
        }
        let report = self.modules[draw.below(self.modules.len())].clone();
        let metadata = json!({"found_by": {"class": "stated"}}).as_object().cloned().unwrap();
        let value = value_at(draw.below(PLATFORMS));
        let platform = Some(report.platform);
        self.add(ResultRecord { platform, metadata, ..found(0, &report.module, "account", &value) });
    }
}
