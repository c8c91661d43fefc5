//! Who exists where, how each site behaves today, how long it takes: all of it drawn from names.
//!
//! # Names that client developers can rely on
//! The first part of a query counts: of a username the whole of it, of an email address the local part,
//! of a domain its first label. It may go on in any way (`nobody42`, `everybody.smith`).
//!
//! | query begins with | what happens |
//! |---|---|
//! | `nobody` | exists nowhere: every site that works says miss |
//! | `everybody` | exists everywhere: every site that works says hit |
//! | `blocked` | every site shows a challenge page: `blocked` |
//! | `limited` | every site answers 429: `rate_limited` |
//! | `silent` | no site answers: `timeout` |
//! | `broken` | every site is in trouble: `error` |
//!
//! A list that is the same for every query (`feed`) knows a module's `known` names, and of those that exist
//! everywhere a few: `everybody`, `everybody7`, `everybody@example.com`, `everybody.com` and so on for usual
//! suffixes. It is in trouble when its site is, never for the sake of a query.
//!
//! Names in a module's `known` list always exist there (unless the query begins with `nobody`); made-up
//! names of control checks exist nowhere. Any other name exists on 25 to 35 % of the username sites, and
//! so on.

use std::time::Duration;

use super::draw::fraction;
use super::options::{Mood, SandboxOptions};
use super::stage::decides;
use crate::modules::definition::Entry;
use crate::modules::query::{Query, SearchType};

/// Median delay of an answer at a scale of 1.0, in milliseconds.
const MEDIAN_DELAY_MS: f64 = 350.0;
/// Spread of the delays: the standard deviation of their logarithm. 90 % lie between 0.13 s and 0.94 s.
const DELAY_SIGMA: f64 = 0.6;
/// No delay is longer at a scale of 1.0, in milliseconds.
const MAX_DELAY_MS: f64 = 8_000.0;

/// How long a page's scripts take to draw it at a scale of 1.0, in milliseconds: on a usual site, on a slow one.
const DRAWING_MS: (f64, f64) = (500.0, 3_000.0);
const SLOW_DRAWING_MS: (f64, f64) = (4_000.0, 7_000.0);

/// What a query's first part asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Special {
    Nobody,
    Everybody,
    Mood(Mood),
}

const SPECIAL: [(&str, Special); 6] = [
    ("nobody", Special::Nobody),
    ("everybody", Special::Everybody),
    ("blocked", Special::Mood(Mood::Blocked)),
    ("limited", Special::Mood(Mood::RateLimited)),
    ("silent", Special::Mood(Mood::Silent)),
    ("broken", Special::Mood(Mood::Broken)),
];

/// One question to a site.
#[derive(Debug, Clone, Copy)]
pub(super) struct Question<'a> {
    /// The module that asks.
    pub(super) entry: &'a Entry,
    /// What for, in its normal form.
    pub(super) query: &'a str,
    /// With a made-up name.
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

    /// How the site behaves towards this question.
    pub(super) fn mood(&self, question: Question<'_>) -> Mood {
        match special(question) {
            Some(Special::Mood(mood)) => mood,
            _ => self.usual_mood(question.entry),
        }
    }

    fn usual_mood(&self, entry: &Entry) -> Mood {
        if let Some(mood) = self.options.moods.get(&entry.id) {
            return *mood;
        }
        let mut left = fraction(self.options.seed, &["mood", &entry.id]);
        for (mood, share) in self.options.shares.by_mood() {
            if left < share {
                let unnoticed = mood == Mood::SaysYes && !is_guarded(entry);
                return if unnoticed { Mood::Clear } else { mood };
            }
            left -= share;
        }
        Mood::Clear
    }

    /// Whether the name exists on the site.
    pub(super) fn exists(&self, question: Question<'_>) -> bool {
        let Question { entry, query, control } = question;
        match special(question) {
            _ if control => false,
            Some(Special::Nobody) => false,
            Some(Special::Everybody) => true,
            _ if is_known(entry, query) => true,
            _ => {
                let name = query.to_lowercase();
                let base = match entry.search_type {
                    SearchType::Username => 0.25,
                    SearchType::Email => 0.30,
                    SearchType::Domain => 0.80,
                };
                // Some names are taken on more sites than others.
                let share = base + 0.10 * fraction(self.options.seed, &["share", &name]);
                fraction(self.options.seed, &["exists", &entry.id, &name]) < share
            }
        }
    }

    /// How long the answer to a probe takes. Hops after the first are cheaper.
    pub(super) fn delay(&self, question: Question<'_>, mood: Mood, probe: &str, hop: &str) -> Duration {
        let draw = |what: &str| {
            fraction(self.options.seed, &["delay", what, &question.entry.id, question.query, probe, hop])
        };
        // Box-Muller: two even draws make a normal one.
        let normal = (-2.0 * (1.0 - draw("a")).ln()).sqrt() * (std::f64::consts::TAU * draw("b")).cos();
        let pace = match mood {
            Mood::Slow => 5.0 + 5.0 * fraction(self.options.seed, &["pace", &question.entry.id]),
            _ if hop != "0" => 0.3,
            _ => 1.0,
        };
        let delay_ms = (MEDIAN_DELAY_MS * pace * (DELAY_SIGMA * normal).exp()).min(MAX_DELAY_MS);
        Duration::from_secs_f64(delay_ms * self.options.delay_scale / 1000.0)
    }
}

