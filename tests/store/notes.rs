//! What owners note about their runs and results.

use sightline::base::ids::{AccountId, RunId};
use sightline::model::audit::Origin;
use sightline::model::notes::{Annotation, AnnotationUpdate, RunNotes, RunNotesUpdate};
use sightline::model::page::ListFilter;
use sightline::model::retention::BATCH;
use sightline::model::start::NewRun;
use sightline::modules::query::SearchType;

use super::erasing::erase;
use super::{Fixture, added, at, charge, completed, race, result, search};

const NOW: &str = "2026-03-01T12:00:30.123Z";

impl Fixture {
    /// Starts a run with two results.
    fn found_two(&self) -> NewRun {
        let run = self.started();
        let batch = added(&[result(1, "a"), result(2, "b")]);
        self.store.save(run.id, self.me.lease(0), &batch, super::EXPIRED).unwrap();
        run
    }

    fn note_run(&self, run: &NewRun, update: &RunNotesUpdate) -> Option<RunNotes> {
        self.store.note_run(run.id, run.account, update, at(NOW), &Origin::CLI).unwrap()
    }

    fn annotate(&self, run: &NewRun, result: u32, update: &AnnotationUpdate) -> Option<Annotation> {
        self.store.annotate(run.id, result, run.account, update, at(NOW), &Origin::CLI).unwrap()
    }

    fn tagged(&self, filter: ListFilter, tag: &str) -> Vec<RunId> {
        let filter = ListFilter { tag: Some(tag.into()), ..filter };
        self.store.list(self.account.id, &filter, 10).unwrap().into_iter().map(|run| run.id).collect()
    }
}

fn with_tags(tags: &[&str]) -> RunNotesUpdate {
    RunNotesUpdate { tags: Some(tags.iter().map(|tag| (*tag).to_owned()).collect()), note: None }
}

fn with_note(note: Option<&str>) -> RunNotesUpdate {
    RunNotesUpdate { tags: None, note: Some(note.map(str::to_owned)) }
}

fn marked(is_marked: bool) -> AnnotationUpdate {
    AnnotationUpdate { note: None, not_this_person: Some(is_marked) }
}

fn noted(note: Option<&str>) -> AnnotationUpdate {
    AnnotationUpdate { note: Some(note.map(str::to_owned)), not_this_person: None }
}

on_both! {
    fn the_tags_and_the_note_of_a_run_change_one_by_one(f) {
        let (run, other) = (f.started(), f.started());
        let notes = |tags: &[&str], note: Option<&str>| {
            Some(RunNotes { tags: tags.iter().map(|tag| (*tag).to_owned()).collect(), note: note.map(str::to_owned) })
        };
        assert_eq!(f.note_run(&run, &with_tags(&["b", "prüfung"])), notes(&["b", "prüfung"], None));
        assert_eq!(f.note_run(&run, &with_note(Some("two\nlines"))), notes(&["b", "prüfung"], Some("two\nlines")));
        // A write of the driver leaves them.
        f.finish(&run, &completed());
        assert_eq!(Some(f.summary(&run).notes), notes(&["b", "prüfung"], Some("two\nlines")));
        assert_eq!(Some(f.store.notes(run.id).unwrap().run), notes(&["b", "prüfung"], Some("two\nlines")));
        assert_eq!(f.note_run(&run, &RunNotesUpdate::default()), notes(&["b", "prüfung"], Some("two\nlines")));
        assert_eq!(f.note_run(&run, &with_note(None)), notes(&["b", "prüfung"], None));
        assert_eq!(f.note_run(&run, &with_tags(&[])), notes(&[], None));
        assert_eq!(f.summary(&other).notes, RunNotes::default());
        let stranger = NewRun { account: AccountId::new(), ..run.clone() };
        let unknown = NewRun { id: RunId::new(), ..run };
        assert_eq!([stranger, unknown].map(|run| f.note_run(&run, &with_tags(&["x"]))), [None, None]);
        assert_eq!(f.database.number("SELECT count(*) FROM audit WHERE action = 'run.annotated'"), 5);
        let is_told = "SELECT count(*) FROM audit WHERE CAST(detail AS text) LIKE '%lines%'";
        assert_eq!(f.database.number(is_told), 0, "the audit has no content");
    }

    fn a_list_is_filtered_by_a_whole_tag(f) {
        let [a, b, c] = ["octocat", "cat@example.com", "dog"].map(|query| {
            let run = NewRun { search: search(query), ..f.new_run() };
            f.store.start(&run, &charge(1, None)).unwrap();
            run
        });
        f.note_run(&a, &with_tags(&["case-7", "open"]));
        f.note_run(&b, &with_tags(&["open"]));
        f.note_run(&c, &with_tags(&["case-77", "opening"]));
        let all = ListFilter::default;
        assert_eq!(f.tagged(all(), "open"), [b.id, a.id]);
        assert_eq!(f.tagged(all(), "case-7"), [a.id]);
        assert_eq!([f.tagged(all(), "case"), f.tagged(all(), "7\",\"open"), f.tagged(all(), "%")], [[], [], []]);
        assert_eq!(f.tagged(ListFilter { text: Some("CAT".into()), ..all() }, "open"), [b.id, a.id]);
        assert_eq!(f.tagged(ListFilter { text: Some("octo".into()), ..all() }, "open"), [a.id]);
        assert_eq!(f.tagged(ListFilter { search_type: Some(SearchType::Email), ..all() }, "open"), []);
        assert_eq!(f.tagged(ListFilter { root: Some(a.id), ..all() }, "open"), [a.id]);
        assert_eq!(f.tagged(ListFilter { before: Some((b.created_at, b.id)), ..all() }, "open"), [a.id]);
    }

    fn a_result_has_a_note_and_a_mark_as_long_as_one_is_set(f) {
        let (run, other) = (f.found_two(), f.found_two());
        let annotation = |note: Option<&str>, not_this_person| {
            Some(Annotation { note: note.map(str::to_owned), not_this_person })
        };
        assert_eq!(f.annotate(&run, 2, &marked(true)), annotation(None, true));
        assert_eq!(f.annotate(&run, 2, &noted(Some("another face"))), annotation(Some("another face"), true));
        assert_eq!(f.annotate(&run, 2, &marked(false)), annotation(Some("another face"), false));
        assert_eq!(f.annotate(&run, 2, &AnnotationUpdate::default()), annotation(Some("another face"), false));
        let stored = f.store.notes(run.id).unwrap().results;
        assert_eq!(stored.into_iter().collect::<Vec<_>>(), [(2, annotation(Some("another face"), false).unwrap())]);
        // The result itself is as it was found.
        assert_eq!(f.store.results(run.id, 0, 10).unwrap(), [result(1, "a"), result(2, "b")]);
        assert_eq!(f.store.notes(other.id).unwrap().results.len(), 0);
        assert_eq!(f.annotate(&run, 2, &noted(None)), annotation(None, false));
        assert_eq!(f.database.number("SELECT count(*) FROM annotations"), 0, "nothing is left of an empty one");
        assert_eq!(f.annotate(&run, 3, &marked(true)), None, "no such result");
        let stranger = NewRun { account: AccountId::new(), ..run.clone() };
        let unknown = NewRun { id: RunId::new(), ..run };
        assert_eq!([stranger, unknown].map(|run| f.annotate(&run, 1, &marked(true))), [None, None]);
    }

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
