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
use super::people;
use crate::modules::definition::{Entry, Via};
use crate::modules::query::{Query, SearchType};

/// The median delay of an answer at a scale of 1.0, in milliseconds.
const MEDIAN_DELAY_MS: f64 = 350.0;
/// The spread of the delays: the standard deviation of their logarithm. 90 % of them lie between 0.13 s and 0.94 s.
const DELAY_SIGMA: f64 = 0.6;
/// The longest delay at a scale of 1.0, in milliseconds.
const MAX_DELAY_MS: f64 = 8_000.0;
/// The factor by which a page that its scripts draw in a browser comes later.
const DRAWING: f64 = 4.0;

/// The behaviour of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SiteBehavior {
    /// The site answers as its module expects.
    Clear,
    /// The site answers as its module expects, but five to ten times as slowly.
    Slow,
    /// The site answers every query with a challenge page and status 403 or 503. The outcome is `blocked`.
    Blocked,
    /// The site answers every query with status 429 and `Retry-After`. The outcome is `rate_limited`.
    RateLimited,
    /// The site never answers. The outcome is `timeout`.
    Silent,
    /// The site resets every connection. The outcome is `error`.
    Reset,
    /// The site answers with an internal error page. The outcome is `error`.
    Broken,
    /// The site redirects every query to a login page. The outcome is never a hit, except for a module that reads the
    /// queried domain's own site.
    LoginPage,
    /// The site answers every query with status 200 and an empty body. The outcome is `error`.
    Empty,
    /// The site reports that every name exists, made-up ones too. The outcome is `unreliable`. By its share, it occurs
    /// only for modules whose hits are guarded by a control check, because other modules cannot detect such a site.
    SaysYes,
}

/// The options of the simulated web. Equal options give equal answers.
#[derive(Debug, Clone, PartialEq)]
pub struct SandboxOptions {
    /// The seed of all random choices. It decides which names exist and which sites misbehave.
    pub seed: u64,
    /// The factor by which every delay is multiplied. At 1.0 the median delay is 350 ms, at 0.0 there are no delays.
    pub delay_scale: f64,
    /// The share of the sites with each behaviour, from 0.0 to 1.0. The remaining sites are [`SiteBehavior::Clear`].
    /// The order decides which sites have which behaviour.
    pub shares: Vec<(SiteBehavior, f64)>,
}

impl Default for SandboxOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            delay_scale: 1.0,
            // They are close to those that a full search meets on the real web.
            shares: vec![
                (SiteBehavior::Slow, 0.04),
                (SiteBehavior::Blocked, 0.05),
                (SiteBehavior::RateLimited, 0.02),
                (SiteBehavior::Silent, 0.02),
                (SiteBehavior::Reset, 0.01),
                (SiteBehavior::Broken, 0.01),
                (SiteBehavior::LoginPage, 0.01),
                (SiteBehavior::Empty, 0.005),
                (SiteBehavior::SaysYes, 0.02),
            ],
        }
    }
}

impl SandboxOptions {
    /// Returns options with which every site answers at once and as its module expects.
    pub fn perfect() -> Self {
        Self { delay_scale: 0.0, shares: Vec::new(), ..Self::default() }
    }
}

/// The behaviour of every site towards queries that begin with a name.
const BEHAVIORS: [(&str, SiteBehavior); 4] = [
    ("blocked", SiteBehavior::Blocked),
    ("limited", SiteBehavior::RateLimited),
    ("silent", SiteBehavior::Silent),
    ("broken", SiteBehavior::Broken),
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
    /// The index of the probe.
    pub(super) probe: usize,
}

impl Question<'_> {
    /// Returns whether the query's first part begins with a name. A made-up name has no special meaning.
    fn begins_with(&self, name: &str) -> bool {
        let end = match self.entry.search_type {
            SearchType::Username => None,
            SearchType::Email => self.query.find('@'),
            SearchType::Domain => self.query.find('.'),
        };
        !self.control && self.query[..end.unwrap_or(self.query.len())].to_lowercase().starts_with(name)
    }

    /// Returns whether the name is one that the module's entry gives.
    fn is_known(&self) -> bool {
        let known = self.entry.known.iter().filter_map(|it| Query::parse(self.entry.search_type, it).ok());
        let query = self.query.to_lowercase();
        known.into_iter().any(|known| known.normal().to_lowercase() == query)
    }
}

impl SandboxOptions {
    /// Returns a number that depends on the site.
    pub(super) fn dice(&self, entry: &Entry) -> u64 {
        draw(self.seed, &["dice", &entry.id])
    }

    /// Returns the behaviour of the site towards this question.
    pub(super) fn behavior(&self, question: Question<'_>) -> SiteBehavior {
        let entry = question.entry;
        if let Some((_, behavior)) = BEHAVIORS.iter().find(|(name, _)| question.begins_with(name)) {
            return *behavior;
        }
        let mut left = fraction(self.seed, &["mood", &entry.id]);
        for &(behavior, share) in &self.shares {
            if left < share {
                // Without a control check, such a site would go unnoticed.
                let is_guarded = entry.control.unwrap_or(entry.search_type != SearchType::Domain);
                let is_unnoticed = behavior == SiteBehavior::SaysYes && !is_guarded;
                return if is_unnoticed { SiteBehavior::Clear } else { behavior };
            }
            left -= share;
        }
        SiteBehavior::Clear
    }

    /// Returns whether the name exists on the site.
    pub(super) fn exists(&self, question: Question<'_>) -> bool {
        let Question { entry, query, control, .. } = question;
        match () {
            () if control || question.begins_with("nobody") => false,
            () if question.begins_with("everybody") || question.is_known() => true,
            () => people::exists(entry, query).unwrap_or_else(|| {
                let name = query.to_lowercase();
                let base = match entry.search_type {
                    SearchType::Username => 0.25,
                    SearchType::Email => 0.30,
                    SearchType::Domain => 0.80,
                };
                // Some names are taken on more sites than others.
                let share = base + 0.10 * fraction(self.seed, &["share", &name]);
                fraction(self.seed, &["exists", &entry.id, &name]) < share
            }),
        }
    }

    /// Returns the delay of the answer to a probe. One that never comes has the longest delay.
    pub(super) fn delay(&self, question: Question<'_>, behavior: SiteBehavior) -> Duration {
        let Question { entry, query, probe, .. } = question;
        let draw = |what: &str| fraction(self.seed, &["delay", what, &entry.id, query, &probe.to_string()]);
        // The Box-Muller transform makes a normally distributed number from two uniformly distributed ones.
        let normal = (-2.0 * (1.0 - draw("a")).ln()).sqrt() * (std::f64::consts::TAU * draw("b")).cos();
        let pace = match behavior {
            SiteBehavior::Silent => return Duration::MAX,
            SiteBehavior::Slow => 5.0 + 5.0 * fraction(self.seed, &["pace", &entry.id]),
            _ => 1.0,
        };
        let is_drawn = entry.probes.get(probe).is_some_and(|probe| probe.via == Via::Browser);
        let median_ms = MEDIAN_DELAY_MS * pace * if is_drawn { DRAWING } else { 1.0 };
        let delay_ms = (median_ms * (DELAY_SIGMA * normal).exp()).min(MAX_DELAY_MS);
        Duration::from_secs_f64(delay_ms * self.delay_scale / 1000.0)
    }
}
