//! Reading, listing and deleting runs.

use sightline::base::ids::RunId;
use sightline::model::page::{Cursor, ListFilter};
use sightline::model::run::Status;
use sightline::model::start::NewRun;
use sightline::modules::query::SearchType;

use super::{Fixture, at, completed};
use crate::support::databases::sqlite;

impl Fixture {
    fn listed(&self, filter: &ListFilter, limit: usize) -> Vec<RunId> {
        let runs = self.store.list(self.account.id, filter, limit).unwrap();
        runs.iter().map(|run| run.id).collect()
    }
}

on_both! {
    fn pages_of_a_list_follow_each_other_where_times_are_equal(f) {
        let moments = ["2026-03-01T12:00:00.001Z", "2026-03-01T12:00:00.002Z", "2026-03-01T12:00:00.003Z"];
        let mut runs: Vec<NewRun> = (0..25)
            .map(|index| f.start(NewRun { created_at: at(moments[index % 3]), ..f.new_run() }))
            .collect();
        runs.sort_by_key(|run| std::cmp::Reverse((run.created_at, run.id)));
        let want: Vec<RunId> = runs.iter().map(|run| run.id).collect();

        let mut listed = Vec::new();
        let mut filter = ListFilter::default();
        loop {
            let page = f.store.list(f.account.id, &filter, 4).unwrap();
            let Some(last) = page.last() else { break };
            filter.before = Some(Cursor::after(last));
            assert!(page.len() <= 4);
            listed.extend(page.iter().map(|run| run.id));
        }
        assert_eq!(listed, want);
        assert_eq!(f.listed(&ListFilter::default(), 100), want);
        assert_eq!(f.listed(&ListFilter::default(), 0), []);
    }

    fn a_list_is_filtered_by_a_part_of_the_query(f) {
        let [a, b, c] =
            ["Octocat", "cat@example.com", "100%_dog"].map(|query| f.started_for(SearchType::Username, query));
        f.finish(&a, &completed());
        let with = |text: &str| ListFilter { text: Some(text.into()), ..ListFilter::default() };
        assert_eq!(f.listed(&with("CAT"), 10), [b.id, a.id]);
        assert_eq!(f.listed(&with("cat"), 1), [b.id]);
        assert_eq!(f.listed(&with("%_"), 10), [c.id]);
        assert_eq!(f.listed(&with("a%t"), 10), []);
        let ended = ListFilter { status: Some(Status::Completed), ..with("cat") };
        assert_eq!(f.listed(&ended, 10), [a.id]);
        let emails = ListFilter { search_type: Some(SearchType::Email), ..with("cat") };
        assert_eq!(f.listed(&emails, 10), []);
        let older = ListFilter { before: Some(Cursor(b.created_at, b.id)), ..with("cat") };
        assert_eq!(f.listed(&older, 10), [a.id]);
    }

    fn runs_with_the_same_normal_form_are_found(f) {
        let [a, b, _, c] = ["octocat", " @octocat ", "octocats", "octocat"].map(|it| f.started_for(SearchType::Username, it));
        let domain = ["Example.com", "https://example.com/x"].map(|it| f.started_for(SearchType::Domain, it));
        for run in [&a, &b, &domain[0], &domain[1]] {
            f.finish(run, &completed());
        }
        let found = |run: &NewRun, normal: &str, before, count| {
            let runs = f.store.comparable(&f.summary(run), normal, before, count).unwrap();
            runs.iter().map(|run| run.id).collect::<Vec<_>>()
        };
        let before = |run: &NewRun| Some(Cursor(run.created_at, run.id));
        assert_eq!(found(&c, "octocat", None, 10), [b.id, a.id], "those that have ended");
        assert_eq!(found(&c, "octocat", before(&c), 1), [b.id]);
        assert_eq!(found(&b, "octocat", before(&b), 10), [a.id]);
        assert_eq!(found(&domain[1], "example.com", None, 10), [domain[0].id]);
    }
}

/// On PostgreSQL this depends on the database's locale.
#[test]
fn a_list_is_filtered_by_letters_of_any_script_on_sqlite() {
    let f = Fixture::new(sqlite());
    let [run, greek] = ["Иван_MÜLLER", "ΟΔΟΣΑΒΓ"].map(|query| f.started_for(SearchType::Username, query));
    for (text, want) in [
        ("ΟΔΟΣ", vec![greek.id]),
        ("οδος", vec![greek.id]),
        ("οδοσ", vec![greek.id]),
        ("иван", vec![run.id]),
        ("ИВАН", vec![run.id]),
        ("müller", vec![run.id]),
        ("n_M", vec![]),
    ] {
        let filter = ListFilter { text: Some(text.into()), ..ListFilter::default() };
        assert_eq!(f.listed(&filter, 10), want, "{text}");
    }
}
