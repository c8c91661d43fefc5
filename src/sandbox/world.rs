//! The simulated accounts, the behaviour of each site, and its delays: all of it is derived from the seed and the
//! names.
//!
//! # Names that client developers can rely on
//! Only the first part of a query matters: the whole of a username, the local part of an email address, the first
//! label of a domain. It only has to begin with the name (`nobody42`, `everybody.smith`).
//!
//! | query begins with | what happens |
//! |---|---|
//! | `nobody` | exists nowhere: every working site reports a miss |
//! | `everybody` | exists everywhere: every working site reports a hit |
//! | `blocked` | every site shows a challenge page: `blocked` |
//! | `limited` | every site answers 429: `rate_limited` |
//! | `silent` | no site answers: `timeout` |
//! | `broken` | every site answers with an error page: `error` |
//!
//! Names in a module's `known` list always exist on its site, unless the query begins with `nobody`. The made-up
//! names of control checks exist nowhere. The names of simulated people, `person1` to `person10`, exist where
//! `people.json` says. Any other name exists on 25 % to 35 % of the username sites, 30 % to 40 %
//! of the email sites and 80 % to 90 % of the domain sites.

use std::time::Duration;

use super::draw::{draw, fraction};
use super::options::{SandboxOptions, SiteBehavior};
use super::people;
use crate::modules::definition::Entry;
use crate::modules::query::{Query, SearchType};

/// The median delay of an answer at a scale of 1.0, in milliseconds.
const MEDIAN_DELAY_MS: f64 = 350.0;
/// The spread of the delays: the standard deviation of their logarithm. 90 % of them lie between 0.13 s and 0.94 s.
const DELAY_SIGMA: f64 = 0.6;
/// The longest delay at a scale of 1.0, in milliseconds.
const MAX_DELAY_MS: f64 = 8_000.0;

/// The range of the time that a page's scripts take to draw it on a usual site at a scale of 1.0, in milliseconds.
const DRAWING_MS: (f64, f64) = (500.0, 3_000.0);
const SLOW_DRAWING_MS: (f64, f64) = (4_000.0, 7_000.0);

/// The behaviour that a query's first part asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QueryBehavior {
    Nobody,
    Everybody,
    Site(SiteBehavior),
}

const QUERY_BEHAVIORS: [(&str, QueryBehavior); 6] = [
    ("nobody", QueryBehavior::Nobody),
    ("everybody", QueryBehavior::Everybody),
    ("blocked", QueryBehavior::Site(SiteBehavior::Blocked)),
    ("limited", QueryBehavior::Site(SiteBehavior::RateLimited)),
    ("silent", QueryBehavior::Site(SiteBehavior::Silent)),
    ("broken", QueryBehavior::Site(SiteBehavior::Broken)),
];

/// One question to a site.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// The catalogue entry of the module that sends the probe.
    pub(super) entry: &'a Entry,
    /// The query in its normal form.
    pub(super) query: &'a str,
    /// Whether the question belongs to a control check with a made-up name.
    pub(super) control: bool,
}

/// The rules of the simulated web.
#[derive(Debug)]
pub(super) struct World {
    options: SandboxOptions,
}

impl World {
    pub(super) fn new(options: SandboxOptions) -> Self {
        Self { options }
    }

    pub(super) fn seed(&self) -> u64 {
        self.options.seed
    }

    /// Returns a number that depends on the site.
    pub(super) fn dice(&self, entry: &Entry) -> u64 {
        draw(self.options.seed, &["dice", &entry.id])
    }

    /// Returns the behaviour of the site towards this question.
    pub(super) fn behavior(&self, question: Question<'_>) -> SiteBehavior {
        match query_behavior(question) {
            Some(QueryBehavior::Site(behavior)) => behavior,
            _ => self.usual_behavior(question.entry),
        }
    }

    fn usual_behavior(&self, entry: &Entry) -> SiteBehavior {
        let mut left = fraction(self.options.seed, &["mood", &entry.id]);
        for &(behavior, share) in &self.options.shares {
            if left < share {
                let unnoticed = behavior == SiteBehavior::SaysYes && !is_guarded(entry);
                return if unnoticed { SiteBehavior::Clear } else { behavior };
            }
            left -= share;
        }
        SiteBehavior::Clear
    }

    /// Returns whether the name exists on the site.
    pub(super) fn exists(&self, question: Question<'_>) -> bool {
        let Question { entry, query, control } = question;
        match query_behavior(question) {
            _ if control => false,
            Some(QueryBehavior::Nobody) => false,
            Some(QueryBehavior::Everybody) => true,
            _ if is_known(entry, query) => true,
            _ => people::exists(entry, query).unwrap_or_else(|| {
                let name = query.to_lowercase();
                let base = match entry.search_type {
                    SearchType::Username => 0.25,
                    SearchType::Email => 0.30,
                    SearchType::Domain => 0.80,
                };
                // Some names are taken on more sites than others.
                let share = base + 0.10 * fraction(self.options.seed, &["share", &name]);
                fraction(self.options.seed, &["exists", &entry.id, &name]) < share
            }),
        }
    }

