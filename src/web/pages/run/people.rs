//! The people of a run as cards.

use std::collections::HashSet;
use std::slice;

use crate::runs::graph;
use crate::runs::people::evidence::Band;
use crate::runs::people::person::{People, PersonAccount};
use crate::runs::pictures::avatar::Avatar;
use crate::runs::record::{Findings, ResultRef};

/// The most people of a page, and the most lines of evidence of each. Files contain all.
pub(super) const MOST_PEOPLE: usize = 30;
pub(super) const MOST_LINES: usize = 30;

/// The people of a run, and the results that have thumbnails.
pub(super) struct PeopleView {
    pub(super) found: People,
    pictures: HashSet<ResultRef>,
}

impl PeopleView {
    pub(super) fn new(found: People, findings: &[Findings<'_>]) -> Self {
        let of_run = |run: &Findings<'_>| {
            let run_id = run.run_id;
            let shown = run.results.iter().filter(|result| Avatar::of(&result.metadata).is_some());
            shown.map(|result| ResultRef { run_id, result_id: result.id }).collect::<Vec<_>>()
        };
        Self { found, pictures: findings.iter().flat_map(of_run).collect() }
    }

    /// Returns the path of the first thumbnail of these accounts.
    pub(super) fn picture(&self, accounts: &[PersonAccount]) -> Option<String> {
        let mut results = accounts.iter().flat_map(|account| &account.results);
        let ResultRef { run_id, result_id } = results.find(|result| self.pictures.contains(result))?;
        Some(format!("/app/searches/{run_id}/thumbnails/{result_id}"))
    }
}

/// Returns an account as a list.
pub(super) fn one(account: &PersonAccount) -> &[PersonAccount] {
    slice::from_ref(account)
}

pub(super) fn account_label(account: &PersonAccount) -> String {
    graph::label(account.platform.as_deref(), &account.value)
}

/// Returns the tone of the badge of a band.
pub(super) fn tone(band: Band) -> &'static str {
    match band {
        Band::Confirmed => "good",
        Band::Likely => "accent",
        Band::Possible => "warn",
    }
}