impl World {
    /// How long the scripts of a page take to draw it, once it has come.
    pub(super) fn drawing(&self, question: Question<'_>, mood: Mood) -> Duration {
        let (least, most) = if mood == Mood::Slow { SLOW_DRAWING_MS } else { DRAWING_MS };
        let share = fraction(self.options.seed, &["drawing", &question.entry.id, question.query]);
        Duration::from_secs_f64((least + (most - least) * share) * self.options.delay_scale / 1000.0)
    }
}

/// Whether a control check guards the hits of a module. No list names every name.
fn is_guarded(entry: &Entry) -> bool {
    entry.control.unwrap_or(entry.search_type != SearchType::Domain) && !decides(entry)
}

fn special(question: Question<'_>) -> Option<Special> {
    // A made-up name has no meaning, whatever it looks like.
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
    SPECIAL.iter().find(|(name, _)| first.starts_with(name)).map(|(_, special)| *special)
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
    use crate::sandbox::options::Shares;

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
    fn a_name_exists_on_about_a_third_of_the_sites_and_always_on_the_same_ones() {
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
        assert_eq!(special(ask(&entry("a", "email"), "nobody1@example.org")), Some(Special::Nobody));
        assert_eq!(special(ask(&entry("a", "email"), "a@nobody.org")), None);
        assert_eq!(
            special(ask(&entry("a", "domain"), "silent.example.org")),
            Some(Special::Mood(Mood::Silent))
        );
        assert_eq!(special(ask(&entry("a", "username"), "xnobody")), None);
    }

    #[test]
    fn moods_follow_the_shares_the_overrides_and_the_guard() {
        let all = SandboxOptions { shares: Shares { says_yes: 1.0, ..Shares::NONE }, ..Default::default() };
        let world = World::new(all.with_mood("b", Mood::Reset));
        assert_eq!(world.mood(ask(&entry("a", "username"), "x")), Mood::SaysYes);
        assert_eq!(world.mood(ask(&entry("b", "username"), "x")), Mood::Reset);
        assert_eq!(world.mood(ask(&entry("a", "domain"), "x.org")), Mood::Clear);
        assert_eq!(world.mood(ask(&entry("b", "username"), "limited")), Mood::RateLimited);
    }

    #[test]
    fn delays_are_spread_around_the_median_and_scale() {
        let world = World::new(SandboxOptions::default());
        let site = entry("a", "username");
        let mut delays: Vec<Duration> =
            (0..999).map(|n| world.delay(ask(&site, &format!("name{n}")), Mood::Clear, "0", "0")).collect();
        delays.sort();
        assert!((300..400).contains(&delays[499].as_millis()), "{:?}", delays[499]);
        assert!(delays[998] > delays[499] * 2 && delays[998].as_millis() <= 8_000);
        let perfect = World::new(SandboxOptions::perfect());
        assert_eq!(perfect.delay(ask(&site, "x"), Mood::Slow, "0", "0"), Duration::ZERO);
    }
}
