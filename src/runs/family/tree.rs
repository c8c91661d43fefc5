//! [`FamilyTree`]: the runs below a run, as a tree.

use crate::base::ids::RunId;
use crate::model::family::StoredFamily;
use crate::model::follow::Class;
use crate::model::run::RunSummary;

/// The place of a run in its family, and the runs below it. It is read without results.
#[derive(Debug, Clone, Default)]
pub struct FamilyTree {
    /// The run whose lead has started the run, unless it was deleted.
    pub parent: Option<RunSummary>,
    /// The runs below the run. Each stands after its parent, and before the next run of the same parent.
    pub below: Vec<TreeRun>,
    /// Whether the run or one below it is running, or leads of the family are still followed.
    pub is_open: bool,
}

/// A run of a tree.
#[derive(Debug, Clone)]
pub struct TreeRun {
    /// The number of leads between the run at the top and this one, from 1.
    pub level: usize,
    /// The class of the lead.
    pub class: Class,
    /// The run.
    pub run: RunSummary,
}

impl FamilyTree {
    pub(super) fn of(family: &StoredFamily, run: RunId) -> Self {
        let member = |id: RunId| family.members.iter().find(|member| member.id == id);
        let itself = member(run);
        let place = itself.and_then(|itself| itself.family);
        let mut below = Vec::new();
        add(family, run, 1, &mut below);
        let mut runs = itself.into_iter().chain(below.iter().map(|entry| &entry.run));
        let is_open = family.is_following || runs.any(|run| !run.status.is_terminal());
        Self { parent: place.and_then(|place| member(place.parent)).cloned(), below, is_open }
    }
}

/// Adds the runs below `parent`. A family has few runs, and a run is started after its parent, so there are no circles.
fn add(family: &StoredFamily, parent: RunId, level: usize, below: &mut Vec<TreeRun>) {
    let children = family.members.iter().filter(|run| run.family.is_some_and(|place| place.parent == parent));
    for run in children {
        let followed = family.followed.iter().find(|followed| followed.run == run.id);
        let class = followed.map_or(Class::Stated, |followed| followed.class);
        below.push(TreeRun { level, class, run: run.clone() });
        add(family, run.id, level + 1, below);
    }
}
