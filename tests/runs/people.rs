//! Who the accounts of runs belong to: generated searches of which it is known.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use sightline::base::ids::RunId;
use sightline::model::run::ResultRecord;
use sightline::modules::catalog::Catalog;
use sightline::modules::query::{Query, SearchType};
use sightline::runs::people::evidence::Band;
use sightline::runs::people::people;
use sightline::runs::people::person::People;
use sightline::runs::record::Findings;

use crate::support::chance::Chance;
use crate::support::modules::builtin;

const SEARCHES: u64 = 400;

/// Modules with the addresses of their profiles.
const SITES: [(&str, &str); 14] = [
    ("github", "https://github.com/"),
    ("gitlab", "https://gitlab.com/"),
    ("dev_to", "https://dev.to/"),
    ("keybase", "https://keybase.io/"),
    ("mastodon_social", "https://mastodon.social/@"),
    ("fosstodon", "https://fosstodon.org/@"),
    ("reddit", "https://www.reddit.com/user/"),
    ("hacker_news", "https://news.ycombinator.com/user?id="),
    ("x", "https://x.com/"),
    ("youtube", "https://www.youtube.com/@"),
    ("steam", "https://steamcommunity.com/id/"),
    ("instagram", "https://www.instagram.com/"),
    ("telegram", "https://t.me/"),
    ("tumblr", "https://www.tumblr.com/"),
];

const FIRST: [&str; 8] = ["Jane", "Amir", "Olga", "Pedro", "Yuki", "Fatma", "Lars", "Chidi"];
const LAST: [&str; 8] = ["Okafor", "Lindgren", "Moreau", "Tanaka", "Alvarez", "Novak", "Haddad", "Brandt"];

/// An account of a generated search.
struct Made {
    site: usize,
    name: String,
    metadata: Value,
    /// The number of the person to whom it really belongs.
    owner: usize,
    /// Whether the results show that it belongs to the owner's other accounts of which this is true.
    is_shown: bool,
    is_impostor: bool,
}

impl Made {
    fn address(&self) -> String {
        format!("{}{}", SITES[self.site].1, self.name)
    }

    fn push(&mut self, member: &str, value: String) {
        let list = self.metadata[member].as_array().cloned().unwrap_or_default();
        self.metadata[member] = list.into_iter().chain([Value::from(value)]).collect();
    }
}

/// A generated search: people with their accounts, impostors, colleagues and pages of links.
struct Search {
    draw: Chance,
    made: Vec<Made>,
    people: usize,
}

impl Search {
    fn new(seed: u64) -> Self {
        let mut search = Self { draw: Chance::new(seed), made: Vec::new(), people: 0 };
        let full_name = search.full_name();
        for _ in 0..=search.draw.below(3) {
            // One in four people has the name of the first one.
            let name = if search.draw.is_one_in(4) { full_name.clone() } else { search.full_name() };
            search.add_person(&name);
        }
        if search.draw.is_one_in(3) {
            search.add_colleagues();
        }
        if search.draw.is_one_in(3) {
            search.add_page_of_links();
        }
        search
    }

    fn full_name(&mut self) -> String {
        format!("{} {}", FIRST[self.draw.below(8)], LAST[self.draw.below(8)])
    }

    /// Adds accounts with the same name and bio on different sites, and returns their positions.
    fn add_accounts(&mut self, count: usize, full_name: &str, bio: &str) -> Vec<usize> {
        let owner = self.people;
        self.people += 1;
        let start = self.draw.below(SITES.len());
        for number in 0..count {
            let mut metadata = json!({"location": "Lagos"});
            if !self.draw.is_one_in(3) {
                metadata["display_name"] = full_name.into();
            }
            if !self.draw.is_one_in(3) {
                metadata["bio"] = bio.into();
            }
            let site = (start + number) % SITES.len();
            let name = format!("name{owner}x{number}");
            self.made.push(Made { site, name, metadata, owner, is_shown: false, is_impostor: false });
        }
        (self.made.len() - count..self.made.len()).collect()
    }

    fn link(&mut self, from: usize, to: usize, is_verified: bool) {
        let address = self.made[to].address();
        self.made[from].push(if is_verified { "verified_links" } else { "links" }, address);
    }

    fn add_person(&mut self, full_name: &str) {
        let count = 3 + self.draw.below(10);
        let bio = format!("Person {} keeps {count} old lighthouses running in the north", self.people);
        let accounts = self.add_accounts(count, full_name, &bio);
        self.join(&accounts, count);
        // Further accounts that no result joins to the others.
        if self.draw.is_one_in(4) {
            let loose = self.add_accounts(1, full_name, "");
            self.made[loose[0]].owner = self.made[accounts[0]].owner;
            self.made[loose[0]].metadata = json!({"location": "Lagos"});
        }
        for _ in 0..self.draw.below(3) {
            self.add_impostor(&accounts, full_name, &bio);
        }
    }

