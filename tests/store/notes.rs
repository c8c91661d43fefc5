//! What owners note about their runs and results.

use sightline::model::audit::Origin;
use sightline::model::notes::{Annotation, AnnotationUpdate};

use super::race;

on_both! {
    fn notes_at_the_same_moment_do_not_lose_each_other(f) {
        let run = f.with_results();
        let updates = [(None, Some(true)), (Some(Some("x".to_owned())), None)]
            .map(|(note, not_this_person)| AnnotationUpdate { note, not_this_person });
        race(2, |at| super::once_connected(|| {
            f.store.annotate(run.id, 1, run.account, &updates[at], &Origin::CLI)
        }));
        let kept = f.store.notes(run.id).unwrap().results.remove(&1).unwrap();
        assert_eq!(kept, Annotation { note: Some("x".into()), not_this_person: true });
    }
}
