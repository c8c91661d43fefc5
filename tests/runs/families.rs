//! Families: the leads of a search are followed within their limits, once each, whatever happens meanwhile.

use jiff::Timestamp;
use sightline::model::family::{FollowState, FollowStatus};
use sightline::model::follow::{Class, FollowOrder, LeadReason, MAX_LOOKUPS};
use sightline::model::page::ListFilter;
use sightline::modules::definition::ResultType;
use sightline::runs::family::Family;
use sightline::runs::leads::{FoundBy, Lead, LeadStatus};

use super::*;

const ORDER: FollowOrder =
    FollowOrder { depth: 1, max_searches: 10, links: Class::Stated, choice: NO_CHOICE };
const NO_CHOICE: Choice = Choice {
    modules: Vec::new(),
    exclude_modules: Vec::new(),
    categories: Vec::new(),
    nsfw: false,
    engines: false,
    passive: false,
};

/// Returns three sites for usernames, and one each for email addresses and domains.
fn catalog() -> Vec<Value> {
    let site = |id: &str, kind: &str, host: &str| {
        let changes = json!({
            "type": kind, "profile": format!("https://{host}/{{query}}"),
            "result": {"type": "profile", "metadata": {
                "website": "json:/website", "links": "json:/links", "email": "json:/email"
            }}
        });
        with(module(id, host), &changes)
    };
    let mut sites: Vec<Value> = ["a", "b", "c"]
        .map(|name| site(&format!("profile-{name}"), "username", &format!("{name}.example.com")))
        .to_vec();
    for (kind, host) in [("email", "mail.example.com"), ("domain", "whois.example.com")] {
        let mut site = site(&format!("profile-{kind}"), kind, host);
        site.as_object_mut().unwrap().remove("profile");
        sites.push(site);
    }
    sites
}

impl Bench {
    fn has_profile(&self, site: &str, name: &str, profile: Value) {
        self.web.profiles.lock().insert((format!("profile-{site}"), name.to_owned()), profile);
    }

    /// Starts a search that follows leads, and waits for the end of its family. Returns the root.
    fn follow(&self, query: &str, order: FollowOrder) -> RunId {
        let request = self.order_where(query, |search| search.follow = Some(Arc::new(order)));
        let run = self.start_order(request);
        self.wait_for_family(run.id());
        run.id()
    }

    pub(super) fn state(&self, root: RunId) -> FollowState {
        FollowState::of(&self.store.family(root, self.account).unwrap().unwrap())
    }

    fn wait_for_family(&self, root: RunId) {
        eventually("the family ends", || {
            self.runs.advance_idle();
            self.runs.dispatch();
            self.state(root).status == FollowStatus::Completed
        });
    }

    fn family(&self, run: RunId) -> Family {
        let found = self.store.run(run, self.account).unwrap().unwrap();
        self.runs.family(self.runs.record(found).unwrap()).unwrap()
    }

    fn leads(&self, run: RunId) -> Vec<Lead> {
        self.runs.leads(&self.family(run)).all
    }

    /// Returns what became of a lead that is no account.
    fn became(&self, run: RunId, value: &str) -> (LeadStatus, Option<LeadReason>) {
        let leads = self.leads(run);
        let lead = leads.iter().find(|lead| lead.value == value && lead.platform.is_none());
        lead.map(|lead| (lead.status, lead.reason)).unwrap_or_else(|| panic!("no lead {value}: {leads:?}"))
    }

    /// Returns the queries of a family in the order in which its runs were started.
    fn queries(&self, root: RunId) -> Vec<String> {
        self.family(root).findings().iter().map(|it| it.query.raw().to_owned()).collect()
    }

    pub(super) fn used(&self) -> u64 {
        self.store.bookings(self.account).unwrap().iter().map(|booking| booking.credits).sum()
    }
}

