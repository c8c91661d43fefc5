//! The page of what changed between two runs, and that of the searches that a run can be compared with.

use std::borrow::Cow;
use std::sync::Arc;

use askama::Template;
use serde_json::Value;

use super::find;
use crate::model::diff::{Diff, Difference, RunSide, Undecided};
use crate::model::entity::identified::web_address;
use crate::model::refusal::Code;
use crate::model::run::RunSummary;
use crate::modules::catalog::Catalog;
use crate::report::html::titled;
use crate::web::{Answer, Frame, Moment, Visit, Web, WebError, render};

/// The most results of one kind on a page, and the number of searches that a run can be compared with.
const MOST_ROWS: usize = 60;
const MOST_OTHERS: usize = 100;
/// The most members and modules of one result, and the most characters of a value.
pub(in crate::web::pages) const MOST_DETAILS: usize = 8;
const MOST_CHARS: usize = 200;

#[derive(Template)]
#[template(path = "diff.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    earlier: RunSummary,
    run: RunSummary,
    diff: Diff,
    catalog: Arc<Catalog>,
}

impl Page {
    /// Says why a module leaves a difference unknown.
    fn reason(&self, undecided: &Undecided) -> String {
        let Undecided { module, cause, .. } = undecided;
        let run = if undecided.run == RunSide::Before { "earlier" } else { "later" };
        let why = undecided.reason.map(|reason| format!(" ({})", reason.as_phrase())).unwrap_or_default();
        let found = self.catalog.get(module);
        let platform = found.map_or(module.as_str(), |module| module.platform());
        format!("{platform} {} in the {run} search{why}", cause.as_phrase())
    }

    /// Returns the kinds of differences, each with what it means.
    fn parts(&self) -> [(&'static str, &'static str, &[Difference]); 4] {
        let Diff { added, removed, changed, unknown, .. } = &self.diff;
        [
            ("added", "The sites had none of these before.", added),
            ("removed", "The sites were asked again and do not have these any more.", removed),
            ("changed", "Both searches found these, with other data.", changed),
            ("unknown", "The searches do not prove whether these have changed.", unknown),
        ]
    }
}

#[derive(Template)]
#[template(path = "compare.html", config = "src/web/askama.toml")]
struct ComparePage {
    frame: Frame,
    run: RunSummary,
    others: Vec<RunSummary>,
}

impl ComparePage {
    /// Returns the earlier and the later of the run and another one.
    fn in_order<'r>(&'r self, other: &'r RunSummary) -> [&'r RunSummary; 2] {
        let is_older = (other.created_at, other.id) < (self.run.created_at, self.run.id);
        if is_older { [other, &self.run] } else { [&self.run, other] }
    }
}

/// Handles `GET /app/searches/{run_id}/diff/{other}`: shows what changed from the first run to the other one.
///
/// # Errors
/// Returns 404 for an unknown run, 409 if the runs cannot be compared, 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let runs = &web.runs;
    let before = runs.record(find(web, &visit, "run_id")?)?;
    let after = runs.record(find(web, &visit, "other")?)?;
    let diff = web.diff(&before, &after).map_err(|refusal| match refusal.code {
        Code::RunNotEnded | Code::RunsDiffer => {
            let text = "Only two searches for the same query that have ended can be compared.";
            WebError::new(409, "These searches cannot be compared", text)
        }
        _ => refusal.into(),
    })?;
    let (earlier, run) = (before.summary.clone(), after.summary.clone());
    render(&Page { frame: visit.frame, earlier, run, diff, catalog: runs.catalog() })
}

/// Handles `GET /app/searches/{run_id}/compare`: lists the searches for the same query that have ended.
///
/// # Errors
/// Returns 404 for an unknown run, 503 if the store is unavailable.
pub(in crate::web) fn compare(web: &Arc<Web>, visit: Visit) -> Answer {
    let run = find(web, &visit, "run_id")?;
    let others = web.runs.comparable(&run, None, MOST_OTHERS)?;
    render(&ComparePage { frame: visit.frame, run, others })
}

/// Returns the link of a result that differs.
pub(in crate::web::pages) fn href(difference: &Difference) -> Option<String> {
    let address = difference.profile_url.as_deref().or(difference.value.as_deref());
    address.and_then(web_address).map(String::from)
}

/// Returns the beginning of a value of the metadata as text.
pub(in crate::web::pages) fn shown(value: &Value) -> String {
    let text = match value {
        Value::Null => Cow::from("none"),
        Value::String(text) => text.into(),
        other => other.to_string().into(),
    };
    let start: String = text.chars().take(MOST_CHARS).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}
