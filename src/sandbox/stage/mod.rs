//! Answers that make a module hit or miss, made from its own rules.
//!
//! A **plan** says which alternative of `hit` or `miss` is fulfilled, by which probe's answer, with which
//! status and which form of body; a **draft** is such an answer under construction; **plants** are what
//! extractors find in it. Plans are tried out on the module's own rules (a **rehearsal**) until one
//! comes to the right conclusion; it is then used for every query.
//!
//! | file | holds |
//! |---|---|
//! | `plan` | plans, the most natural first, and the pages that they make |
//! | `rehearsal` | trying plans out: the only file that asks the engine for a verdict |
//! | `demand` | from a matcher to a draft |
//! | `rules`, `document`, `fragment` | JSON: values for rules, pointers, pieces of text |
//! | `selector`, `html` | pages |
//! | `list`, `turning` | feeds, which are the same for every query; second pages |
//! | `plant`, `reading`, `sample`, `dns` | what extractors find, plausible values |
//! | `preimage` | a body for a digest |
//! | `scene` | module and query: filled templates, texts sampled from patterns |

use std::sync::{Arc, OnceLock};

use url::Url;

use crate::modules::definition::Entry;
use crate::modules::module::Module;
use crate::modules::query::Query;

mod demand;
mod dns;
mod document;
mod draft;
mod fragment;
mod html;
mod list;
mod plan;
mod plant;
mod preimage;
mod reading;
mod rehearsal;
mod rules;
mod sample;
mod scene;
mod selector;
mod turning;

pub(super) use list::decides;
use plan::Plan;
pub(super) use plan::{Aim, Page};
use scene::Scene;

/// Why the simulated web cannot play a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Module id.
    pub module: String,
    /// What is wrong, for the module's author.
    pub what: String,
}

/// One module's site.
pub(super) struct Site {
    module: Arc<Module>,
    seed: u64,
    hit: OnceLock<Result<Plan, String>>,
    miss: OnceLock<Result<Plan, String>>,
    /// What its feeds name.
    names: OnceLock<Vec<Query>>,
}

impl Site {
    pub(super) fn new(module: Arc<Module>, seed: u64) -> Self {
        Self { module, seed, hit: OnceLock::new(), miss: OnceLock::new(), names: OnceLock::new() }
    }

    pub(super) fn entry(&self) -> &Entry {
        self.module.entry()
    }

    /// The plan for an aim, found when first asked for.
    fn plan(&self, aim: Aim) -> &Result<Plan, String> {
        match aim {
            Aim::Hit => self.hit.get_or_init(|| rehearsal::find(&self.module, self.seed, aim, None)),
            Aim::Miss => self.miss.get_or_init(|| {
                let hit = self.plan(Aim::Hit).as_ref().ok();
                rehearsal::find(&self.module, self.seed, aim, hit)
            }),
        }
    }

    fn names(&self) -> &[Query] {
        self.names.get_or_init(|| list::names(&self.module))
    }

    /// Whether the query exists here by a feed that its module reads; `None`: no feed decides that.
    pub(super) fn lists(&self, query: &Query) -> Option<bool> {
        let is_named = || self.names().iter().any(|name| name.normal() == query.normal());
        decides(self.entry()).then(is_named)
    }

    /// The answer to a probe that was sent to `url`; `None`: there is none, [`Site::problems`] says why.
    pub(super) fn page(&self, aim: Aim, query: &Query, probe: usize, url: &Url) -> Option<Page> {
        if self.entry().probes.get(probe)?.feed.is_some() {
            let plan = self.plan(Aim::Hit).as_ref().ok()?;
            return plan.list(self.entry(), self.names(), self.seed, probe, url);
        }
        let plan = self.plan(aim).as_ref().ok()?;
        plan.page(&Scene::new(self.entry(), query, self.seed), probe, url)
    }

    /// What keeps the module from being played.
    pub(super) fn problems(&self) -> Vec<Problem> {
        [Aim::Hit, Aim::Miss]
            .into_iter()
            .filter_map(|aim| self.plan(aim).as_ref().err())
            .map(|what| Problem { module: self.entry().id.clone(), what: what.clone() })
            .collect()
    }
}
