//! Answers that make a module hit or miss, made from its own rules.
//!
//! A **plan** defines an answer: the rule of `hit` or `miss` that it fulfils, the probe, the status and the form of
//! the body. A **draft** is such an answer under construction. **Parts** are the pieces of an answer that extractors
//! read. A **trial** runs plans through the real engine until one has the intended outcome. A **player** makes the
//! answers to every query from that plan.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | plans, the most natural first, and the pages that they make |
//! | `player` | the answers of a module's site, by its plan |
//! | `trial` | trials of plans: the only file that asks the engine for a verdict |
//! | `matcher` | drafts that fulfil a rule |
//! | `conditions`, `json`, `fragment` | JSON: documents that fulfil conditions, pointers, pieces of text |
//! | `draft`, `html` | an answer, its parts, and a page |
//! | `values`, `sample`, `dns` | parts for extractors, plausible values |
//! | `feed` | feeds, which are the same for every query |
//! | `context` | module and query: filled templates, texts sampled from patterns |

use std::sync::{Arc, OnceLock};

use url::Url;

use crate::modules::definition::Entry;
use crate::modules::module::Module;
use crate::modules::query::Query;
use crate::sandbox::answer::Answer;

mod conditions;
mod context;
mod dns;
mod draft;
mod feed;
mod fragment;
mod html;
mod json;
mod matcher;
mod plan;
mod player;
mod sample;
mod trial;
mod values;

pub(super) use feed::decides;
pub(super) use plan::Aim;
use player::Player;

/// A module that the simulated web cannot simulate, with the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The id of the module.
    pub module: String,
    /// A description of the cause for the module's author.
    pub what: String,
}

/// The simulated site of one module.
pub(super) struct Site {
    module: Arc<Module>,
    seed: u64,
    /// The site for a query that exists, and for one that does not. The error is the cause for which there is none.
    hit: OnceLock<Result<Player, String>>,
    miss: OnceLock<Result<Player, String>>,
}

impl Site {
    pub(super) fn new(module: Arc<Module>, seed: u64) -> Self {
        Self { module, seed, hit: OnceLock::new(), miss: OnceLock::new() }
    }

    pub(super) fn entry(&self) -> &Entry {
        self.module.entry()
    }

    /// Returns the site for an aim. The first call searches for its plan.
    fn player(&self, aim: Aim) -> Result<&Player, String> {
        let found = match aim {
            Aim::Hit => self.hit.get_or_init(|| trial::find(&self.module, self.seed, aim, None)),
            Aim::Miss => {
                self.miss.get_or_init(|| trial::find(&self.module, self.seed, aim, self.listing_player()))
            }
        };
        found.as_ref().map_err(Clone::clone)
    }

    /// Returns the site for a query that exists if it makes feeds, which are the same for every query.
    fn listing_player(&self) -> Option<&Player> {
        let has_feeds = self.entry().probes.iter().any(|probe| probe.feed.is_some());
        has_feeds.then(|| self.player(Aim::Hit).ok()).flatten()
    }

    /// Returns whether a feed that decides the module's verdict lists the query. Returns `None` if no feed decides
    /// it.
    pub(super) fn lists(&self, query: &Query) -> Option<bool> {
        let is_named = || feed::names(&self.module).iter().any(|name| name.normal() == query.normal());
        decides(self.entry()).then(is_named)
    }

    /// Returns the answer to a probe that was sent to `url`, or `None` if there is none. [`Site::problems`] reports
    /// the cause.
    pub(super) fn answer(&self, aim: Aim, query: &Query, probe: usize, url: &Url) -> Option<Answer> {
        self.player(aim).ok()?.answer(query, probe, url)
    }

    /// Returns the causes for which the module cannot be simulated, and its rules that never decide.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let problem = |aim| match self.player(aim) {
            Ok(player) => trial::other_query(player, aim),
            Err(problem) => Some(problem),
        };
        let mut all: Vec<String> = [Aim::Hit, Aim::Miss].into_iter().filter_map(problem).collect();
        if all.is_empty() {
            all = trial::dead_rules(&self.module, self.seed, self.listing_player());
        }
        all.into_iter().map(|what| Problem { module: self.entry().id.clone(), what }).collect()
    }
}
