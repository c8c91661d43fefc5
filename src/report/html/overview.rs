//! What a run found at a glance: the facts with their sources, people, the categories, the timeline and the dossier. The web app
//! shows the same parts.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use askama::Template;

use crate::modules::catalog::Catalog;
use crate::modules::outcome::Outcome;
use crate::report::dossier::{Section, sections};
use crate::report::facts::Facts;
use crate::report::timeline::{Event, events};
use crate::runs::people::people;
use crate::runs::people::person::Person;
use crate::runs::record::RunRecord;

/// The most facts of a kind, and the most characters of each.
const MOST_FACTS: usize = 8;
const MOST_FACT_CHARS: usize = 120;
/// The most sources that are named.
const MOST_SOURCES: usize = 6;
/// The most people, and the most reasons of each.
const MOST_PEOPLE: usize = 20;
const MOST_REASONS: usize = 30;
/// The most rows of a table, and the most characters of a cell. Files have all of them.
const MOST_ROWS: usize = 500;
const MOST_CELL_CHARS: usize = 300;
/// The length up to which a cell is not broken into lines, so that addresses and days stay whole.
const WHOLE_CHARS: usize = 16;

/// The overview as HTML. Each part is left out if it would be empty. Facts lead to the elements `result-ID`, categories to
/// `category-NAME`.
#[derive(Default, Template)]
#[template(path = "overview.html", config = "src/report/html/askama.toml")]
pub struct Overview {
    pub(in crate::report) facts: Facts,
    /// The names of the platforms by the ids of the results.
    platforms: HashMap<u32, String>,
    pub(in crate::report) people: Vec<Person>,
    categories: Vec<Category>,
    /// The events by year, if there are at least two.
    pub(in crate::report) years: Vec<(i16, Vec<Event>)>,
    pub(in crate::report) dossier: Vec<Section>,
}

/// A category that has a hit.
struct Category {
    name: String,
    hits: u32,
    asked: u32,
}

impl Overview {
    /// Makes the overview for a page that shows people and categories elsewhere.
    pub fn of(run: &RunRecord) -> Self {
        Self {
            facts: Facts::of(&run.results, run.as_of),
            platforms: run.results.iter().map(|it| (it.id, it.site().to_owned())).collect(),
            years: by_year(events(run.results.iter(), run.as_of)),
            dossier: sections(run),
            ..Self::default()
        }
    }

    /// Makes the whole overview. The catalogue has the categories of modules and the addresses of profiles.
    pub(in crate::report) fn whole(run: &RunRecord, catalog: &Catalog) -> Self {
        let people = run.findings().map(|it| people(&[it], catalog.profiles()).people);
        Self { people: people.unwrap_or_default(), categories: categories(run, catalog), ..Self::of(run) }
    }

    /// Returns whether the overview has no part.
    pub fn is_empty(&self) -> bool {
        let Self { facts, people, categories, years, dossier, .. } = self;
        facts.is_empty() && people.len() + categories.len() + years.len() + dossier.len() == 0
    }

    /// Returns results with the names of their platforms.
    pub(in crate::report) fn platforms(&self, results: &[u32]) -> Vec<(u32, &str)> {
        results.iter().filter_map(|id| Some((*id, self.platforms.get(id)?.as_str()))).collect()
    }

    /// Returns the number of events.
    fn events(&self) -> usize {
        self.years.iter().map(|(_, events)| events.len()).sum()
    }

    /// Returns the most events of a year, which is the width of the bars of the years.
    fn most_events(&self) -> usize {
        self.years.iter().map(|(_, events)| events.len()).max().unwrap_or(1)
    }

    /// Returns the width of the bars.
    fn most_asked(&self) -> u32 {
        self.categories.iter().map(|category| category.asked).max().unwrap_or(1)
    }
}

/// Returns the events by year. Returns nothing for a single event, which is no timeline.
fn by_year(events: Vec<Event>) -> Vec<(i16, Vec<Event>)> {
    if events.len() < 2 {
        return Vec::new();
    }
    let mut years: BTreeMap<i16, Vec<Event>> = BTreeMap::new();
    for event in events {
        years.entry(event.day.year()).or_default().push(event);
    }
    years.into_iter().collect()
}

/// Returns the categories with hits, those with the most hits first: how many of their modules found something, of those
/// that were asked. Returns nothing if there is only one, because a bar alone shows no difference.
fn categories(run: &RunRecord, catalog: &Catalog) -> Vec<Category> {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for module in run.modules.iter().filter(|module| module.status != Outcome::Skipped) {
        let (hits, asked) = counts.entry(category_of(catalog, &module.module)).or_default();
        *hits += u32::from(module.status == Outcome::Hit);
        *asked += 1;
    }
    let counts = counts.into_iter().filter(|(_, (hits, _))| *hits > 0);
    let mut found: Vec<Category> =
        counts.map(|(name, (hits, asked))| Category { name: name.to_owned(), hits, asked }).collect();
    found.sort_by_key(|category| Reverse(category.hits));
    if found.len() > 1 { found } else { Vec::new() }
}

/// Returns the category of a module; `other` if the catalogue does not have the module any more.
pub(super) fn category_of<'c>(catalog: &'c Catalog, module: &str) -> &'c str {
    catalog.get(module).map_or("other", |module| module.entry().category.as_str())
}

/// Returns the name of a category as a title.
pub fn titled(name: &str) -> String {
    let name = name.replace('_', " ");
    let mut rest = name.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Returns the beginning of a text. A text that is cut ends with `…`.
fn cut(text: &str, most_chars: usize) -> String {
    match text.char_indices().nth(most_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
