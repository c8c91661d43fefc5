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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::run;
    use proptest::prelude::*;

    fn summary(query: &str) -> RunSummary {
        let mut summary = run(Vec::new()).summary;
        summary.query = query.to_owned();
        summary.id = "0190b5e2-0000-7000-8000-0123456789ab".parse().unwrap();
        summary
    }

    #[test]
    fn the_name_has_type_query_and_state() {
        let mut run = summary("octocat");
        assert_eq!(file_name(&run, Format::Csv), "sightline-username-octocat-0123456789ab.csv");
        run.status = Status::Running;
        assert_eq!(file_name(&run, Format::Html), "sightline-username-octocat-0123456789ab-running.html");
        (run.status, run.simulated) = (Status::Failed, true);
        let name = file_name(&run, Format::Json);
        assert_eq!(name, "sightline-username-octocat-0123456789ab-failed-simulated.json");
    }

    #[test]
    fn a_query_outside_ascii_is_in_the_utf8_form() {
        assert_eq!(
            content_disposition(&summary("жук/../x"), Format::Csv),
            "attachment; filename=\"sightline-username-____.._x-0123456789ab.csv\"; \
             filename*=UTF-8''sightline-username-%D0%B6%D1%83%D0%BA_.._x-0123456789ab.csv"
        );
    }

    proptest! {
        #[test]
        fn a_query_cannot_inject_a_header_or_path(query in any::<String>()) {
            let header = content_disposition(&summary(&query), Format::Csv);
            prop_assert!(header.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()));
            prop_assert_eq!(header.matches('"').count(), 2);
            let name = file_name(&summary(&query), Format::Csv);
            prop_assert!(!name.contains(['/', '\\', '\0', '%']) && name.len() <= 255);
        }
    }
}
