//! What a stream carries: SSE frames (section 6 of the contract), serialized once and shared.

use std::sync::Arc;

use serde::Serialize;

use super::run::{Coverage, ModuleStatus, Progress, ResultRecord, RunError, Status};
use crate::base::ids::RunId;
use crate::modules::query::SearchType;

/// One whole SSE frame, with its empty line at the end.
pub type Frame = Arc<[u8]>;

/// A comment: keeps a quiet stream alive, and clients ignore it.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Data of the `run` frame. Its status is `running` always: what follows tells the rest.
#[derive(Debug, Serialize)]
pub struct RunData<'a> {
    /// `run_id`.
    pub run_id: RunId,
    /// What kind of search.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// What the caller sent.
    pub query: &'a str,
    /// Always [`Status::Running`].
    pub status: Status,
}

/// Data of a `progress` frame.
#[derive(Debug, Serialize)]
pub struct ProgressData {
    /// Results published so far.
    pub results_so_far: u32,
    /// Progress block.
    #[serde(flatten)]
    pub progress: Progress,
    /// Outcome counts so far.
    pub coverage: Coverage,
    /// Modules that ended since the previous progress frame.
    pub module_status: ModuleStatus,
}

/// Data of the `done` frame.
#[derive(Debug, Serialize)]
pub struct DoneData<'a> {
    /// `run_id`.
    pub run_id: RunId,
    /// `completed` or `failed`.
    pub status: Status,
    /// Results in all.
    pub total_results: u32,
    /// Progress block.
    #[serde(flatten)]
    pub progress: Progress,
    /// Outcome counts.
    pub coverage: Coverage,
    /// Whether `GET /v1/searches/{run_id}` has the results.
    pub results_available: bool,
    /// Why it failed.
    pub error: Option<&'a RunError>,
}

/// Data of a `reconnect` frame.
#[derive(Debug, Serialize)]
pub struct ReconnectData {
    /// `run_id`.
    pub run_id: RunId,
    /// Always [`Status::Running`].
    pub status: Status,
    /// `stream_timeout`.
    pub reason: &'static str,
    /// Seconds to wait.
    pub retry_after: u32,
}

/// Data of an `error` frame.
#[derive(Debug, Serialize)]
pub struct ErrorData<'a> {
    /// `run_id`.
    pub run_id: RunId,
    /// The run's status as far as it is known.
    pub status: Status,
    /// `server_shutdown`, `unavailable`, or `not_found` for a run that its owner deleted.
    pub error: &'static str,
    /// For a person.
    pub message: &'static str,
    /// Seconds to wait.
    pub retry_after: u32,
    /// For the operator's log.
    pub request_id: &'a str,
}

/// The `run` frame.
pub fn run_frame(data: &RunData<'_>) -> Frame {
    frame("run", data)
}

/// A `result` frame.
pub fn result_frame(record: &ResultRecord) -> Frame {
    frame("result", record)
}

/// A `progress` frame.
pub fn progress_frame(data: &ProgressData) -> Frame {
    frame("progress", data)
}

/// The `done` frame.
pub fn done_frame(data: &DoneData<'_>) -> Frame {
    frame("done", data)
}

/// A `reconnect` frame.
pub fn reconnect_frame(run_id: RunId) -> Frame {
    let data = ReconnectData { run_id, status: Status::Running, reason: "stream_timeout", retry_after: 1 };
    frame("reconnect", &data)
}

/// An `error` frame.
pub fn error_frame(data: &ErrorData<'_>) -> Frame {
    frame("error", data)
}

fn frame(name: &str, data: &impl Serialize) -> Frame {
    let mut bytes = format!("event: {name}\ndata: ").into_bytes();
    // JSON text has no raw line break, so one `data:` line is enough. Our types have string keys and
    // finite numbers alone: writing them to memory cannot fail.
    if serde_json::to_writer(&mut bytes, data).is_err() {
        bytes.extend_from_slice(b"{}");
    }
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_with_line_breaks_stays_in_one_data_line() {
        let data = RunData {
            run_id: RunId::new(),
            search_type: SearchType::Username,
            query: "a\r\n\nevent: done\u{2028}b",
            status: Status::Running,
        };
        let frame = String::from_utf8(run_frame(&data).to_vec()).unwrap();
        assert!(frame.ends_with("\n\n"));
        assert_eq!(frame.trim_end().lines().count(), 2, "{frame}");
        assert!(frame.starts_with("event: run\ndata: {\"run_id\":\""));
    }
}
