//! [`Facts`]: what the results of a run say about who they belong to, each with its sources. Nothing is merged but
//! equal texts, so two names may be those of two people.

use std::collections::HashMap;

use jiff::Timestamp;
use url::Url;

use super::timeline::{ACCOUNTS, Event, events};
use crate::model::run::ResultRecord;
use crate::runs::leads::links::texts;

/// The lists: the name, the members with the texts, and the form in which two texts are the same.
type List = (&'static str, &'static [&'static str], fn(&str) -> String);
const LISTS: [List; 4] = [
    ("Names", &["display_name", "real_name"], str::to_lowercase),
    ("Places", &["location", "city", "country"], str::to_lowercase),
    ("Websites", &["website", "links", "verified_links"], site_key),
    ("Emails", &["email", "emails"], str::to_lowercase),
];

/// A text with the results that state it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The text, as its first source has it.
    pub text: String,
    /// The ids of the results in order, each with its platform.
    pub results: Vec<(u32, String)>,
}

/// What the results of a run say about who they belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The lists that are not empty, with their names. In each the text with the most sources is the first.
    pub lists: Vec<(&'static str, Vec<Fact>)>,
    /// The account that was created first.
    pub oldest: Option<Event>,
    /// The account that was created last, if it is another one.
    pub newest: Option<Event>,
}

impl Facts {
    /// Returns the facts in these results, without those that are not mine.
    pub fn of(results: &[ResultRecord], now: Timestamp) -> Self {
        let results: Vec<&ResultRecord> = results.iter().filter(|it| !it.is_not_mine()).collect();
        let mut created = events(results.iter().copied(), now);
        created.retain(|event| event.title == ACCOUNTS);
        let lists = LISTS.iter().map(|(name, members, key)| (*name, facts(&results, members, key)));
        Self {
            lists: lists.filter(|(_, facts)| !facts.is_empty()).collect(),
            newest: if created.len() > 1 { created.pop() } else { None },
            oldest: created.into_iter().next(),
        }
    }

    /// Returns whether the results say nothing.
    pub fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.oldest.is_none()
    }
}

/// Returns the texts of these members. Texts with the same key are one.
fn facts(results: &[&ResultRecord], members: &[&str], key: impl Fn(&str) -> String) -> Vec<Fact> {
    let mut found: Vec<Fact> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for result in results {
        let texts = members.iter().filter_map(|name| result.metadata.get(*name)).flat_map(texts);
        for text in texts.map(str::trim).filter(|text| !text.is_empty()) {
            let place = *places.entry(key(text)).or_insert_with(|| {
                found.push(Fact { text: text.to_owned(), results: Vec::new() });
                found.len() - 1
            });
            let known = &mut found[place].results;
            if known.last().is_none_or(|(id, _)| *id != result.id) {
                known.push((result.id, result.site().to_owned()));
            }
        }
    }
    found.sort_by_key(|fact| std::cmp::Reverse(fact.results.len()));
    found
}

/// Returns an address without its scheme, `www.` and a final slash.
fn site_key(address: &str) -> String {
    let Ok(url) = Url::parse(address) else { return address.to_lowercase() };
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    format!("{host}{}", url.path().trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::entity::tests::record;
    use serde_json::{Value, json};

    fn result(id: u32, metadata: &Value) -> ResultRecord {
        record(id, "account", "ana", metadata)
    }

    #[test]
    fn each_fact_has_its_sources_and_the_most_stated_comes_first() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let results = [
            result(1, &json!({"display_name": "Ana", "location": " Lisbon ", "created_at": "2012-05-06"})),
            result(
                2,
                &json!({"display_name": "Ana R.", "created_at": "2009-01-02T03:04:05Z", "website": "http://ana.example/"}),
            ),
            result(
                3,
                &json!({"display_name": "ANA R.", "real_name": "Ana R.", "created_at": "no date", "links": ["https://www.ana.example", 7, ""]}),
            ),
        ];
        let facts = Facts::of(&results, now);
        let fact = |text: &str, results: &[u32]| Fact {
            text: text.to_owned(),
            results: results.iter().map(|id| (*id, format!("Site {id}"))).collect(),
        };
        let lists = [
            ("Names", vec![fact("Ana R.", &[2, 3]), fact("Ana", &[1])]),
            ("Places", vec![fact("Lisbon", &[1])]),
            ("Websites", vec![fact("http://ana.example/", &[2, 3])]),
        ];
        assert_eq!(facts.lists, lists);
        let created = [facts.oldest, facts.newest].map(|it| it.map(|it| (it.day.to_string(), it.result)));
        assert_eq!(created, [Some(("2009-01-02".into(), 2)), Some(("2012-05-06".into(), 1))]);
        assert_eq!(Facts::of(&[], now), Facts::default());
    }
}
