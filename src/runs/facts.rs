//! [`Facts`]: what the results of a run say about who they belong to, each with its sources. Nothing is merged but
//! equal texts, so two names may be those of two people.

use std::collections::HashMap;

use jiff::civil::Date;
use serde_json::Value;
use url::Url;

use crate::model::run::ResultRecord;

const NAMES: &[&str] = &["display_name", "real_name"];
const PLACES: &[&str] = &["location", "city", "country"];
const SITES: &[&str] = &["website", "links", "verified_links"];
const EMAILS: &[&str] = &["email", "emails"];

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

/// What the results of a run say about who they belong to. In each list the text with the most sources is the first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Names of people.
    pub names: Vec<Fact>,
    /// Places, in the words of the profiles.
    pub places: Vec<Fact>,
    /// Web sites.
    pub sites: Vec<Fact>,
    /// Email addresses.
    pub emails: Vec<Fact>,
    /// The account that was created first.
    pub oldest: Option<Created>,
    /// The account that was created last, if it is another one.
    pub newest: Option<Created>,
}

impl Facts {
    /// Returns the facts in these results, without those that are marked as results of another person.
    pub fn of(results: &[ResultRecord]) -> Self {
        let mut created: Vec<Created> =
            results.iter().filter(|result| !result.is_of_another_person()).filter_map(created).collect();
        created.sort_by(|a, b| (&a.day, a.result).cmp(&(&b.day, b.result)));
        Self {
            names: facts(results, NAMES, str::to_lowercase),
            places: facts(results, PLACES, str::to_lowercase),
            sites: facts(results, SITES, site_key),
            emails: facts(results, EMAILS, str::to_lowercase),
            newest: (created.len() > 1).then(|| created.last().cloned()).flatten(),
            oldest: created.into_iter().next(),
        }
    }

    /// Returns whether the results say nothing.
    pub fn is_empty(&self) -> bool {
        self.lists().next().is_none() && self.oldest.is_none()
    }

    /// Returns the lists that are not empty, with their names.
    pub fn lists(&self) -> impl Iterator<Item = (&'static str, &[Fact])> {
        let lists = [
            ("Names", &self.names),
            ("Places", &self.places),
            ("Websites", &self.sites),
            ("Emails", &self.emails),
        ];
        lists.into_iter().map(|(name, facts)| (name, facts.as_slice())).filter(|(_, facts)| !facts.is_empty())
    }
}

/// Returns the texts of these members. Texts with the same key are one.
fn facts(results: &[ResultRecord], members: &[&str], key: impl Fn(&str) -> String) -> Vec<Fact> {
    let mut found: Vec<Fact> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for result in results.iter().filter(|result| !result.is_of_another_person()) {
        for text in members.iter().filter_map(|name| result.metadata.get(*name)).flat_map(texts) {
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

/// Returns the text of a member, or all texts of a list.
fn texts(value: &Value) -> Vec<&str> {
    let all: Vec<&str> = match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    all.into_iter().map(str::trim).filter(|text| !text.is_empty()).collect()
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
    use serde_json::json;

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
        assert_eq!(facts.names, [fact("Ana R.", &[2, 3]), fact("Ana", &[1])]);
        assert_eq!(facts.places, [fact("Lisbon", &[1])]);
        assert_eq!(facts.sites, [fact("http://ana.example/", &[2, 3])]);
        let created = |day: &str, result: u32| {
            Some(Created { day: day.to_owned(), result, platform: format!("Site {result}") })
        };
        assert_eq!(
            (facts.oldest.clone(), facts.newest.clone()),
            (created("2009-01-02", 2), created("2012-05-06", 1))
        );
        assert_eq!(facts.lists().map(|(name, _)| name).collect::<Vec<_>>(), ["Names", "Places", "Websites"]);
        assert_eq!(Facts::of(&[]), Facts::default());
    }
}
