//! Families of runs.

use sightline::base::ids::{AccountId, RunId};
use sightline::model::audit::Origin;
use sightline::model::follow::{
    Class, FollowEnd, FollowOrder, LeadCounts, Membership, NewMember, StopReason,
};
use sightline::model::page::ListFilter;
use sightline::model::search::Search;
use sightline::model::start::{Cause, NewRun, Refused, Started};
use uuid::Uuid;

use super::*;

const ORDER: FollowOrder = FollowOrder {
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
    fn a_lead_starts_one_run_and_the_limit_holds(f) {
        let root = f.root();
        let start = |lead| {
            let child = NewRun { id: RunId::new(), ..f.child(&root, lead) };
            (f.store.start(&child, &charge(1, None)).unwrap(), child.id)
        };
        let (started, first) = start(1);
        assert_eq!(started, Started::Created);
        assert_eq!(start(1).0, Started::Repeated(first));
        assert_eq!((start(2).0, start(3).0, start(4).0), (Started::Created, Started::Created, Started::Refused(Refused::FamilyFull)));
        assert_eq!(f.used(), 4);
        // A deleted run still counts, and its lead is not searched again.
        assert!(f.store.delete(first, f.account.id, at("2026-03-02T00:00:00Z"), &Origin::CLI).unwrap());
        assert_eq!((start(1).0, start(4).0), (Started::Repeated(first), Started::Refused(Refused::FamilyFull)));
        // Only its owner has it searched again. A start that is refused changes nothing.
        let again = |credits, allowed| {
            let member = NewMember { is_on_request: true, ..*f.child(&root, 1).cause.member().unwrap() };
            let child = NewRun { id: RunId::new(), cause: Cause::Lead(member), ..f.child(&root, 1) };
            (f.store.start(&child, &charge(credits, allowed)).unwrap(), child.id)
        };
        assert_eq!(again(1, Some(4)).0, Started::Refused(Refused::InsufficientCredits { used: 4 }));
        assert_eq!(start(1).0, Started::Repeated(first));
        let (started, second) = again(1, None);
        assert_eq!((started, start(1).0), (Started::Created, Started::Repeated(second)));
        let family = f.store.family(root.id, f.account.id).unwrap().unwrap();
        assert_eq!((family.members.len(), family.followed.len()), (4, 3));
        assert_eq!((family.members[0].id, family.members[0].follow.as_deref()), (root.id, Some(&ORDER)));
        assert_eq!(family.members[1].family, Some(Membership { root: root.id, parent: root.id, depth: 1 }));
        assert_eq!(f.store.children(root.id, root.id).unwrap().len(), 3);
        assert!(f.store.family(root.id, AccountId::new()).unwrap().is_none());
    }

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

    fn nothing_is_started_below_a_deleted_root(f) {
        let root = f.root();
        let child = NewRun { id: RunId::new(), ..f.child(&root, 1) };
        assert_eq!(f.store.start(&child, &charge(1, None)).unwrap(), Started::Created);
        let (at, by) = (at("2026-03-02T00:00:00Z"), &Origin::CLI);
        assert!(f.store.delete(root.id, f.account.id, at, by).unwrap());
        let late = NewRun { id: RunId::new(), ..f.child(&root, 2) };
        assert_eq!(f.store.start(&late, &charge(1, None)).unwrap(), Started::Refused(Refused::FamilyGone));
        // The child is kept, and is still a run of that family.
        let filter = ListFilter { root: Some(root.id), ..ListFilter::default() };
        assert_eq!(f.store.list(f.account.id, &filter, 10).unwrap().len(), 1);
        assert_eq!(f.used(), 2);
    }

    fn a_family_is_deleted_as_a_whole(f) {
        let (root, other) = (f.root(), f.root());
        for (root, lead) in [(&root, 1), (&root, 2), (&other, 1)] {
            let child = NewRun { id: RunId::new(), ..f.child(root, lead) };
            assert_eq!(f.store.start(&child, &charge(1, None)).unwrap(), Started::Created);
        }
        let (at, by) = (at("2026-03-02T00:00:00Z"), &Origin::CLI);
        assert_eq!(f.store.delete_family(root.id, AccountId::new(), at, by).unwrap(), []);
        assert_eq!(f.store.delete_family(root.id, f.account.id, at, by).unwrap().len(), 3);
        assert_eq!(f.store.delete_family(root.id, f.account.id, at, by).unwrap(), []);
        assert!(f.store.family(root.id, f.account.id).unwrap().is_none());
        assert_eq!(f.store.family(other.id, f.account.id).unwrap().unwrap().members.len(), 2);
    }
}