#[test]
fn accounts_are_looked_up_and_other_leads_are_searched() {
    let bench = bench(&catalog(), config());
    bench.has_profile(
        "a",
        "alice",
        json!({"website": "https://b.example.com/alice-b", "email": "alice@mail.example.net"}),
    );
    bench.has_profile("b", "alice-b", json!({"website": "https://alice-home.net/"}));
    bench.has_profile("c", "alice-b", json!({}));
    let of_batch =
        |search: &mut Search| (search.follow, search.options.of_batch) = (Some(Arc::new(ORDER)), true);
    let root = bench.start_order(bench.order_where("alice", of_batch)).id();
    bench.wait_for_family(root);
    assert_eq!(bench.queries(root), ["alice", "alice@mail.example.net", "alice-b"]);
    let looked_up = results_after(&bench.store, root, 0).unwrap();
    let by: Vec<Option<FoundBy>> = looked_up.iter().map(|result| FoundBy::of(&result.metadata)).collect();
    assert_eq!(looked_up.len(), 2, "{looked_up:?}");
    assert_eq!(by[0], None);
    assert_eq!((by[1].unwrap().run_id, by[1].unwrap().result_id), (root, 1));
    // The search asks each of its three modules, and the look-up one of them.
    let summary = bench.wait_for(root);
    assert_eq!((summary.progress.modules_completed, summary.coverage.count_of(Outcome::Hit)), (3, 1));
    let leads = bench.leads(root);
    let account = leads.iter().find(|lead| lead.platform.is_some()).unwrap();
    assert_eq!((account.status, account.outcome), (LeadStatus::LookedUp, Some(Outcome::Hit)));
    assert_eq!((account.run_id, account.result_id), (Some(root), Some(2)));
    assert_eq!(bench.became(root, "alice@mail.example.net"), (LeadStatus::Followed, None));
    // The site on the looked-up profile is two leads away from the search.
    let too_far = (LeadStatus::NotFollowed, Some(LeadReason::Depth));
    assert_eq!(bench.became(root, "alice-home.net"), too_far);
    let state = bench.state(root);
    assert_eq!((state.searches_started, state.searches_completed, state.lookups), (2, 2, 1));
    assert_eq!((state.leads.followed, state.leads.not_followed), (3, 1));
    assert_eq!(bench.used(), 3);
    let filter = ListFilter { root: Some(root), ..ListFilter::default() };
    let listed = bench.store.list(bench.account, &filter, 10).unwrap();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|run| run.id == root || run.family.unwrap().root == root));
    assert!(listed.iter().all(RunSummary::is_of_batch), "they have the share of the batch");
}

#[test]
fn leads_are_followed_level_by_level_and_circles_end() {
    let bench = bench(&catalog(), config());
    for (name, next) in [("first", "second"), ("second", "third"), ("third", "fourth"), ("fourth", "first")] {
        bench.has_profile("a", name, json!({"website": format!("https://b.example.com/{next}")}));
    }
    for (depth, queries) in [
        (1, vec!["first", "second"]),
        (2, vec!["first", "second", "third"]),
        (3, vec!["first", "second", "third", "fourth"]),
    ] {
        let root = bench.follow("first", FollowOrder { depth, ..ORDER });
        assert_eq!(bench.queries(root), queries, "{depth}");
        let depths: Vec<u8> = bench.family(root).findings().iter().map(|it| it.depth).collect();
        assert_eq!(depths, (0..=depth).collect::<Vec<u8>>());
    }
    // The last one leads back to the first search, which is no lead.
    let root = bench.follow("first", FollowOrder { depth: 3, max_searches: 50, ..ORDER });
    assert_eq!(bench.queries(root).len(), 4);
}

