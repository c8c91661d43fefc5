//! The people of a run as cards.

use crate::base::text::plain;
use crate::runs::people::evidence::Band;
use crate::runs::people::person::{People, Person, PersonAccount};

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

/// An account of a person.
pub(super) struct AccountRow {
    pub(super) label: String,
    pub(super) name: Option<String>,
    pub(super) band: &'static str,
}

impl PeopleView {
    pub(super) fn new(people: &People) -> Self {
        Self {
            cards: people.people.iter().take(MOST_PEOPLE).map(card).collect(),
            more: people.people.len().saturating_sub(MOST_PEOPLE),
            alone: people.unattributed.len(),
        }
    }
}

fn card(person: &Person) -> PersonCard {
    let shown = |text: &String| plain(text).into_owned();
    let first = person.names.first().or(person.accounts.first().map(|account| &account.value));
    let (band, tone) = words(person.band);
    PersonCard {
        title: first.map(shown).unwrap_or_default(),
        band,
        tone,
        percent: format!("{:.0}%", person.score * 100.0),
        accounts: person.accounts.iter().map(row).collect(),
        emails: person.emails.iter().map(shown).collect(),
        evidence: person.evidence.iter().take(MOST_LINES).map(|it| shown(&it.text)).collect(),
        conflicts: person.conflicts.iter().take(MOST_LINES).map(|it| shown(&it.text)).collect(),
    }
}

fn row(account: &PersonAccount) -> AccountRow {
    let label = match &account.platform {
        Some(platform) => format!("{platform}: {}", account.value),
        None => account.value.clone(),
    };
    AccountRow {
        label: plain(&label).into_owned(),
        name: account.display_name.as_deref().map(|name| plain(name).into_owned()),
        band: words(account.band).0,
    }
}

/// Returns the word for a band, and the tone of its badge.
fn words(band: Band) -> (&'static str, &'static str) {
    match band {
        Band::Confirmed => ("confirmed", "good"),
        Band::Likely => ("likely", "accent"),
        Band::Possible => ("possible", "warn"),
    }
}
