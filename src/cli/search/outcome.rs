//! The progress of a search, its summary and its exit code.

use crate::base::text::plain;
use crate::cli::bar::Bar;
use crate::cli::exit::Exit;
use crate::model::run::{ModuleReport, Progress, Status};
use crate::modules::reason::Reason;
use crate::runs::record::RunRecord;

/// Shows the progress of a search. `before` is a text such as `3 of 20, `.
pub(super) fn show(bar: &Bar, progress: Progress, before: &str) {
    let count = progress.modules_with_hits;
    let hits = format!("{before}{count} {}", if count == 1 { "hit" } else { "hits" });
    bar.show(progress.modules_completed.into(), progress.modules_total.into(), &hits);
}

pub(super) fn exit_of(record: &RunRecord) -> Exit {
    let run = &record.summary;
    match (run.status, run.total_results) {
        _ if no_site_takes_it(record) => Exit::NothingFound,
        (Status::Completed, 0) => Exit::NothingFound,
        (Status::Completed, _) => Exit::Done,
        (Status::Running | Status::Failed, _) => Exit::Failed,
    }
}

pub(super) fn summary(record: &RunRecord) -> String {
    let run = &record.summary;
    let coverage = &run.coverage;
    let all = run.total_results;
    let results = if all == 1 { "result" } else { "results" };
    let mut text = format!("{all} {results}; {}", coverage.answers_text());
    if let Some(others) = coverage.others_text() {
        text = format!("{text} ({others})");
    }
    if let Some(cuts) = coverage.cuts_text() {
        text = format!("{text}; {cuts}");
    }
    if no_site_takes_it(record) {
        let all = coverage.checked;
        text = format!("0 results; none of {all} modules takes such names, so nothing was asked");
    } else if let Some(error) = &run.error {
        text = format!("error: the search failed: {}: {text}", plain(&error.message));
        text.extend(advice(record));
    }
    let others = refusing(record);
    let all = coverage.checked;
    // Some sites refuse almost any name, which is not worth a word.
    if others > all / 2 && others < all {
        text = format!("{text}; only {} of {all} modules take such names", all - others);
    }
    if run.simulated { format!("{text}; SIMULATED: nothing here is real") } else { text }
}

/// Returns how many modules do not take the query, such as a name in Cyrillic letters.
fn refusing(record: &RunRecord) -> u32 {
    count(record, &[Reason::Script, Reason::NotAccepted])
}

fn no_site_takes_it(record: &RunRecord) -> bool {
    let all = record.summary.coverage.checked;
    all > 0 && refusing(record) == all
}

fn count(record: &RunRecord, reasons: &[Reason]) -> u32 {
    let has_one = |module: &&ModuleReport| module.reason.is_some_and(|reason| reasons.contains(&reason));
    u32::try_from(record.modules.iter().filter(has_one).count()).unwrap_or(u32::MAX)
}

/// Returns the commonest reason for which no module gave an answer, and what to do.
fn advice(record: &RunRecord) -> Option<String> {
    const NAMES: &[Reason] = &[Reason::Dns, Reason::NoResolver, Reason::TimeoutResolve];
    const CONNECTIONS: &[Reason] = &[Reason::Connect, Reason::NoNetwork, Reason::TimeoutConnect];
    let named = [("no host name could be resolved", NAMES), ("no host could be reached", CONNECTIONS)];
    let (failed, (what, _)) = named.map(|kind| (count(record, kind.1), kind)).into_iter().max()?;
    (record.summary.coverage.conclusive == 0 && failed > 0).then(|| {
        format!(
            "\n{what} ({failed} of {} modules): is this machine online, and does it need a proxy \
             (--outbound-proxy, with socks5h:// or httph:// if names are known only there)?",
            record.modules.len()
        )
    })
}
