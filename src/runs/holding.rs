//! The runs that this process holds in memory.

use std::collections::HashMap;
use std::sync::Arc;

use super::live::{LiveRun, Stopped};
use super::service::Runs;
use crate::base::ids::RunId;

impl Runs {
    /// Makes a run known here, unless it is known with a later lease (`false`). One that comes in while the process
    /// shuts down is stopped at once: the shutdown has stopped all others before, or does so after.
    pub(super) fn hold(&self, run: &Arc<LiveRun>) -> bool {
        if !put(&mut self.live.write(), run) {
            return false;
        }
        self.board.tell(run.id());
        if self.is_shutting_down() {
            run.stop(Stopped::Shutdown);
        }
        true
    }

    /// The run of that id, if it is live here and nobody knows more of it.
    pub fn live(&self, id: RunId) -> Option<Arc<LiveRun>> {
        self.live.read().get(&id).filter(|run| !run.is_gone()).map(Arc::clone)
    }
}

/// Puts a run among the live ones, unless it is there with a later lease.
fn put(live: &mut HashMap<RunId, Arc<LiveRun>>, run: &Arc<LiveRun>) -> bool {
    if live.get(&run.id()).is_some_and(|known| known.lease().epoch > run.lease().epoch) {
        return false;
    }
    live.insert(run.id(), Arc::clone(run));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::journal::NewRun;
    use crate::runs::run::RunSummary;

    #[test]
    fn a_run_is_never_replaced_by_one_with_an_earlier_lease() {
        let new = NewRun::example();
        let run =
            |epoch| Arc::new(LiveRun::new(RunSummary::opening(&new, 1), new.owner.lease(epoch), Vec::new()));
        let mut live = HashMap::new();
        let (early, late) = (run(0), run(2));
        assert!(put(&mut live, &early) && put(&mut live, &late));
        assert!(!put(&mut live, &early) && !put(&mut live, &run(1)));
        assert!(Arc::ptr_eq(&live[&new.id], &late));
        // Gone from memory, it may come back.
        live.clear();
        assert!(put(&mut live, &early));
    }
}
