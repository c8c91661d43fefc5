//! The structured content of tools and resources: what the service states, apart from what third parties wrote.
//!
//! `coverage` is computed from counts alone. Text of third parties stands only in the members that `untrusted` names, as
//! strings of a JSON document, so it cannot change what an answer says about coverage.

use serde::Serialize;
use serde_json::{Value, json};

use crate::api::context::Api;
use crate::api::error::ApiError;
use crate::base::text::visible;
use crate::model::diff::Diff;
use crate::model::run::{RunSummary, Status};
use crate::modules::outcome::Outcome;
use crate::report::body::RunHead;
use crate::runs::record::RunRecord;

/// The most modules without a conclusion that an answer lists.
const MOST_UNANSWERED: usize = 200;
/// The most leads that an answer lists.
const MOST_LEADS: usize = 100;

/// A part of the results of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// The number of results that are left out at the beginning.
    pub(super) offset: usize,
    /// The most results.
    pub(super) limit: usize,
}

impl Default for Part {
    fn default() -> Self {
        Self { offset: 0, limit: 50 }
    }
}

/// Returns a run with its coverage, some of its results, and its leads.
pub(super) fn run(api: &Api, record: RunRecord, part: Part) -> Result<Value, ApiError> {
    let mut answer = json!({
        "coverage": coverage(&record.summary),
        "run": to_json(&RunHead::from(&record.summary))?,
    });
    let shown = record.results.iter().skip(part.offset).take(part.limit);
    let results = shown.map(to_json).collect::<Result<Vec<_>, _>>()?;
    answer["results_omitted"] = json!(record.results.len() - results.len());
    answer["results"] = results.into();
    let unanswered = record.modules.iter().filter(|module| !module.status.is_conclusive());
    let all: Vec<Value> = unanswered
        .map(|module| {
            json!({"module": module.module, "platform": module.platform, "status": module.status, "reason": module.reason})
        })
        .collect();
    answer["unanswered_omitted"] = json!(all.len().saturating_sub(MOST_UNANSWERED));
    answer["unanswered"] = all.into_iter().take(MOST_UNANSWERED).collect();
    let family = api.runs.families.of(record)?;
    let leads = api.runs.families.leads(&family).all;
    answer["leads_omitted"] = json!(leads.len().saturating_sub(MOST_LEADS));
    answer["leads"] = leads.iter().take(MOST_LEADS).map(to_json).collect::<Result<Vec<_>, _>>()?.into();
    Ok(marked(answer, &["results", "leads"]))
}

/// Returns the people of a run with its coverage.
pub(super) fn people(summary: &RunSummary, people: &impl Serialize) -> Result<Value, ApiError> {
    let mut answer = to_json(people)?;
    answer["coverage"] = coverage(summary);
    Ok(marked(answer, &["people", "unattributed"]))
}

/// Returns what changed between two runs, with the coverage of both.
pub(super) fn diff(before: &RunSummary, after: &RunSummary, diff: &Diff) -> Result<Value, ApiError> {
    let sides = [coverage(before), coverage(after)];
    let is_complete = sides.iter().all(|side| side["is_complete"] == true);
    let statement = format!(
        "{} were compared, {} were not. What is `unknown` was not decided by both runs: it must be reported neither as added nor as removed.",
        modules(diff.modules_compared),
        diff.modules_not_compared,
    );
    let [before, after] = sides;
    let coverage =
        json!({"statement": statement, "is_complete": is_complete, "before": before, "after": after});
    Ok(marked(json!({"coverage": coverage, "diff": to_json(diff)?}), &["diff"]))
}

/// Returns what a run can say, and what it cannot, from its counts alone.
pub(super) fn coverage(run: &RunSummary) -> Value {
    let counts = &run.coverage;
    let is_complete =
        run.status == Status::Completed && counts.checked() > 0 && counts.conclusive() == counts.checked();
    json!({"statement": statement(run), "is_complete": is_complete, "counts": counts})
}

fn statement(run: &RunSummary) -> String {
    let counts = &run.coverage;
    let mut text = match run.status {
        Status::Running => format!(
            "The search is still running: {} of {} have ended. More results may follow.",
            run.progress.modules_completed,
            modules(run.progress.modules_total as usize)
        ),
        Status::Completed if run.stopped_at.is_some() => "The search was stopped before its end.".to_owned(),
        Status::Completed => "The search has ended.".to_owned(),
        Status::Failed => {
            let code = run.error.as_ref().map_or("unknown", |error| error.code.as_str());
            format!("The search failed ({code}), so its results prove nothing about what is absent.")
        }
    };
    text.push_str(&format!(
        " {} of {} that can take the query came to a conclusion: {} found something, {} found nothing.",
        counts.conclusive(),
        modules(counts.applicable() as usize),
        counts.count_of(Outcome::Hit),
        counts.count_of(Outcome::Miss)
    ));
    if let Some(others) = counts.others_text() {
        text.push_str(&format!(
            " The others gave no answer ({others}): whether something exists there is unknown, and must not be reported as absent."
        ));
    }
    if let Some(cuts) = counts.cuts_text() {
        text.push_str(&format!(" {cuts}."));
    }
    text.push_str(" A module that found nothing does not prove that no account exists.");
    if run.simulated {
        text.push_str(" The web is simulated: no result is real.");
    }
    text
}

fn modules(count: usize) -> String {
    if count == 1 { "1 module".to_owned() } else { format!("{count} modules") }
}

/// Marks the members that contain text of third parties, and makes that text visible as a whole.
fn marked(mut answer: Value, untrusted: &[&str]) -> Value {
    for name in untrusted {
        if let Some(member) = answer.get_mut(*name) {
            make_visible(member);
        }
    }
    answer["untrusted"] = json!(untrusted);
    answer
}

fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(shown) = visible(text) {
                *text = shown;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_visible),
        Value::Object(members) => members.values_mut().for_each(make_visible),
        _ => {}
    }
}

pub(super) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<Value, ApiError> {
    // Cannot fail: the types have only string keys and finite numbers.
    serde_json::to_value(value).map_err(ApiError::internal)
}
