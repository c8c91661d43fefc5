//! What was asked and how that ended, honestly: what is no answer is not passed off as a miss.

use crate::base::text::plain;
use crate::modules::outcome::Outcome;
use crate::report::outcomes::{meaning, title};
use crate::runs::record::RunRecord;
use crate::runs::run::Coverage;

/// One outcome.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) meaning: &'static str,
    pub(super) count: u32,
    /// Those that came to no conclusion. The others are many, and the script asks for them where somebody looks.
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

/// How much of what was asked came to an answer, as a sentence. The script has the same words.
pub(super) fn answered(coverage: &Coverage) -> String {
    let asked = coverage.checked - coverage.skipped;
    if asked == 0 {
        return "No site has answered yet.".to_owned();
    }
    let percent = coverage.ratio * 100.0;
    format!("{} of {asked} sites that were asked gave an answer ({percent:.0}%).", coverage.conclusive)
}

/// All outcomes, those that nothing ended with too.
pub(super) fn parts(record: &RunRecord) -> Vec<Part> {
    Outcome::ALL.map(|outcome| part(record, outcome)).into()
}

fn part(record: &RunRecord, outcome: Outcome) -> Part {
    let modules = if outcome.is_conclusive() { Vec::new() } else { record.modules_that(outcome) };
    let modules = modules.into_iter().map(|module| Module {
        id: module.module.clone(),
        platform: plain(&module.platform).into_owned(),
        reason: module.reason.as_deref().map(|reason| plain(reason).replace('_', " ")),
    });
    Part {
        name: outcome.as_str(),
        title: title(outcome),
        meaning: meaning(outcome),
        count: record.summary.coverage.count_of(outcome),
        modules: modules.collect(),
        is_listed_by_script: outcome.is_conclusive(),
    }
}
