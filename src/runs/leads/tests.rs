use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::base::ids::RunId;
use crate::model::entity::tests::record;
use crate::model::run::ResultRecord;
use crate::modules::catalog::Catalog;
use crate::modules::query::{Query, SearchType};
use crate::runs::leads::links::Subjects;
use crate::runs::record::Findings;

pub(crate) fn catalog() -> &'static Catalog {
    static CATALOG: std::sync::OnceLock<Catalog> = std::sync::OnceLock::new();
    CATALOG.get_or_init(|| Catalog::builtin().unwrap())
}

/// A result of the main kind of a module, as a search for `name` gives it.
pub(crate) fn profile(id: u32, module: &str, name: &str, metadata: Value) -> ResultRecord {
    let platform = Some(catalog().get(module).unwrap().platform().to_owned());
    let address = json!({"profile_url": format!("https://{module}.example/{name}")});
    let mut found = ResultRecord { platform, source: module.into(), ..record(id, "profile", name, &address) };
    let Value::Object(more) = metadata else { panic!("not an object") };
    found.metadata.extend(more);
    found
}

pub(in crate::runs) fn listed(
    id: u32,
    module: &str,
    kind: &str,
    value: &str,
    metadata: Value,
) -> ResultRecord {
    let Value::Object(metadata) = metadata else { panic!("not an object") };
    let ResultRecord { platform, source, .. } = profile(id, module, value, json!({}));
    ResultRecord { platform, source, metadata, ..record(id, kind, value, &json!({})) }
}

fn run_id() -> RunId {
    "018f4a7e-5c1d-7b3a-9e2f-0123456789ab".parse().unwrap()
}

fn leads_of(kind: SearchType, query: &str, results: &[ResultRecord]) -> Leads {
    let query = Query::parse(kind, query).unwrap();
    let run = Findings::new(run_id(), query, results);
    leads(vec![RunLinks::of(&Subjects::of(&run, catalog().profiles()))])
}

fn shown(leads: &Leads) -> Vec<String> {
    let line = |lead: &Lead| {
        let platform = lead.platform.as_deref().map_or(String::new(), |platform| format!("{platform}/"));
        let reason = lead.reason.map_or("found".into(), |reason| json!(reason).as_str().unwrap().to_owned());
        format!("{} {} {platform}{} {reason}", lead.class.as_str(), lead.kind.as_str(), lead.value)
    };
    leads.all.iter().map(line).collect()
}

#[test]
fn members_of_the_metadata_name_leads() {
    let results = [profile(
        1,
        "github",
        "octocat",
        json!({
            "website": "octo.example.com/about", "twitter": "@octo_cat", "email": "cat@octo.example.org",
            "verified_links": ["https://mastodon.social/@octocat9"],
            "bio": "Mail me at second@example.net, IG: octo.pics. GitHub Actions fan. https://bit.ly/x https://posteo.de/en https://github.com/octocat/hello",
            "facebook": "https://www.facebook.com/octofb", "company": "https://ignored.example.com",
        }),
    )];
    let found = leads_of(SearchType::Username, "octocat", &results);
    let mut lines = shown(&found);
    lines.sort();
    assert_eq!(
        lines,
        [
            "stated account Facebook/octofb not_requested",
            "stated account Instagram/octo.pics not_requested",
            "stated account X (Twitter)/octo_cat not_requested",
            "stated domain octo.example.com not_requested",
            "stated email cat@octo.example.org not_requested",
            "stated email second@example.net not_requested",
            "stated url https://bit.ly/x shortener",
            "stated url https://github.com/octocat/hello shared_host",
            "stated url https://posteo.de/en mail_provider",
            "stated username octo.pics not_requested",
            "stated username octo_cat not_requested",
            "stated username octofb not_requested",
            "verified account Mastodon.social/octocat9 not_requested",
            "verified username octocat9 not_requested",
        ]
    );
    // Verified leads come first.
    assert_eq!(found.all[0].class, Class::Verified);
    let twitter = found.all.iter().find(|lead| lead.value == "octo_cat").unwrap();
    assert_eq!((twitter.module.as_deref(), &*twitter.sources.first().unwrap().field), (Some("x"), "twitter"));
}

#[test]
fn a_lead_to_an_account_that_the_search_has_found_says_so() {
    let results = [
        profile(1, "github", "octocat", json!({"links": ["https://gitlab.com/octocat"]})),
        profile(2, "gitlab", "octocat", json!({"bio": "see https://github.com/octocat"})),
        profile(3, "dev_to", "octocat", json!({"github": "octocat"})),
    ];
    let found = leads_of(SearchType::Username, "octocat", &results);
    let by_platform =
        |name: &str| found.all.iter().find(|lead| lead.platform.as_deref() == Some(name)).unwrap();
    let (gitlab, github) = (by_platform("GitLab"), by_platform("GitHub"));
    assert_eq!((gitlab.status, gitlab.result_id, gitlab.reason), (LeadStatus::Found, Some(2), None));
    // Both ends point at each other, so both links are verified. The third profile's link to one of them is not.
    assert_eq!((gitlab.class, github.class), (Class::Verified, Class::Verified));
    let of_third = github.sources.iter().find(|source| source.result_id == 3).unwrap();
    assert_eq!(of_third.class, Class::Stated);
    // The name itself is what was searched.
    assert!(found.all.iter().all(|lead| lead.kind == ResultType::Account), "{:?}", shown(&found));
}

