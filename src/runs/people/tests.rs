use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::base::ids::RunId;
use crate::model::run::ResultRecord;
use crate::modules::query::{Query, SearchType};
use crate::runs::leads::tests::{catalog, listed, profile};
use crate::runs::people::evidence::EvidenceKind;
use crate::runs::people::person::ConflictKind;

mod pictures;

fn run_id(number: u32) -> RunId {
    format!("018f4a7e-5c1d-7b3a-9e2f-0123{number:08x}").parse().unwrap()
}

fn people_of(kind: SearchType, query: &str, results: &[ResultRecord]) -> People {
    let query = Query::parse(kind, query).unwrap();
    people(&[Findings::new(run_id(1), query, results)], catalog().profiles())
}

/// The people of a search for a username.
fn found(results: &[ResultRecord]) -> People {
    people_of(SearchType::Username, "octocat", results)
}

fn kinds(people: &People) -> Vec<EvidenceKind> {
    people.people.iter().flat_map(|person| &person.evidence).map(|evidence| evidence.kind).collect()
}

fn conflict_kinds(people: &People) -> BTreeSet<ConflictKind> {
    let of_people = people.people.iter().flat_map(|person| &person.conflicts);
    let others = people.unattributed.iter().flat_map(|account| &account.conflicts);
    of_people.chain(others).map(|conflict| conflict.kind).collect()
}

/// Returns the evidence and the band of a person with two accounts.
fn joined(one: Value, other: Value) -> (Vec<EvidenceKind>, Option<Band>) {
    let found = found(&[profile(1, "github", "octocat", one), profile(2, "gitlab", "octocat", other)]);
    assert_eq!(found.people.len() * 2 + found.unattributed.len(), 2, "{found:#?}");
    (kinds(&found), found.people.first().map(|person| person.band))
}

/// The metadata of an account whose picture has these hashes.
fn picture(sha256: &str, phash: u64) -> Value {
    json!({"avatar": {"sha256": sha256.repeat(32), "phash": format!("{phash:016x}")}})
}

const MODULES: [&str; 4] = ["github", "gitlab", "dev_to", "keybase"];

/// Returns a profile on each of the sites.
fn on_each_site(names: [&str; 4], metadata: impl Fn(usize) -> Value) -> Vec<ResultRecord> {
    (0..4).map(|at| profile(at as u32 + 1, MODULES[at], names[at], metadata(at))).collect()
}

const SENTENCE: &str = "I paint owls on very old bicycles in the north";

#[test]
fn each_kind_of_evidence_joins_as_strongly_as_it_says() {
    use Band::{Confirmed, Likely, Possible};
    use EvidenceKind::*;
    let (to_gitlab, to_github) = ("https://gitlab.com/octocat", "https://github.com/octocat");
    // The MD5 of myemailaddress@example.com, as in the documentation of Gravatar.
    let (md5, large_md5) = ("0bc83cb571cd1c50ba6f3e8a78ef1346", "0BC83CB571CD1C50BA6F3E8A78EF1346");
    let (site, page) = ("https://octo.example.org", "https://www.octo.example.org/me");
    let has = |member: &str, value: &str| json!({ member: value });
    let named = |link: &str, name: &str| json!({"links": [link], "display_name": name});
    let none = (vec![], None);
    for (one, other, wanted) in [
        (has("verified_links", to_gitlab), json!({}), (vec![VerifiedLink], Some(Confirmed))),
        (has("links", to_gitlab), has("website", to_github), (vec![MutualLink], Some(Confirmed))),
        (has("email_md5", md5), has("email_md5", large_md5), (vec![SameEmail], Some(Confirmed))),
        (
            has("email_md5", md5),
            has("email", "MyEmailAddress@example.com"),
            (vec![StatedEmail], Some(Likely)),
        ),
        (
            has("email", "a@cats.example.org"),
            has("bio", "a@cats.example.org"),
            (vec![StatedEmail], Some(Likely)),
        ),
        (has("public_key", "ab cd"), has("public_key", "AB CD"), (vec![SameKey], Some(Likely))),
        (has("website", "octo.example.org"), has("links", page), (vec![SameSite], Some(Likely))),
        (has("verified_links", site), has("verified_links", page), (vec![VerifiedSite], Some(Confirmed))),
        (has("bio", &format!("Hi! {SENTENCE}.")), has("bio", SENTENCE), (vec![SameBio], Some(Possible))),
        (has("links", to_gitlab), json!({}), none.clone()),
        (
            named(to_gitlab, "Octo Cat"),
            has("display_name", "octo  cat"),
            (vec![StatedLink, SameName], Some(Possible)),
        ),
        (has("display_name", "Octo Cat"), has("display_name", "Octo Cat"), none.clone()),
        (has("location", "Oslo"), has("location", "Oslo"), none.clone()),
        (has("website", "https://bit.ly/x"), has("website", "https://bit.ly/x"), none.clone()),
        (has("email", "info@cats.example.org"), has("email", "info@cats.example.org"), none.clone()),
        // Friends link to each other, too.
        (named(to_gitlab, "Octo Cat"), named(to_github, "Bob Builder"), none),
    ] {
        assert_eq!(joined(one.clone(), other.clone()), wanted, "{one} {other}");
    }
}

