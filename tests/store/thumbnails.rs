//! Thumbnails of results, and what owners note about them.

use sightline::base::storage::StorageError;
use sightline::model::account::BATCH;
use sightline::model::audit::Origin;
use sightline::model::drive::{Delta, Write};
use sightline::model::notes::{Annotation, AnnotationUpdate, Verdict};
use sightline::model::start::NewRun;

use super::erasing::erase;
use super::{EXPIRED, Fixture, added, at, completed, result};

impl Fixture {
    /// Starts a run with two results.
    fn with_results(&self) -> NewRun {
        let run = self.started();
        self.save(&run, &added(&[result(1, "a"), result(2, "b")]));
        run
    }

    fn keep(&self, run: &NewRun, epoch: u64, result: u32, png: &[u8]) -> Result<Write, StorageError> {
        let delta = Delta { thumbnails: [(result, png.to_vec())].into(), ..Delta::default() };
        self.store.save(run.id, self.me.lease(epoch), &delta, EXPIRED)
    }
}

on_both! {
    fn a_thumbnail_needs_a_result_a_lease_and_a_size(f) {
        let run = f.with_results();
        assert!(f.keep(&run, 0, 3, b"x").is_err(), "no such result");
        assert!(f.keep(&run, 0, 1, b"").is_err());
        assert!(f.keep(&run, 0, 1, &[0; 16 * 1024 + 1]).is_err());
        assert_eq!(f.keep(&run, 1, 1, b"x").unwrap(), Write::LeaseLost);
        f.finish(&run, &completed());
        assert_eq!((f.keep(&run, 0, 1, b"x").unwrap(), f.rows("thumbnails")), (Write::LeaseLost, 0));
    }

    fn thumbnails_and_notes_are_deleted_with_their_run(f) {
        let later = at("2026-06-01T00:00:00Z");
        let left = || f.rows("thumbnails") + f.rows("annotations");
        let kept = || {
            let run = f.with_results();
            f.keep(&run, 0, 1, b"x").unwrap();
            let mark = AnnotationUpdate { note: None, verdict: Some(Some(Verdict::Mine)) };
            f.store.annotate(run.id, 1, run.account, &mark, &Origin::CLI).unwrap();
            f.finish(&run, &completed());
            assert_eq!(left(), 2);
            run
        };
        let run = kept();
        assert_eq!(f.store.delete(run.id, run.account, false, &Origin::CLI).unwrap(), [run.id]);
        assert_eq!(left(), 0, "deleted by its owner");
        kept();
        assert_eq!(f.store.sweep(later, BATCH).unwrap(), Some(1));
        assert_eq!(left(), 0, "swept");
        kept();
        erase(&f.store, f.account.id);
        assert_eq!(left(), 0, "deleted with its account");
    }

    fn notes_at_the_same_moment_do_not_lose_each_other(f) {
        let run = f.with_results();
        let updates = [(None, Some(Some(Verdict::Mine))), (Some(Some("x".to_owned())), None)]
            .map(|(note, verdict)| AnnotationUpdate { note, verdict });
        super::race(2, |at| super::once_connected(|| {
            f.store.annotate(run.id, 1, run.account, &updates[at], &Origin::CLI)
        }));
        let kept = f.store.notes(run.id).unwrap().results.remove(&1).unwrap();
        assert_eq!(kept, Annotation { note: Some("x".into()), verdict: Some(Verdict::Mine), screenshot: None });
    }
}
