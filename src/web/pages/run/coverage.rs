//! The coverage of a run: the modules by outcome. A module without an answer is not presented as a miss.

use crate::base::text::plain;
use crate::model::coverage::Coverage;
use crate::modules::outcome::Outcome;
use crate::modules::reason::Reason;
use crate::runs::record::RunRecord;

/// The modules with one outcome.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) meaning: &'static str,
    pub(super) count: u32,
    /// The modules that gave no answer. The script requests the others on demand, because there are many of them.
    pub(super) modules: Vec<Module>,
    pub(super) is_listed_by_script: bool,
}

/// A module in a list.
#[derive(Debug)]
pub(super) struct Module {
    pub(super) id: String,
    pub(super) platform: String,
    pub(super) reason: Option<String>,
}

/// Returns a sentence about the share of modules that gave an answer, and one about those that were cut. The script
/// has the same sentences.
pub(super) fn answered(coverage: &Coverage) -> String {
    let applicable = coverage.applicable;
    if applicable == 0 {
        return "No site has answered yet.".to_owned();
    }
    let percent = coverage.ratio * 100.0;
    let answered = format!("{} of {applicable} sites gave an answer ({percent:.0}%).", coverage.conclusive);
    match coverage.cuts_text() {
        Some(cuts) => format!("{answered} {cuts}."),
        None => answered,
    }
}

/// Returns all outcomes, including those without modules.
pub(super) fn parts(record: &RunRecord) -> Vec<Part> {
    Outcome::ALL.map(|outcome| part(record, outcome)).into()
}

fn part(record: &RunRecord, outcome: Outcome) -> Part {
    let modules = if outcome.is_conclusive() { Vec::new() } else { record.modules_that(outcome) };
    let modules = modules.into_iter().map(|module| Module {
        id: module.module.clone(),
        platform: plain(&module.platform).into_owned(),
        reason: module.reason.map(Reason::as_phrase),
    });
    Part {
        name: outcome.as_str(),
        title: outcome.title(),
        meaning: outcome.meaning(),
        count: record.summary.coverage.count_of(outcome),
        modules: modules.collect(),
        is_listed_by_script: outcome.is_conclusive(),
    }
}
