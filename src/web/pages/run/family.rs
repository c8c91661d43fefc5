//! The searches that the leads of a run have started, as a tree.

use std::sync::Arc;

use askama::Template;

use super::find;
use crate::base::ids::RunId;
use crate::http::Reply;
use crate::model::family::FamilyTree;
use crate::model::follow::Class;
use crate::model::run::RunSummary;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::pages::run_row::RunRow;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The tree below a run.
pub(super) struct TreeView {
    pub(super) branches: Vec<Branch>,
    /// Whether the leads of the run are followed without being asked for one by one.
    pub(super) follows: bool,
    /// Whether the run or one below it is running, or further ones may appear.
    pub(super) is_open: bool,
    /// The run whose lead has started this one.
    pub(super) parent: Option<(RunId, String)>,
}

/// A run of the tree.
pub(super) struct Branch {
    pub(super) search: RunRow,
    pub(super) is_verified: bool,
    /// The number of modules that have ended, and of all.
    pub(super) completed: u32,
    pub(super) total: u32,
    pub(super) has_branches: bool,
    /// The number of lists that end after it.
    pub(super) ends: usize,
}

impl TreeView {
    pub(super) fn new(web: &Web, run: &RunSummary, tree: &FamilyTree) -> Self {
        let now = web.parts.clock.now();
        let next = tree.below.iter().skip(1).map(|entry| entry.level).chain([1]);
        let branches = tree.below.iter().zip(next).map(|(entry, next)| Branch {
            search: RunRow::new(&entry.run, now),
            is_verified: entry.class == Class::Verified,
            completed: entry.run.progress.modules_completed,
            total: entry.run.progress.modules_total,
            has_branches: next > entry.level,
            ends: entry.level.saturating_sub(next),
        });
        Self {
            branches: branches.collect(),
            follows: run.follow.is_some(),
            is_open: tree.is_open,
            parent: tree.parent.as_ref().map(|run| (run.id, run.query.clone())),
        }
    }

    /// Returns whether there is no search, and there will be none by itself.
    pub(super) fn is_empty(&self) -> bool {
        self.branches.is_empty() && !self.follows
    }

    /// Returns the number of searches that are running.
    pub(super) fn running(&self) -> usize {
        self.branches.iter().filter(|branch| branch.search.is_running).count()
    }
}

#[derive(Template)]
#[template(path = "run-family.html", config = "src/web/askama.toml")]
struct Part {
    frame: Frame,
    tree: TreeView,
}

/// Handles `GET /app/searches/{run_id}/family`: returns the tree below a run, for the script of its pages.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn family(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let run = find(web, &visit)?.summary();
    let tree = TreeView::new(web, &run, &web.parts.runs.families.tree(&run)?);
    Ok(Reply::Now(render(&Part { frame: visit.frame, tree })))
}