    /// Joins the accounts of one person in one of the ways in which people do.
    fn join(&mut self, accounts: &[usize], count: usize) {
        accounts.iter().for_each(|at| self.made[*at].is_shown = true);
        let hub = accounts[0];
        match self.draw.below(6) {
            0 => accounts[1..].iter().for_each(|at| self.link(hub, *at, true)),
            1 => accounts[1..].iter().for_each(|at| {
                self.link(hub, *at, false);
                self.link(*at, hub, false);
            }),
            2 => accounts.windows(2).for_each(|two| {
                self.link(two[0], two[1], false);
                self.link(two[1], two[0], false);
            }),
            3 => (0..count).for_each(|n| self.link(accounts[n], accounts[(n + 1) % count], false)),
            4 => {
                let hash = format!("{:064x}", self.draw.next());
                accounts.iter().for_each(|at| self.made[*at].metadata["email_sha256"] = hash.as_str().into());
            }
            _ => {
                let site = format!("https://own{}.example.org", self.draw.next());
                accounts.iter().for_each(|at| self.made[*at].push("links", site.clone()));
            }
        }
    }

    /// Adds an account of somebody else that links to the victim's, and takes over the name and the bio.
    fn add_impostor(&mut self, victim: &[usize], full_name: &str, bio: &str) {
        let account = self.add_accounts(1, full_name, bio)[0];
        self.made[account].is_impostor = true;
        for _ in 0..=self.draw.below(3) {
            let target = victim[self.draw.below(victim.len())];
            self.link(account, target, false);
        }
    }

    /// Adds people of one company, with its address and its site, who link to each other.
    fn add_colleagues(&mut self) {
        let company = format!("company{}.example.com", self.draw.next());
        let mut before = None;
        for number in 0..4 {
            let full_name = format!("{} {}", FIRST[number], LAST[number]);
            let account = self.add_accounts(1, &full_name, "")[0];
            let mailbox = if number % 2 == 0 { "info" } else { "founders" };
            self.made[account].metadata["email"] = format!("{mailbox}@{company}").into();
            self.made[account].metadata["website"] = format!("https://{company}").into();
            self.made[account].metadata["display_name"] = full_name.into();
            if let Some(before) = before.replace(account) {
                self.link(account, before, false);
            }
        }
    }

    fn add_page_of_links(&mut self) {
        let page = self.add_accounts(1, "List of People", "")[0];
        (0..page).for_each(|at| self.link(page, at, false));
        (0..200).for_each(|n| self.made[page].push("links", format!("https://github.com/listed{n}")));
    }

    fn results(&self, catalog: &Catalog) -> Vec<ResultRecord> {
        let record = |(n, made): (usize, &Made)| {
            let module = SITES[made.site].0;
            let mut metadata: Map<String, Value> = made.metadata.as_object().cloned().unwrap();
            metadata.insert("profile_url".into(), made.address().into());
            ResultRecord {
                id: u32::try_from(n).unwrap() + 1,
                result_type: "profile".into(),
                entity_type: "profile".into(),
                platform: Some(catalog.get(module).unwrap().platform().to_owned()),
                value: Some(made.name.clone()),
                confidence: 0.9,
                source: module.into(),
                metadata,
                created_at: "2026-05-06T07:08:09Z".parse().unwrap(),
                annotation: None,
            }
        };
        self.made.iter().enumerate().map(record).collect()
    }
}

/// Pairs of accounts: joined rightly, joined wrongly, and shown by the results but not joined.
#[derive(Debug, Default)]
struct Pairs {
    right: usize,
    wrong: usize,
    missed: usize,
}

impl Pairs {
    fn add(&mut self, search: &Search, found: &People, seed: u64) {
        let person_of: BTreeMap<&str, (usize, Band)> = found
            .people
            .iter()
            .enumerate()
            .flat_map(|(n, person)| {
                person.accounts.iter().map(move |it| (it.value.as_str(), (n, person.band)))
            })
            .collect();
        for (n, one) in search.made.iter().enumerate() {
            for other in &search.made[..n] {
                let persons = (person_of.get(one.name.as_str()), person_of.get(other.name.as_str()));
                let joined = match persons {
                    (Some((one, band)), Some((other, _))) if one == other => Some(*band),
                    _ => None,
                };
                match joined {
                    Some(_) if one.owner == other.owner => self.right += 1,
                    Some(band) => {
                        let is_impostor = one.is_impostor || other.is_impostor;
                        assert!(
                            !is_impostor || band != Band::Confirmed,
                            "seed {seed}: {} {}",
                            one.name,
                            other.name
                        );
                        self.wrong += 1;
                    }
                    None if one.owner == other.owner && one.is_shown && other.is_shown => self.missed += 1,
                    None => {}
                }
            }
        }
    }
}

#[test]
fn people_are_who_they_are() {
    let catalog = builtin();
    let run_id: RunId = "018f4a7e-5c1d-7b3a-9e2f-0123456789ab".parse().unwrap();
    let query = Query::parse(SearchType::Username, "somebody").unwrap();
    let mut pairs = Pairs::default();
    let mut bands = BTreeSet::new();
    for seed in 0..SEARCHES {
        let search = Search::new(seed);
        let results = search.results(catalog);
        let run = Findings::new(run_id, query.clone(), &results);
        let found = people(&[run], catalog.profiles());
        pairs.add(&search, &found, seed);
        bands.extend(found.people.iter().map(|person| person.band));
    }
    let Pairs { right, wrong, missed } = pairs;
    println!("{right} pairs joined rightly, {wrong} wrongly, {missed} missed");
    assert!(right > 5_000 && wrong * 100 <= right + wrong, "{right} right, {wrong} wrong");
    assert!(missed * 10 <= right + missed, "{right} right, {missed} missed");
    assert_eq!(bands.len(), 3, "{bands:?}");
}
