//! The progress of a search, its summary and its exit code.

use std::ops::ControlFlow;

use crate::base::text::plain;
use crate::cli::bar::Bar;
use crate::cli::exit::{Exit, Failure};
use crate::modules::outcome::Outcome;
use crate::runs::record::RunRecord;
use crate::runs::run::{Progress, RunSummary, Status};

/// Breaks a search off if writing has failed, and keeps the failure.
pub(super) fn go_on(shown: Result<(), Failure>, broken: &mut Option<Failure>) -> ControlFlow<()> {
    match shown {
        Ok(()) => ControlFlow::Continue(()),
        Err(failure) => {
            *broken = Some(failure);
            ControlFlow::Break(())
        }
    }
}

/// Shows the progress of a search. `before` is a text such as `3 of 20, `.
pub(super) fn show(bar: &Bar, progress: Progress, before: &str) {
    let hits = format!("{before}{} hits", progress.modules_with_hits);
    bar.show(progress.modules_completed.into(), progress.modules_total.into(), hits);
}

pub(super) fn exit_of(run: &RunSummary) -> Exit {
    match (run.status, run.total_results) {
        (Status::Completed, 0) => Exit::NothingFound,
        (Status::Completed, _) => Exit::Done,
        (Status::Running | Status::Failed, _) => Exit::Failed,
    }
}

pub(super) fn summary(record: &RunRecord) -> String {
    let run = &record.summary;
    let coverage = &run.coverage;
    let mut text = format!(
        "{} results; {} of {} modules gave an answer",
        run.total_results,
        coverage.conclusive(),
        coverage.applicable()
    );
    let others: Vec<String> = Outcome::ALL
        .into_iter()
        .map(|outcome| (outcome, coverage.count_of(outcome)))
        .filter(|(outcome, count)| !outcome.is_conclusive() && *count > 0)
        .map(|(outcome, count)| format!("{count} {}", outcome.title().to_lowercase()))
        .collect();
    if !others.is_empty() {
        text = format!("{text} ({})", others.join(", "));
    }
    if let Some(cuts) = coverage.cuts_text() {
        text = format!("{text}; {cuts}");
    }
    if let Some(error) = &run.error {
        text = format!("error: the search failed: {}: {text}", plain(&error.message));
    }
    if run.simulated { format!("{text}; SIMULATED: nothing here is real") } else { text }
}
