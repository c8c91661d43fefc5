//! File names of reports, such as `sightline-username-octocat-0123456789ab.csv`. The name marks an incomplete
//! or simulated run, since a list of results cannot: `…-running.csv`, `…-failed.csv`, `…-simulated.csv`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::Format;
use crate::model::run::{RunSummary, Status};

/// The maximum number of characters of the query in the name. File names have at most 255 bytes, and a character has
/// up to four.
const MAX_QUERY: usize = 40;
/// The characters that are percent-encoded in a header.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'_').remove(b'-').remove(b'+');

/// Returns the file name. For any query it contains only letters, digits, `.`, `_`, `-` and `+`.
pub fn file_name(run: &RunSummary, format: Format) -> String {
    let query: String = run.query.trim().chars().map(sanitize).take(MAX_QUERY).collect();
    let state = if run.status == Status::Completed { "" } else { run.status.as_str() };
    let what = format!("{}-{query}", run.search_type);
    named(&what, &run.id.to_string(), state, run.simulated, format.as_str())
}

/// Returns the name of a file about the thing with this UUID. `state` is empty if the thing is complete.
pub(super) fn named(what: &str, id: &str, state: &str, is_simulated: bool, extension: &str) -> String {
    // The end of a version 7 UUID is random. Its beginning is the time, which is equal for runs of one minute.
    let id = id.rsplit('-').next().unwrap_or_default();
    let dash = if state.is_empty() { "" } else { "-" };
    let web = if is_simulated { "-simulated" } else { "" };
    format!("sightline-{what}-{id}{dash}{state}{web}.{extension}")
}

/// Replaces a character that has a meaning in a shell, a path or a header.
fn sanitize(c: char) -> char {
    if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+') { c } else { '_' }
}

/// Returns the `Content-Disposition` of a download (RFC 6266): the name in ASCII, and in UTF-8 for clients
/// that support RFC 8187.
pub fn content_disposition(run: &RunSummary, format: Format) -> String {
    let name = file_name(run, format);
    let ascii: String = name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    if ascii == name {
        return format!("attachment; filename=\"{ascii}\"");
    }
    let encoded = utf8_percent_encode(&name, ENCODED);
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}
