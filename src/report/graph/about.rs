//! [`About`]: the texts about a run that stand in its graph.

use jiff::Timestamp;

use crate::base::clock::to_the_second;
use crate::base::ids::RunId;
use crate::model::run::Status;
use crate::modules::outcome::Outcome;
use crate::runs::record::RunRecord;

/// The texts about a run that stand in its graph: which run it is, and its coverage.
pub(in crate::report) struct About {
    pub(super) run: RunId,
    /// The start of the run, and its end or the time of this state.
    pub(super) time: (Timestamp, Timestamp),
    /// Which run it is, and whether its results are complete and real.
    pub(super) head: String,
    /// How many modules gave an answer, and which gave none.
    pub(super) coverage: String,
}

impl About {
    pub(in crate::report) fn of(run: &RunRecord) -> Self {
        let summary = &run.summary;
        let time = (summary.created_at, summary.completed_at.unwrap_or(run.as_of));
        let state = match summary.status {
            Status::Completed => "",
            Status::Running => " The search is still running.",
            Status::Failed => " The search failed.",
        };
        let simulated = if summary.simulated { " Simulated: nothing in it is real." } else { "" };
        let head = format!(
            "{} search for {}, {} to {}, run {}.{state}{simulated}",
            summary.search_type,
            summary.query,
            to_the_second(time.0),
            to_the_second(time.1),
            summary.id
        );
        Self { run: summary.id, time, head, coverage: coverage(run) }
    }
}

fn coverage(run: &RunRecord) -> String {
    let coverage = &run.summary.coverage;
    let mut text = format!("{}.", coverage.answers_text());
    if coverage.conclusive < coverage.applicable {
        text.push_str(" Nothing is known about the others.");
    }
    if let Some(cuts) = coverage.cuts_text() {
        text.push_str(&format!(" {cuts}."));
    }
    for outcome in Outcome::ALL.into_iter().filter(|outcome| !outcome.is_conclusive()) {
        let modules: Vec<String> = run
            .modules_that(outcome)
            .into_iter()
            .map(|module| match module.reason {
                Some(reason) => format!("{} ({})", module.platform, reason.as_phrase()),
                None => module.platform.clone(),
            })
            .collect();
        if !modules.is_empty() {
            text.push_str(&format!(" {}: {}.", outcome.title(), modules.join(", ")));
        }
    }
    text
}