#[test]
fn what_is_mine_is_one_person_whatever_speaks_against_it_and_what_is_not_mine_is_nobody() {
    let judged = |id: u32, module: &str, metadata: Value, verdict: &str| {
        let annotation = json!({"note": null, "verdict": verdict});
        let result = profile(id, module, "octocat", metadata);
        ResultRecord { annotation: Some(serde_json::from_value(annotation).unwrap()), ..result }
    };
    let named = |name: &str| json!({"display_name": name, "verified": true});
    let [one, other] = [named("Octo Cat"), named("Bob Builder")];
    let mine = found(&[judged(1, "github", one.clone(), "mine"), judged(2, "gitlab", other.clone(), "mine")]);
    assert_eq!((mine.people.len(), mine.people[0].band), (1, Band::Confirmed));
    assert_eq!(kinds(&mine), [EvidenceKind::Verdict, EvidenceKind::OtherName]);
    assert_eq!(conflict_kinds(&mine), BTreeSet::from([ConflictKind::OtherName]));
    // However many names they show.
    let names = ["Octo Cat", "Bob Builder", "Carol Danvers", "Dora Lange"];
    let many: Vec<_> = (1..)
        .zip(MODULES)
        .zip(names)
        .map(|((id, module), name)| judged(id, module, named(name), "mine"))
        .collect();
    assert_eq!(found(&many).people[0].accounts.len(), 4);
    let unsure = found(&[judged(1, "github", one, "unsure"), judged(2, "gitlab", other.clone(), "mine")]);
    assert_eq!((unsure.people.len(), unsure.unattributed.len()), (0, 2));
    let gone = found(&[
        judged(1, "github", json!({"links": ["https://gitlab.com/octocat"]}), "not_mine"),
        judged(2, "gitlab", other, "mine"),
    ]);
    assert_eq!((gone.people.len(), gone.unattributed.len()), (0, 1));
    // What only an account lists that is not mine is gone with it.
    let proof = json!({"service": "github", "verified": true});
    let listing = judged(1, "keybase", json!({}), "not_mine");
    let gone = found(&[listing, listed(2, "keybase", "account", "https://github.com/octo9", proof)]);
    assert_eq!(gone, People::default());
}

#[test]
fn evidence_names_its_results_and_says_why() {
    let proof = json!({"service": "github", "verified": true});
    let results = [
        profile(4, "keybase", "octocat", json!({"display_name": "Octo Cat"})),
        listed(5, "keybase", "account", "https://github.com/octo9", proof),
        profile(6, "gitlab", "octocat", json!({"verified_links": ["https://github.com/octo9"]})),
    ];
    let found = found(&results);
    let [person] = &found.people[..] else { panic!("{found:#?}") };
    assert_eq!(
        (person.band, person.accounts.len(), &person.names[..]),
        (Band::Confirmed, 3, &["Octo Cat".to_owned()][..])
    );
    let texts: Vec<&str> = person.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "octocat on GitLab has a verified link to octo9 on GitHub",
            "octocat on Keybase has a verified link to octo9 on GitHub",
        ]
    );
    let results: Vec<Vec<u32>> =
        person.evidence.iter().map(|it| it.results.iter().map(|result| result.result_id).collect()).collect();
    assert_eq!(results, [[6, 5], [4, 5]]);
    let json = json!(person.evidence[1]);
    assert_eq!((&json["kind"], &json["weight"]), (&json!("verified_link"), &json!(6.5)));
    // An account that is only named has no result of its own.
    let named = json!({"verified_links": ["https://github.com/octo9"]});
    let found = super::tests::found(&[profile(1, "gitlab", "octocat", named)]);
    assert_eq!(found.people[0].accounts[0].results, []);
    assert_eq!(found.people[0].evidence[0].results.len(), 1);
}