#[test]
fn leads_of_a_look_up_wait_for_the_runs_of_the_level_before() {
    let bench = bench(&catalog(), config());
    // The look-up of `near` shows `later` two leads away. The run for `near` shows `sooner`, just as far but verified.
    bench.has_profile("a", "alice", json!({"website": "https://b.example.com/near"}));
    bench.has_profile("b", "near", json!({"email": "later@mail.example.net"}));
    bench.has_profile(
        "a",
        "near",
        json!({"links": ["https://c.example.com/sooner"], "website": "https://a.example.com/near"}),
    );
    bench.has_profile("c", "sooner", json!({"website": "https://a.example.com/near"}));
    let root = bench.follow("alice", FollowOrder { depth: 2, max_searches: 2, ..ORDER });
    assert_eq!(bench.queries(root), ["alice", "near", "sooner"]);
}

#[test]
fn a_link_farm_starts_no_more_than_is_allowed() {
    let bench = bench(&catalog(), RunsConfig { max_waiting: 2, ..config() });
    let links: Vec<String> =
        (0..180).map(|number| format!("https://b.example.com/farmer{number:05}")).collect();
    bench.has_profile("a", "alice", json!({"links": links}));
    for max_searches in [0, 3] {
        let before = bench.used();
        let root = bench.follow("alice", FollowOrder { max_searches, depth: 3, ..ORDER });
        let state = bench.state(root);
        assert_eq!((state.searches_started, state.lookups), (u32::from(max_searches), MAX_LOOKUPS as u32));
        assert_eq!(bench.used() - before, 1 + u64::from(max_searches));
        let limit = (LeadStatus::NotFollowed, Some(LeadReason::Limit));
        assert_eq!(bench.became(root, "farmer00179"), limit);
    }
}

#[test]
fn only_verified_leads_are_followed_if_asked() {
    let bench = bench(&catalog(), config());
    bench.has_profile(
        "a",
        "alice",
        json!({"links": ["https://b.example.com/alice", "https://c.example.com/other"]}),
    );
    bench.has_profile(
        "b",
        "alice",
        json!({"website": "https://a.example.com/alice", "email": "alice@mail.example.net"}),
    );
    let root = bench.follow("alice", FollowOrder { links: Class::Verified, ..ORDER });
    assert_eq!(bench.queries(root), ["alice"]);
    let stated = (LeadStatus::NotFollowed, Some(LeadReason::NotVerified));
    assert_eq!(bench.became(root, "alice@mail.example.net"), stated);
    assert_eq!(bench.became(root, "other"), stated);
}

#[test]
fn without_credits_the_remaining_leads_are_not_followed() {
    let mut bench = bench(&catalog(), config());
    let links: Vec<String> = (0..5).map(|number| format!("https://b.example.com/friend{number}")).collect();
    bench.has_profile("a", "alice", json!({"links": links}));
    let is_first = AtomicBool::new(true);
    let charge = move |_| {
        assert!(!is_first.swap(false, Ordering::SeqCst), "a defect, because of which no run fails");
        let now = SystemClock.now();
        Ok(Some((
            Charge { credits: 1, allowed: Some(3), cycle: Cycle::at(Timestamp::UNIX_EPOCH, now) },
            true,
        )))
    };
    let charge_of: ChargeOf = Box::new(charge);
    bench.runs = bench.another_process_with(config(), charge_of);
    let now = SystemClock.now();
    let charge = Charge { credits: 1, allowed: Some(3), cycle: Cycle::at(Timestamp::UNIX_EPOCH, now) };
    let request =
        NewRun { charge, ..bench.order_where("alice", |search| search.follow = Some(Arc::new(ORDER))) };
    let run = bench.start_order(request);
    bench.wait_for_family(run.id());
    assert_eq!((bench.used(), bench.state(run.id()).searches_started), (3, 2));
    let broke = (LeadStatus::NotFollowed, Some(LeadReason::InsufficientCredits));
    assert_eq!(bench.became(run.id(), "friend4"), broke);
}

