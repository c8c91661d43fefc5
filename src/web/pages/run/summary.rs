//! What the results of a run say together, each with the results that say it.

use std::collections::HashMap;

use crate::base::text::plain;
use crate::report::html::web_address;
use crate::runs::facts::{Created, Fact, Facts};
use crate::runs::run::ResultRecord;

/// The most facts of a kind, and the most sources of a fact, that the page shows.
const MOST_FACTS: usize = 5;
const MOST_SOURCES: usize = 3;
/// The most characters of a fact.
const MOST_CHARS: usize = 120;

/// The facts of one kind.
pub(super) struct FactList {
    pub(super) name: &'static str,
    pub(super) facts: Vec<FactRow>,
    /// The number of facts that are left out.
    pub(super) more: usize,
}

/// A fact with its sources.
pub(super) struct FactRow {
    pub(super) text: String,
    /// The link of the fact, if it is a web address.
    pub(super) href: Option<String>,
    /// The results that state it, with their platforms.
    pub(super) sources: Vec<(u32, String)>,
    /// The number of sources that are left out.
    pub(super) more: usize,
}

/// Returns the facts in the results of a run, by kind.
pub(super) fn facts(results: &[ResultRecord]) -> Vec<FactList> {
    let platforms: HashMap<u32, &str> = results
        .iter()
        .map(|result| (result.id, result.platform.as_deref().unwrap_or(&result.source)))
        .collect();
    let facts = Facts::of(results);
    let mut lists: Vec<FactList> = facts
        .lists()
        .map(|(name, facts)| FactList {
            name,
            facts: facts.iter().take(MOST_FACTS).map(|fact| row(fact, &platforms)).collect(),
            more: facts.len().saturating_sub(MOST_FACTS),
        })
        .collect();
    let accounts = [("oldest", &facts.oldest), ("newest", &facts.newest)];
    let accounts = accounts.into_iter().filter_map(|(word, created)| Some(account(word, created.as_ref()?)));
    let accounts: Vec<FactRow> = accounts.collect();
    if !accounts.is_empty() {
        lists.push(FactList { name: "Accounts", facts: accounts, more: 0 });
    }
    lists
}

fn row(fact: &Fact, platforms: &HashMap<u32, &str>) -> FactRow {
    let sources = fact
        .results
        .iter()
        .take(MOST_SOURCES)
        .filter_map(|id| Some((*id, plain(platforms.get(id)?).into_owned())));
    FactRow {
        text: plain(&fact.text).chars().take(MOST_CHARS).collect(),
        href: web_address(&fact.text).map(String::from),
        sources: sources.collect(),
        more: fact.results.len().saturating_sub(MOST_SOURCES),
    }
}

fn account(word: &str, created: &Created) -> FactRow {
    let sources = vec![(created.result, plain(&created.platform).into_owned())];
    FactRow { text: format!("{word} {}", created.day), href: None, sources, more: 0 }
}