#[test]
fn a_search_for_an_address_says_that_its_accounts_have_it() {
    let results = [
        profile(1, "gravatar", "octogravatar", json!({"display_name": "Octo"})),
        listed(2, "github_commits", "account", "https://github.com/octocat", json!({})),
        listed(3, "github_commits", "account", "https://github.com/octocat2", json!({})),
        // People show other names on each platform.
        profile(4, "duolingo_email", "cat@example.org", json!({"display_name": "Night Owl"})),
        profile(5, "etsy_email", "https://www.etsy.com/people/shop", json!({"full_name": "Jane Doe"})),
        profile(6, "gitlab_avatar", "https://gitlab.com/bobby", json!({"display_name": "Bobby Tables"})),
    ];
    let found = people_of(SearchType::Email, "cat@example.org", &results);
    let [person] = &found.people[..] else { panic!("{found:#?}") };
    assert_eq!((person.band, person.accounts.len()), (Band::Confirmed, 6), "{found:#?}");
    assert_eq!(person.emails, ["cat@example.org"]);
    assert_eq!(kinds(&found), [EvidenceKind::SameEmail; 5]);
    // Several people read the mail of a team.
    let found = people_of(SearchType::Email, "support@example.org", &results);
    assert_eq!((found.people.len(), found.unattributed.len()), (0, 6));
}

#[test]
fn keys_join_the_holders_of_two_addresses() {
    let key = |id| {
        listed(id, "mailvelope_keys", "public_key", "0123456789abcdef0123456789abcdef01234567", json!({}))
    };
    let one = [key(1), listed(2, "github_commits", "account", "https://github.com/octocat", json!({}))];
    let other = [key(1), listed(2, "github_commits", "account", "https://github.com/cat9", json!({}))];
    let run = |number, address: &str, results| {
        Findings::new(run_id(number), Query::parse(SearchType::Email, address).unwrap(), results)
    };
    let found =
        people(&[run(1, "a@example.org", &one), run(2, "b@example.org", &other)], catalog().profiles());
    assert_eq!((found.people.len(), kinds(&found)), (1, vec![EvidenceKind::SameKey]), "{found:#?}");
    assert_eq!(found.people[0].emails, ["a@example.org", "b@example.org"]);
}

#[test]
fn links_in_a_circle_lead_back() {
    let next = ["gitlab.com", "dev.to", "github.com", "github.com"];
    let link = |at: usize| json!({ "links": format!("https://{}/octocat", next[at]) });
    let found = found(&on_each_site(["octocat"; 4], link));
    assert_eq!((found.people[0].accounts.len(), found.people[0].band), (3, Band::Likely), "{found:#?}");
    assert_eq!(found.unattributed.len(), 1);
}

