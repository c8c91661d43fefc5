//! [`Facts`]: what the results of a run say about who they belong to, each with its sources. Nothing is merged but
//! equal texts, so two names may be those of two people.

use std::collections::HashMap;

use jiff::civil::Date;
use url::Url;

use super::leads::links::texts;
use crate::model::run::ResultRecord;

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
    /// The ids of the results, in order.
    pub results: Vec<u32>,
}

/// The day on which an account was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The day, as in `2011-03-25`.
    pub day: String,
    /// The id of the result.
    pub result: u32,
    /// The name of the platform.
    pub platform: String,
}

/// What the results of a run say about who they belong to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The lists that are not empty, with their names. In each the text with the most sources is the first.
    pub lists: Vec<(&'static str, Vec<Fact>)>,
    /// The account that was created first.
    pub oldest: Option<Created>,
    /// The account that was created last, if it is another one.
    pub newest: Option<Created>,
}

impl Facts {
    /// Returns the facts in these results, without those that are marked as results of another person.
    pub fn of(results: &[ResultRecord]) -> Self {
        let results: Vec<&ResultRecord> = results.iter().filter(|it| !it.is_of_another_person()).collect();
        let mut created: Vec<Created> = results.iter().filter_map(|result| created(result)).collect();
        created.sort_by(|a, b| (&a.day, a.result).cmp(&(&b.day, b.result)));
        let lists = LISTS.iter().map(|(name, members, key)| (*name, facts(&results, members, key)));
        Self {
            lists: lists.filter(|(_, facts)| !facts.is_empty()).collect(),
            newest: (created.len() > 1).then(|| created.last().cloned()).flatten(),
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
            if known.last() != Some(&result.id) {
                known.push(result.id);
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

fn created(result: &ResultRecord) -> Option<Created> {
    let at = result.metadata.get("created_at")?.as_str()?;
    let day = at.get(..10).filter(|day| day.parse::<Date>().is_ok())?;
    let platform = result.platform.as_deref().unwrap_or(&result.source);
    Some(Created { day: day.to_owned(), result: result.id, platform: platform.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn result(id: u32, metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": id, "type": "account", "entity_type": "account", "platform": format!("Site {id}"), "value": "ana",
            "confidence": 0.9, "source": "site", "metadata": metadata, "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    #[test]
    fn each_fact_has_its_sources_and_the_most_stated_comes_first() {
        let facts = Facts::of(&[
            result(1, &json!({"display_name": "Ana", "location": " Lisbon ", "created_at": "2012-05-06"})),
            result(
                2,
                &json!({"display_name": "Ana R.", "created_at": "2009-01-02T03:04:05Z", "website": "http://ana.example/"}),
            ),
            result(
                3,
                &json!({"display_name": "ANA R.", "real_name": "Ana R.", "created_at": "no date", "links": ["https://www.ana.example", 7, ""]}),
            ),
        ]);
        let fact = |text: &str, results: &[u32]| Fact { text: text.to_owned(), results: results.to_vec() };
        let lists = [
            ("Names", vec![fact("Ana R.", &[2, 3]), fact("Ana", &[1])]),
            ("Places", vec![fact("Lisbon", &[1])]),
            ("Websites", vec![fact("http://ana.example/", &[2, 3])]),
        ];
        assert_eq!(facts.lists, lists);
        let created = |day: &str, result: u32| {
            Some(Created { day: day.to_owned(), result, platform: format!("Site {result}") })
        };
        assert_eq!(
            (facts.oldest.clone(), facts.newest.clone()),
            (created("2009-01-02", 2), created("2012-05-06", 1))
        );
        assert_eq!(Facts::of(&[]), Facts::default());
    }
}
