//! What a run found at a glance: the facts with their sources, people, the timeline and the dossier. The web app shows the same
//! parts.

use std::collections::BTreeMap;

use askama::Template;

use super::results::thumbnail;
use crate::model::run::Thumbnails;
use crate::modules::catalog::Catalog;
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

/// The overview as HTML. A part that would be empty is omitted. Facts lead to the elements `result-ID`.
#[derive(Default, Template)]
#[template(path = "overview.html", config = "src/report/html/askama.toml")]
pub struct Overview {
    pub(in crate::report) facts: Facts,
    pub(in crate::report) people: Vec<Person>,
    pictures: Thumbnails,
    /// The timeline.
    pub timeline: Timeline,
    pub(in crate::report) dossier: Vec<Section>,
    /// Whether the dossier comes before the facts.
    dossier_first: bool,
}

impl Overview {
    /// Makes the overview for a page that shows people elsewhere.
    pub fn of(run: &RunRecord) -> Self {
        let results = run.results.iter().filter(|result| !result.is_not_mine());
        Self {
            facts: Facts::of(&run.results, run.as_of),
            timeline: Timeline::of(events(results, run.as_of)),
            dossier: sections(run),
            dossier_first: true,
            ..Self::default()
        }
    }

    /// Makes the whole overview. The catalogue has the addresses of profiles.
    pub(in crate::report) fn whole(run: &RunRecord, catalog: &Catalog) -> Self {
        let people = run.findings().map(|it| people(&[it], catalog.profiles()).people);
        Self {
            people: people.unwrap_or_default(),
            pictures: run.thumbnails.clone(),
            dossier_first: false,
            ..Self::of(run)
        }
    }

    /// Returns whether the overview has no part.
    pub fn is_empty(&self) -> bool {
        let Self { facts, people, timeline, dossier, .. } = self;
        facts.is_empty() && timeline.years.is_empty() && people.len() + dossier.len() == 0
    }

    /// Returns the first thumbnail of the accounts of a person, as a PNG in Base64.
    fn picture(&self, person: &Person) -> Option<String> {
        let mut results = person.accounts.iter().flat_map(|account| &account.results);
        results.find_map(|result| thumbnail(&self.pictures, result.result_id))
    }
}

/// The timeline of a run as HTML.
#[derive(Default, Template)]
#[template(path = "timeline.html", config = "src/report/html/askama.toml")]
pub struct Timeline {
    /// The events by year, if there are at least two.
    pub years: BTreeMap<i16, Vec<Event>>,
    /// The address of the page that lists the results, if the timeline has a separate page.
    pub list: Option<String>,
}

impl Timeline {
    fn of(events: Vec<Event>) -> Self {
        let (mut years, is_timeline) = (BTreeMap::<i16, Vec<Event>>::new(), events.len() > 1);
        for event in events.into_iter().filter(|_| is_timeline) {
            years.entry(event.day.year()).or_default().push(event);
        }
        Self { years, list: None }
    }

    /// Returns the years, each with the size of its mark, from 1 to 4, and a title.
    pub fn marks(&self) -> Vec<(i16, u32, String)> {
        let size = |count: usize| count.ilog2().min(3) + 1;
        let title = |count: usize| format!("{count} event{}", if count == 1 { "" } else { "s" });
        self.years.iter().map(|(year, events)| (*year, size(events.len()), title(events.len()))).collect()
    }

    /// Returns the number of events.
    fn events(&self) -> usize {
        self.years.values().map(Vec::len).sum()
    }

    /// Returns the most events of a year, which is the width of the bars of the years.
    fn most_events(&self) -> usize {
        self.years.values().map(Vec::len).max().unwrap_or(1)
    }
}

/// Returns the name of a category as a title.
pub fn titled(name: &str) -> String {
    let name = name.replace('_', " ");
    let mut rest = name.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// Returns the beginning of a text. A text that is cut ends with `…`.
pub(in crate::report) fn cut(text: &str, most_chars: usize) -> String {
    match text.char_indices().nth(most_chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