#[test]
fn listed_accounts_are_leads_of_the_profile_that_lists_them() {
    let proof = |service: &str| json!({"service": service, "verified": true});
    let results = [
        profile(1, "keybase", "octocat", json!({})),
        listed(2, "keybase", "account", "https://twitter.com/octoproof", proof("twitter")),
        listed(3, "keybase", "account", "https://octo.example.org/", proof("generic_web_site")),
        listed(4, "keybase", "account", "octocat", json!({"service": "unknownservice", "username": "oc"})),
    ];
    let found = leads_of(SearchType::Username, "octocat", &results[..3]);
    assert_eq!(
        shown(&found),
        [
            "verified account X (Twitter)/octoproof not_requested",
            "verified domain octo.example.org not_requested",
            "verified username octoproof not_requested",
        ]
    );
    let query = Query::parse(SearchType::Username, "octocat").unwrap();
    let run = Findings::new(run_id(), query, &results);
    let (links, _) = links([RunLinks::of(&Subjects::of(&run, catalog().profiles()))]);
    let keybase = Entity::account("Keybase", "octocat");
    assert!(links.iter().all(|link| link.from.id == keybase.id), "{links:#?}");
    assert_eq!(links.last().unwrap().to.id, Entity::account("unknownservice", "oc").id);
}

#[test]
fn verified_links_that_contradict_each_other_are_a_conflict() {
    let proof = |id, module: &str, name: &str| {
        profile(id, module, "octocat", json!({"verified_links": [format!("https://github.com/{name}")]}))
    };
    let results = [proof(1, "mastodon_social", "octo-one"), proof(2, "fosstodon", "octo-two")];
    let found = leads_of(SearchType::Username, "octocat", &results);
    let accounts: Vec<_> = found.all.iter().filter(|lead| lead.kind == ResultType::Account).collect();
    assert_eq!(accounts.len(), 2);
    assert!(accounts.iter().all(|lead| lead.reason == Some(LeadReason::Conflict)), "{:?}", shown(&found));
    // One person may show two accounts.
    let both = json!({"verified_links": ["https://github.com/octo-one", "https://github.com/octo-two"]});
    let found = leads_of(SearchType::Username, "octocat", &[profile(1, "fosstodon", "octocat", both)]);
    assert!(
        found.all.iter().all(|lead| lead.reason == Some(LeadReason::NotRequested)),
        "{:?}",
        shown(&found)
    );
}

#[test]
fn masses_of_links_are_bounded_and_counted() {
    let many: Vec<String> = (0..100_000).map(|n| format!("https://site{n}.example.com/{n}")).collect();
    let emails: Vec<String> = (0..10_000).map(|n| format!("mail{n}@example.org")).collect();
    let results: Vec<ResultRecord> = vec![
        profile(1, "linktree", "octocat", json!({"links": many})),
        profile(2, "github", "octocat", json!({"emails": emails, "bio": "a@b.example ".repeat(20_000)})),
    ];
    let found = leads_of(SearchType::Username, "octocat", &results);
    assert!(found.all.len() <= 400, "{}", found.all.len());
    assert!(found.omitted > 100_000, "{}", found.omitted);

    let page = |id: u32| {
        let own: Vec<String> = (0..100).map(|n| format!("https://site{id}-{n}.example.com/")).collect();
        profile(id, "linktree", &format!("name{id}"), json!({"links": own}))
    };
    let found = leads_of(SearchType::Username, "octocat", &(1..=30).map(page).collect::<Vec<_>>());
    assert_eq!((found.all.len(), found.omitted), (2_000, 1_000));
}

/// Texts that may hold anything.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,60}",
        "(https?://)?(www\\.)?(github|twitter|gitlab|example)\\.(com|org)/[@a-z0-9_/?#%.-]{0,20}",
        "[a-z]{1,8}@[a-z]{1,8}\\.(com|org)",
        "(twitter|github|IG)[: @]{0,3}[a-z0-9_.-]{0,20}",
    ]
}

proptest! {
    #[test]
    fn leads_do_not_depend_on_the_order_of_results(
        texts in prop::collection::vec((0usize..6, any_text()), 1..12),
        seed in any::<u64>(),
    ) {
        const FIELDS: [&str; 6] = ["website", "links", "twitter", "email", "bio", "verified_links"];
        const MODULES: [&str; 4] = ["github", "gitlab", "dev_to", "keybase"];
        let results: Vec<ResultRecord> = texts
            .iter()
            .enumerate()
            .map(|(n, (field, text))| {
                profile(u32::try_from(n).unwrap() + 1, MODULES[n % 4], &format!("name{n}"), json!({FIELDS[*field]: text}))
            })
            .collect();
        let mut shuffled = results.clone();
        let len = shuffled.len();
        for n in 0..len {
            shuffled.swap(n, usize::try_from(seed.rotate_left(u32::try_from(n).unwrap()) % (len as u64)).unwrap());
        }
        let one = leads_of(SearchType::Username, "octocat", &results);
        let other = leads_of(SearchType::Username, "octocat", &shuffled);
        prop_assert_eq!(json!(one.all), json!(other.all));
    }
}