/// What an impostor can do: take over the name and the bio, and link to the accounts of the victim.
#[test]
fn an_impostor_without_a_link_back_stays_apart() {
    let copied = |links: &[&str]| json!({"display_name": "Octo Cat", "bio": SENTENCE, "links": links});
    let victim = [
        profile(1, "github", "octocat", copied(&["https://gitlab.com/octocat"])),
        profile(2, "gitlab", "octocat", copied(&["https://github.com/octocat"])),
        // It has no links, so nothing distinguishes it from the victim's.
        profile(3, "dev_to", "octocat", json!({"display_name": "Octo Cat"})),
    ];
    let impostor = profile(4, "keybase", "0ctocat", copied(&["https://github.com/octocat"]));
    let found = found(&[victim.as_slice(), &[impostor]].concat());
    let [person] = &found.people[..] else { panic!("{found:#?}") };
    assert!(person.accounts.iter().all(|account| account.value == "octocat"), "{found:#?}");
    assert_eq!((person.band, person.conflicts[0].kind), (Band::Confirmed, ConflictKind::NoLinkBack));
    // One that takes over the site, too, cannot be distinguished, but is never more than possible.
    let with_site = |mut metadata: Value| {
        metadata["website"] = json!("https://octo.example.org");
        metadata
    };
    let mut all = victim.to_vec();
    all[0] = profile(1, "github", "octocat", with_site(copied(&["https://gitlab.com/octocat"])));
    all.push(profile(4, "keybase", "0ctocat", with_site(copied(&["https://github.com/octocat"]))));
    let found = super::tests::found(&all);
    assert_eq!((found.people[0].accounts.len(), found.people[0].band), (3, Band::Possible), "{found:#?}");
    let bands: Vec<Band> = found.people[0].accounts.iter().filter_map(|account| account.band).collect();
    assert_eq!(bands, [Band::Confirmed, Band::Confirmed, Band::Possible]);
}

#[test]
fn contradictions_keep_accounts_apart_and_are_shown() {
    let proof = |id, module: &str, name: &str, link: &str| {
        profile(
            id,
            module,
            "octocat",
            json!({"verified_links": [format!("https://github.com/{name}")], "links": [link]}),
        )
    };
    let (to_one, to_other) = ("https://mastodon.social/@octocat", "https://gitlab.com/octocat");
    let results = [proof(1, "mastodon_social", "octo-one", to_other), proof(2, "gitlab", "octo-two", to_one)];
    let apart = found(&results);
    assert_eq!((apart.people.len(), apart.unattributed.len()), (2, 0), "{apart:#?}");
    assert_eq!(conflict_kinds(&apart), [ConflictKind::VerifiedElsewhere].into());
    // One person may show two accounts.
    let same = [proof(1, "mastodon_social", "octo-one", to_other), proof(2, "gitlab", "octo-one", to_one)];
    assert_eq!(found(&same).people.len(), 1);

    let verified = |id, module: &str, name: &str, link: &str| {
        profile(
            id,
            module,
            "octocat",
            json!({"verified": true, "display_name": name, "verified_links": [link]}),
        )
    };
    let results =
        [verified(1, "mastodon_social", "Jane Doe", to_other), verified(2, "gitlab", "Bob Lee", to_one)];
    let apart = found(&results);
    assert_eq!((apart.people.len(), conflict_kinds(&apart)), (0, [ConflictKind::OtherName].into()));
}

#[test]
fn a_link_that_is_older_than_its_account_means_another_one() {
    let dated = |created: &str| {
        [
            profile(
                1,
                "github",
                "octocat",
                json!({"verified_links": ["https://gitlab.com/octocat"], "changed_at": "2020-01-01T00:00:00Z"}),
            ),
            profile(2, "gitlab", "octocat", json!({"created_at": created})),
        ]
    };
    let later = found(&dated("2022-01-01T00:00:00Z"));
    assert_eq!((later.people.len(), conflict_kinds(&later)), (0, [ConflictKind::CreatedLater].into()));
    assert_eq!(found(&dated("2019-01-01T00:00:00Z")).people.len(), 1);
}

#[test]
fn what_many_share_joins_nobody() {
    let names = ["Jane Doe", "Bob Builder", "Carl Sagan", "Rosa Parks"];
    let (email, website) = ("us@team.example.org", "https://team.example.org");
    let members = |name: &&str| json!({"display_name": name, "email": email, "website": website});
    let apart = found(&on_each_site(["name0", "name1", "name2", "name3"], |at| members(&names[at])));
    assert_eq!((apart.people.len(), apart.unattributed.len()), (0, 4), "{apart:#?}");
    // A page of links to which many link back is not the person behind all of them.
    let links: Vec<String> = (0..40).map(|n| format!("https://gitlab.com/name{n}")).collect();
    let mut results = vec![profile(1, "github", "octocat", json!({"links": links}))];
    results.extend((0..40).map(|n| {
        profile(n + 2, "gitlab", &format!("name{n}"), json!({"links": ["https://github.com/octocat"]}))
    }));
    assert_eq!(found(&results).people, []);
}