#[test]
fn a_suppressed_name_is_neither_looked_up_nor_searched() {
    let bench = bench(&catalog(), config());
    bench.has_profile("a", "alice", json!({"website": "https://b.example.com/hidden"}));
    bench.runs.suppress(failures::suppressed("hidden"));
    let root = bench.follow("alice", ORDER);
    assert_eq!((bench.queries(root).len(), bench.state(root).lookups), (1, 0));
    let suppressed = (LeadStatus::NotFollowed, Some(LeadReason::Suppressed));
    assert_eq!(bench.became(root, "hidden"), suppressed);
}

#[test]
fn a_deleted_root_starts_no_further_run_and_a_deleted_run_is_not_started_again() {
    let bench = bench(&catalog(), config());
    bench.has_profile("a", "alice", json!({"website": "https://b.example.com/friend"}));
    bench.has_profile("b", "friend", json!({"website": "https://c.example.com/further"}));
    let root = bench.follow("alice", ORDER);
    let child = bench.family(root).findings()[1].run_id;
    assert!(bench.runs.delete(child, bench.account, false, &Origin::CLI).unwrap());
    let lead =
        bench.leads(root).into_iter().find(|lead| lead.value == "friend" && lead.platform.is_none()).unwrap();
    let deleted = (LeadStatus::NotFollowed, Some(LeadReason::Deleted), None);
    assert_eq!((lead.status, lead.reason, lead.run_id), deleted);
    assert_eq!(bench.state(root).searches_started, 1);
    // Its owner may follow the lead again.
    let charge = bench.order("alice").charge;
    let again = bench.runs.follow_lead(&bench.family(root), lead.lead_id, &charge, Origin::CLI).unwrap();
    assert_ne!(again, child);
    assert_eq!(bench.became(root, "friend"), (LeadStatus::Followed, None));
    assert_eq!((bench.state(root).searches_started, bench.used()), (1, 3));

    let root = bench.follow("alice", ORDER);
    assert!(bench.runs.delete(root, bench.account, true, &Origin::CLI).unwrap());
    let filter = ListFilter { root: Some(root), ..ListFilter::default() };
    assert_eq!(bench.store.list(bench.account, &filter, 10).unwrap(), []);
    assert!(!bench.runs.delete(root, bench.account, true, &Origin::CLI).unwrap());
}

#[test]
fn a_lead_followed_by_hand_keeps_to_the_rules_of_its_run() {
    let mut sites = catalog();
    sites[2]["nsfw"] = json!(true);
    sites[4]["contact"] = json!("target_web");
    let bench = bench(&sites, config());
    let links = json!({"website": "https://alice-home.net/", "links": ["https://c.example.com/friend"]});
    bench.has_profile("a", "alice", links);
    let charge = bench.order("alice").charge;
    // Whether a site that is asked itself, and an adult site, are asked for a lead.
    for (choice, asks_domain, asks_adult_site) in [
        (NO_CHOICE, true, false),
        (Choice { passive: true, ..NO_CHOICE }, false, false),
        (Choice { nsfw: true, ..NO_CHOICE }, true, true),
    ] {
        let request = bench.order_where("alice", |search| search.choice = choice.clone());
        let run = bench.start_order(request);
        bench.finish(&run);
        for (kind, is_asked) in [(ResultType::Domain, asks_domain), (ResultType::Account, asks_adult_site)] {
            let family = bench.family(run.id());
            let leads = bench.leads(run.id());
            let lead = leads.iter().find(|lead| lead.kind == kind).unwrap();
            let followed = bench.runs.follow_lead(&family, lead.lead_id, &charge, Origin::CLI);
            assert_eq!(lead.can_be_followed, is_asked, "{choice:?} {kind:?}");
            if is_asked {
                assert!(followed.is_ok(), "{choice:?} {kind:?}: {followed:?}");
            } else {
                assert!(followed.unwrap_err().message.ends_with("unsupported"), "{choice:?} {kind:?}");
            }
        }
    }
}
