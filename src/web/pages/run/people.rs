//! The people of a run as cards.

use std::collections::HashSet;

use crate::base::text::plain;
use crate::report::html::initial;
use crate::runs::graph;
use crate::runs::people::evidence::Band;
use crate::runs::people::person::{People, Person, PersonAccount};
use crate::runs::pictures::avatar::Avatar;
use crate::runs::record::{Findings, ResultRef};

/// The most people of a page, and the most lines of evidence of each. Files contain all.
const MOST_PEOPLE: usize = 30;
const MOST_LINES: usize = 30;

/// The people of a run.
pub(super) struct PeopleView {
    pub(super) cards: Vec<PersonCard>,
    /// The number of people that the page leaves out.
    pub(super) more: usize,
    /// The number of accounts that nothing joins to another one.
    pub(super) alone: usize,
}

/// A person as a card.
pub(super) struct PersonCard {
    pub(super) face: Face,
    pub(super) title: String,
    pub(super) band: &'static str,
    pub(super) tone: &'static str,
    pub(super) percent: String,
    pub(super) accounts: Vec<AccountRow>,
    pub(super) emails: Vec<String>,
    /// The evidence as sentences, strongest first.
    pub(super) evidence: Vec<String>,
    pub(super) conflicts: Vec<String>,
}

/// A profile picture.
pub(super) struct Face {
    /// The address of the thumbnail, if there is one.
    pub(super) thumbnail: Option<String>,
    /// The letter that is shown otherwise.
    pub(super) letter: String,
}

/// An account of a person.
pub(super) struct AccountRow {
    pub(super) face: Face,
    pub(super) label: String,
    pub(super) name: Option<String>,
    pub(super) band: &'static str,
}

impl PeopleView {
    /// Creates the view. `root` is the path of the base URL.
    pub(super) fn new(people: &People, findings: &[Findings<'_>], root: &str) -> Self {
        let thumbnails = Thumbnails::of(findings, root);
        Self {
            cards: people.people.iter().take(MOST_PEOPLE).map(|person| thumbnails.card(person)).collect(),
            more: people.people.len().saturating_sub(MOST_PEOPLE),
            alone: people.unattributed.len(),
        }
    }
}

/// The results that have thumbnails.
struct Thumbnails<'a> {
    results: HashSet<ResultRef>,
    root: &'a str,
}

impl<'a> Thumbnails<'a> {
    fn of(findings: &[Findings<'_>], root: &'a str) -> Self {
        let of_run = |run: &Findings<'_>| {
            let run_id = run.run_id;
            let shown = run.results.iter().filter(|result| Avatar::of(&result.metadata).is_some());
            shown.map(|result| ResultRef { run_id, result_id: result.id }).collect::<Vec<_>>()
        };
        Self { results: findings.iter().flat_map(of_run).collect(), root }
    }

    fn card(&self, person: &Person) -> PersonCard {
        let shown = |text: &String| plain(text).into_owned();
        let title = plain(person.title()).into_owned();
        PersonCard {
            face: self.face(person.accounts.iter().flat_map(|account| &account.results), &title),
            title,
            band: person.band.as_str(),
            tone: tone(person.band),
            percent: format!("{:.0}%", person.score * 100.0),
            accounts: person.accounts.iter().map(|account| self.row(account)).collect(),
            emails: person.emails.iter().map(shown).collect(),
            evidence: person.evidence.iter().take(MOST_LINES).map(|it| shown(&it.text)).collect(),
            conflicts: person.conflicts.iter().take(MOST_LINES).map(|it| shown(&it.text)).collect(),
        }
    }

    fn row(&self, account: &PersonAccount) -> AccountRow {
        let label = graph::label(account.platform.as_deref(), &account.value);
        AccountRow {
            face: self.face(&account.results, &label),
            label: plain(&label).into_owned(),
            name: account.display_name.as_deref().map(|name| plain(name).into_owned()),
            band: account.band.as_str(),
        }
    }

    /// Returns the first thumbnail of these results, with a letter of the name beside it.
    fn face<'r>(&self, results: impl IntoIterator<Item = &'r ResultRef>, name: &str) -> Face {
        let result = results.into_iter().find(|result| self.results.contains(result));
        let address = |ResultRef { run_id, result_id }: &ResultRef| {
            format!("{}/app/searches/{run_id}/thumbnails/{result_id}", self.root)
        };
        Face { thumbnail: result.map(address), letter: initial(name) }
    }
}

/// Returns the tone of the badge of a band.
fn tone(band: Band) -> &'static str {
    match band {
        Band::Confirmed => "good",
        Band::Likely => "accent",
        Band::Possible => "warn",
    }
}
