//! Stopping runs.

use sightline::base::ids::{AccountId, RunId};
use sightline::model::audit::Origin;
use sightline::model::drive::{StoppedRun, Write};
use sightline::model::start::{NewRun, Started};

use super::{HOLDS, at, charge, checkpoint, completed};

const NOW: &str = "2026-03-01T12:00:30.123Z";
const LATER: &str = "2026-03-01T12:00:40Z";

on_both! {
    fn a_driver_learns_by_its_checkpoint_that_its_run_was_stopped(f) {
        let run = f.started();
        let stop = |moment| f.store.stop(run.id, f.account.id, at(moment), &Origin::CLI).unwrap();
        let stopped = StoppedRun { id: run.id, at: at(NOW), waits: false };
        assert_eq!(f.store.checkpoint(run.id, f.me.lease(0), &checkpoint(), HOLDS).unwrap(), Write::Done);
        assert_eq!((stop(NOW), stop(LATER)), (Some(vec![stopped]), Some(vec![stopped])));
        let told = f.store.checkpoint(run.id, f.me.lease(0), &checkpoint(), HOLDS).unwrap();
        assert_eq!((told, f.summary(&run).stopped_at), (Write::Stopped(at(NOW)), Some(at(NOW))));
        f.finish(&run, &completed());
        assert_eq!((stop(LATER), f.summary(&run).stopped_at), (Some(Vec::new()), Some(at(NOW))));
        assert_eq!(f.database.number("SELECT count(*) FROM audit WHERE action = 'run.stopped'"), 1);
        for (id, account) in [(RunId::new(), f.account.id), (run.id, AccountId::new())] {
            assert_eq!(f.store.stop(id, account, at(NOW), &Origin::CLI).unwrap(), None);
        }
    }

    fn a_stopped_run_that_waits_is_taken_by_its_id(f) {
        let runs = [(); 2].map(|()| NewRun { owner: None, ..f.new_run() });
        for run in &runs {
            assert_eq!(f.store.start(run, &charge(1, None)).unwrap(), Started::Created);
        }
        let stopped = f.store.stop(runs[1].id, f.account.id, at(NOW), &Origin::CLI).unwrap().unwrap();
        assert_eq!(stopped, [StoppedRun { id: runs[1].id, at: at(NOW), waits: true }]);
        let claim = super::Claim { only: Some(runs[1].id), ..super::claim(f.me, false, 10) };
        let taken = f.store.take_over(&claim).unwrap();
        assert_eq!(taken.len(), 1);
        assert_eq!((taken[0].summary.id, taken[0].summary.stopped_at), (runs[1].id, Some(at(NOW))));
    }
}