/// Masses of links and shared signs, as a hostile site could show them.
#[test]
fn masses_of_accounts_are_bounded() {
    let links: Vec<String> = (0..10_000).map(|n| format!("https://gitlab.com/name{n}")).collect();
    let result = |n: u32| {
        let near: Vec<String> =
            (1..20).map(|step| format!("https://github.com/name{}", (n + step * 4) % 2000)).collect();
        let emails: Vec<String> =
            (0..30).map(|step| format!("mail{}@example.org", (n + step) % 300)).collect();
        let members = json!({"links": if n == 0 { &links } else { &near }, "emails": emails, "bio": SENTENCE, "display_name": format!("Jane Doe{}", n % 7)});
        profile(n + 1, MODULES[n as usize % 4], &format!("name{n}"), members)
    };
    let results: Vec<ResultRecord> = (0..2000).map(result).collect();
    let found = found(&results);
    let accounts: usize = found.people.iter().map(|person| person.accounts.len()).sum();
    assert!(accounts + found.unattributed.len() >= 2000);
    let evidence: usize = found.people.iter().map(|person| person.evidence.len()).sum();
    assert!(evidence < 10 * accounts, "{evidence} of {accounts}");
}

proptest! {
    #[test]
    fn people_do_not_depend_on_the_order_of_results_and_runs(
        parts in prop::collection::vec((0usize..11, 0usize..5, 0usize..4), 1..24),
        seed in any::<u64>(),
    ) {
        const HOSTS: [&str; 4] = ["github.com", "gitlab.com", "dev.to", "keybase.io"];
        const NAMES: [&str; 5] = ["octocat", "OctoCat", "cat", "dog9", "bird"];
        let result = |(n, (field, name, other)): (usize, &(usize, usize, usize))| {
            let link = format!("https://{}/{}", HOSTS[*other], NAMES[(name + n) % 5]);
            let metadata = match field {
                0 => json!({"links": [link]}),
                1 => json!({"verified_links": [link], "display_name": NAMES[*name]}),
                2 => json!({"email": format!("{}@example.org", NAMES[*name]), "bio": SENTENCE}),
                3 => json!({"website": format!("https://{}.example.org", NAMES[*name])}),
                4 => json!({"bio": format!("{SENTENCE}. {link}"), "display_name": "Octo Cat"}),
                5 => json!({"display_name": "Bob Builder", "links": [link], "verified": true}),
                6 => json!({"created_at": "2021-01-01T00:00:00Z", "links": [link]}),
                7 => json!({"changed_at": "2020-01-01T00:00:00Z", "links": [link], "public_key": "abc"}),
                8 => picture(&format!("0{other}"), (1 << (3 * other)) - 1),
                9 => picture("0a", 0xf0f0 << name),
                _ => json!({"links": HOSTS.map(|host| format!("https://{host}/octocat")), "display_name": "Octo Cat"}),
            };
            let id = u32::try_from(n).unwrap() + 1;
            profile(id, MODULES[n % 4], NAMES[(n / 4 + name) % 5], metadata)
        };
        let results: Vec<ResultRecord> = parts.iter().enumerate().map(result).collect();
        let (some, others) = results.split_at(results.len() / 2);
        let mut shuffled = (others.to_vec(), some.to_vec());
        for part in [&mut shuffled.0, &mut shuffled.1] {
            for n in 0..part.len() {
                let other = seed.rotate_left(u32::try_from(n).unwrap()) % (part.len() as u64);
                part.swap(n, usize::try_from(other).unwrap());
            }
        }
        let query = Query::parse(SearchType::Username, "octocat").unwrap();
        let run = |number, results| Findings::new(run_id(number), query.clone(), results);
        let profiles = catalog().profiles();
        let one = people(&[run(1, some), run(2, others)], profiles);
        let other = people(&[run(2, &shuffled.0), run(1, &shuffled.1)], profiles);
        prop_assert_eq!(json!(one), json!(other));
    }
}
