//! What owners note about their runs and results.

use sightline::model::account::BATCH;
use sightline::model::audit::Origin;
use sightline::model::notes::{Annotation, AnnotationUpdate};
use sightline::model::start::NewRun;

use super::erasing::erase;
use super::{Fixture, added, at, completed, race, result};

const NOW: &str = "2026-03-01T12:00:30.123Z";

impl Fixture {
    /// Starts a run with two results.
    fn found_two(&self) -> NewRun {
        let run = self.started();
        let batch = added(&[result(1, "a"), result(2, "b")]);
        self.store.save(run.id, self.me.lease(0), &batch, super::EXPIRED).unwrap();
        run
    }

    fn annotate(&self, run: &NewRun, result: u32, update: &AnnotationUpdate) -> Option<Annotation> {
        self.store.annotate(run.id, result, run.account, update, at(NOW), &Origin::CLI).unwrap()
    }
}

fn marked(is_marked: bool) -> AnnotationUpdate {
    AnnotationUpdate { note: None, not_this_person: Some(is_marked) }
}

fn noted(note: Option<&str>) -> AnnotationUpdate {
    AnnotationUpdate { note: Some(note.map(str::to_owned)), not_this_person: None }
}

on_both! {
    fn notes_at_the_same_moment_do_not_lose_each_other(f) {
        let run = f.found_two();
        let updates = [marked(true), noted(Some("x"))];
        race(2, |at| super::once_connected(|| {
            f.store.annotate(run.id, 1, run.account, &updates[at], super::at(NOW), &Origin::CLI)
        }));
        let kept = f.store.notes(run.id).unwrap().results.remove(&1).unwrap();
        assert_eq!(kept, Annotation { note: Some("x".into()), not_this_person: true });
    }

    fn annotations_are_deleted_with_their_run(f) {
        let later = at("2026-06-01T00:00:00Z");
        let annotated = || {
            let run = f.found_two();
            f.annotate(&run, 1, &marked(true)).unwrap();
            f.finish(&run, &completed());
            run
        };
        let left = || f.database.number("SELECT count(*) FROM annotations");
        let run = annotated();
        assert!(f.store.delete(run.id, run.account, later, &Origin::CLI).unwrap());
        assert_eq!(left(), 0, "deleted by its owner");
        annotated();
        assert_eq!(f.store.sweep(later, BATCH, later, &Origin::SYSTEM).unwrap(), Some(1));
        assert_eq!(left(), 0, "swept");
        annotated();
        erase(&f.store, f.account.id);
        assert_eq!(left(), 0, "deleted with its account");
    }
}