    /// Returns the delay of the answer to a probe.
    pub(super) fn delay(&self, question: Question<'_>, behavior: SiteBehavior, probe: usize) -> Duration {
        let probe = probe.to_string();
        let draw = |what: &str| {
            fraction(self.options.seed, &["delay", what, &question.entry.id, question.query, &probe])
        };
        // The Box-Muller transform makes a normally distributed number from two uniformly distributed ones.
        let normal = (-2.0 * (1.0 - draw("a")).ln()).sqrt() * (std::f64::consts::TAU * draw("b")).cos();
        let pace = match behavior {
            SiteBehavior::Slow => 5.0 + 5.0 * fraction(self.options.seed, &["pace", &question.entry.id]),
            _ => 1.0,
        };
        let delay_ms = (MEDIAN_DELAY_MS * pace * (DELAY_SIGMA * normal).exp()).min(MAX_DELAY_MS);
        Duration::from_secs_f64(delay_ms * self.options.delay_scale / 1000.0)
    }

    /// Returns the time that the scripts of a page take to draw it.
    pub(super) fn drawing(&self, question: Question<'_>, behavior: SiteBehavior) -> Duration {
        let (least, most) = if behavior == SiteBehavior::Slow { SLOW_DRAWING_MS } else { DRAWING_MS };
        let share = fraction(self.options.seed, &["drawing", &question.entry.id, question.query]);
        Duration::from_secs_f64((least + (most - least) * share) * self.options.delay_scale / 1000.0)
    }
}

/// Returns whether a control check guards the hits of a module.
fn is_guarded(entry: &Entry) -> bool {
    entry.control.unwrap_or(entry.search_type != SearchType::Domain)
}

fn query_behavior(question: Question<'_>) -> Option<QueryBehavior> {
    // A made-up name has no special meaning, even if it begins with one of these names.
    if question.control {
        return None;
    }
    let query = question.query;
    let first = match question.entry.search_type {
        SearchType::Username => query,
        SearchType::Email => query.split('@').next().unwrap_or(query),
        SearchType::Domain => query.split('.').next().unwrap_or(query),
    };
    let first = first.to_lowercase();
    QUERY_BEHAVIORS
        .iter()
        .find(|(name, _)| first.starts_with(name))
        .map(|(_, query_behavior)| *query_behavior)
}

fn is_known(entry: &Entry, query: &str) -> bool {
    entry.known.iter().any(|known| {
        Query::parse(entry.search_type, known)
            .is_ok_and(|known| known.normal().to_lowercase() == query.to_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(id: &str, kind: &str) -> Entry {
        serde_json::from_value(json!({
            "id": id, "platform": id, "type": kind, "category": "misc", "known": ["Torvalds"],
            "probes": [{"url": "https://example.org/{query}"}], "hit": [{"status": [200]}]
        }))
        .unwrap()
    }

    fn ask<'a>(entry: &'a Entry, query: &'a str) -> Question<'a> {
        Question { entry, query, control: false }
    }

    #[test]
    fn a_name_exists_on_a_fixed_third_of_the_sites() {
        let world = World::new(SandboxOptions::perfect());
        let sites: Vec<Entry> = (0..1000).map(|n| entry(&format!("site{n}"), "username")).collect();
        let existing =
            |query: &str| -> Vec<bool> { sites.iter().map(|s| world.exists(ask(s, query))).collect() };
        let count = existing("alice").iter().filter(|yes| **yes).count();
        assert!((200..400).contains(&count), "{count}");
        assert_eq!(existing("alice"), existing("Alice"));
        assert_ne!(existing("alice"), existing("bob"));
        assert!(existing("Nobody7").iter().all(|yes| !yes));
        assert!(existing("everybody.b").iter().all(|yes| *yes));
        assert!(existing("torvalds").iter().all(|yes| *yes));
        let made_up = Question { control: true, ..ask(&sites[0], "torvalds") };
        assert!(!world.exists(made_up));
    }

    #[test]
    fn special_names_are_found_in_the_first_part() {
        assert_eq!(
            query_behavior(ask(&entry("a", "email"), "nobody1@example.org")),
            Some(QueryBehavior::Nobody)
        );
        assert_eq!(query_behavior(ask(&entry("a", "email"), "a@nobody.org")), None);
        assert_eq!(
            query_behavior(ask(&entry("a", "domain"), "silent.example.org")),
            Some(QueryBehavior::Site(SiteBehavior::Silent))
        );
        assert_eq!(query_behavior(ask(&entry("a", "username"), "xnobody")), None);
    }

    #[test]
    fn behaviors_follow_the_shares_and_the_names() {
        let all = SandboxOptions { shares: vec![(SiteBehavior::SaysYes, 1.0)], ..Default::default() };
        let world = World::new(all);
        assert_eq!(world.behavior(ask(&entry("a", "username"), "x")), SiteBehavior::SaysYes);
        assert_eq!(world.behavior(ask(&entry("a", "domain"), "x.org")), SiteBehavior::Clear);
        assert_eq!(world.behavior(ask(&entry("b", "username"), "limited")), SiteBehavior::RateLimited);
    }

    #[test]
    fn delays_are_spread_around_the_median_and_scale() {
        let world = World::new(SandboxOptions::default());
        let site = entry("a", "username");
        let mut delays: Vec<Duration> =
            (0..999).map(|n| world.delay(ask(&site, &format!("name{n}")), SiteBehavior::Clear, 0)).collect();
        delays.sort();
        assert!((300..400).contains(&delays[499].as_millis()), "{:?}", delays[499]);
        assert!(delays[998] > delays[499] * 2 && delays[998].as_millis() <= 8_000);
        let perfect = World::new(SandboxOptions::perfect());
        assert_eq!(perfect.delay(ask(&site, "x"), SiteBehavior::Slow, 0), Duration::ZERO);
    }
}
