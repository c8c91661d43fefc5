//! Families of runs.

use sightline::base::ids::RunId;
use sightline::model::follow::{
    Class, FollowEnd, FollowOrder, LeadCounts, Membership, NewMember, StopReason,
};
use sightline::model::search::Search;
use sightline::model::start::{Cause, NewRun, Started};
use uuid::Uuid;

use super::*;

pub(super) const ORDER: FollowOrder = FollowOrder {
    depth: 2,
    max_searches: 3,
    links: Class::Stated,
    choice: sightline::modules::catalog::Choice {
        modules: Vec::new(),
        exclude_modules: Vec::new(),
        categories: Vec::new(),
        nsfw: true,
        passive: false,
    },
};

impl Fixture {
    fn root(&self) -> NewRun {
        let root = NewRun {
            search: Search { follow: Some(Arc::new(ORDER)), ..search("someone") },
            ..self.new_run()
        };
        assert_eq!(self.store.start(&root, &charge(1, None)).unwrap(), Started::Created);
        root
    }

    fn child(&self, root: &NewRun, lead: u128) -> NewRun {
        let place = Membership { root: root.id, parent: root.id, depth: 1 };
        let lead = Uuid::from_u128(lead);
        let family = NewMember { place, lead, class: Class::Stated, max_searches: 3, is_on_request: false };
        NewRun { cause: Cause::Lead(family), owner: None, max_waiting: None, ..root.clone() }
    }
}

on_both! {
    fn a_family_is_idle_when_all_its_runs_have_ended_until_its_end_is_stored(f) {
        let root = f.root();
        assert_eq!(f.store.idle_families(false, RunId(Uuid::nil()), 10).unwrap(), []);
        f.finish(&root, &completed());
        assert_eq!(f.store.idle_families(false, RunId(Uuid::nil()), 10).unwrap(), [(root.id, f.account.id)]);
        assert_eq!(f.store.idle_families(true, RunId(Uuid::nil()), 10).unwrap(), []);
        assert_eq!(f.store.idle_families(false, root.id, 10).unwrap(), [], "the next page");
        let child = NewRun { id: RunId::new(), owner: Some(f.me), ..f.child(&root, 1) };
        assert_eq!(f.store.start(&child, &charge(1, None)).unwrap(), Started::Created);
        assert_eq!(f.store.idle_families(false, RunId(Uuid::nil()), 10).unwrap(), []);
        f.finish(&child, &completed());
        let leads = LeadCounts { followed: 1, not_followed: 2 };
        let end = FollowEnd { leads, stopped: Some(StopReason::InsufficientCredits) };
        f.store.end_following(root.id, &end).unwrap();
        // Only the first end counts.
        f.store.end_following(root.id, &FollowEnd::default()).unwrap();
        assert_eq!(f.store.idle_families(false, RunId(Uuid::nil()), 10).unwrap(), []);
        let family = f.store.family(root.id, f.account.id).unwrap().unwrap();
        assert_eq!((family.is_following, family.end), (false, Some(end)));
    }
}
