//! Waiting for the end of a run, with notifications about its progress.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use crate::api::context::Api;
use crate::api::error::ApiError;
use crate::model::run::{Progress, Status};
use crate::runs::service::Found;

/// The longest time between two looks at the client: whether it has cancelled, and whether it gets news.
const STEP: Duration = Duration::from_millis(500);

/// Waits until a run ends, for as long as a request may wait. Sends its progress if the request has a token for it.
/// Returns `None` if the client is gone; the run continues then.
pub(super) fn wait(
    api: &Api,
    mut found: Found,
    token: Option<&Value>,
    client: &mut dyn Client,
) -> Result<Option<Found>, ApiError> {
    let until = Instant::now() + api.config.sync_wait;
    let mut told = None;
    loop {
        if client.is_gone() {
            return Ok(None);
        }
        let (status, progress) = state(&found);
        // The progress of a notification must be more than that of the one before.
        if let Some(token) = token
            && told.is_none_or(|told| progress.modules_completed > told)
        {
            client.notify(&notification(token, &progress));
            told = Some(progress.modules_completed);
        }
        if status.is_terminal() || Instant::now() >= until {
            return Ok(Some(found));
        }
        let step = (Instant::now() + STEP).min(until);
        found = api.runs.reader.wait_for_end(found, step)?.ok_or_else(|| ApiError::no_such("run"))?;
        if Instant::now() < step && !state(&found).0.is_terminal() {
            // The service is shutting down. The run continues on the next start.
            return Ok(Some(found));
        }
    }
}

fn state(found: &Found) -> (Status, Progress) {
    match found {
        Found::Live(run) => {
            let summary = run.summary();
            (summary.status, summary.progress)
        }
        Found::Stored(summary) => (summary.status, summary.progress),
    }
}

fn notification(token: &Value, progress: &Progress) -> Value {
    let Progress { modules_total, modules_completed, modules_with_hits } = progress;
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
        "progressToken": token,
        "progress": modules_completed,
        "total": modules_total,
        "message": format!("{modules_completed} of {modules_total} modules have ended, {modules_with_hits} with a hit"),
    }})
}
