//! Makes the answers of a module's site from the plans that were found for it.

use std::sync::Arc;

use url::Url;

use super::context::Context;
use super::draft::Draft;
use super::plan::Plan;
use crate::modules::answer::Answer as Read;
use crate::modules::judge::save_one;
use crate::modules::module::Module;
use crate::modules::query::Query;
use crate::sandbox::answer::Answer;

/// An address for a request that lacks a key.
const NOWHERE: &str = "https://example.org/";

/// The site of a module.
#[derive(Clone)]
pub(super) struct Player {
    pub(super) module: Arc<Module>,
    pub(super) seed: u64,
    /// The names in the site's feeds.
    pub(super) names: Arc<[Query]>,
    pub(super) plan: Plan,
    /// The plan that makes the feeds, which are the same for every query. `None` means `plan`.
    pub(super) list: Option<Plan>,
}

impl Player {
    /// Returns the answer to a probe that was sent to `url`, or `None` if the plan has none.
    pub(super) fn answer(&self, query: &Query, probe: usize, url: &Url) -> Option<Answer> {
        self.answer_in(&self.context(query, probe), probe, url)
    }

    fn answer_in(&self, context: &Context<'_>, probe: usize, url: &Url) -> Option<Answer> {
        if self.module.entry().probes.get(probe)?.feed.is_none() {
            return self.plan.answer(context, probe, url);
        }
        // A feed contains all names at once.
        let list = self.list.as_ref().unwrap_or(&self.plan);
        let contexts = self.names.iter().map(|name| Context::new(&self.module, name, self.seed));
        let whole = contexts.filter_map(|context| list.draft(&context, probe, url)).reduce(Draft::joined)?;
        whole.finish()
    }

    /// Returns the context of a probe's answer. The engine itself saves the values from the earlier answers.
    fn context<'q>(&'q self, query: &'q Query, probe: usize) -> Context<'q> {
        let mut context = Context::new(&self.module, query, self.seed);
        let probes = self.module.entry().probes.iter().enumerate();
        for (earlier, _) in probes.take(probe).filter(|(_, entry)| !entry.save.is_empty()) {
            let Some(url) = self.address(&context, earlier) else { continue };
            let Some(page) = self.answer_in(&context, earlier, &url) else { continue };
            let response = page.response(&url, self.module.body_limit(earlier));
            let answer = Read::new(&response, &self.module.selectors);
            let mut saved = context.saved.clone();
            save_one(&self.module, earlier, &answer, context.values(), &mut saved);
            drop(answer);
            context.saved = saved;
        }
        context
    }

    fn address(&self, context: &Context<'_>, probe: usize) -> Option<Url> {
        let asked = self.module.entry().probes.get(probe)?.address(&context.values());
        asked.or_else(|| Url::parse(NOWHERE).ok())
    }
}
