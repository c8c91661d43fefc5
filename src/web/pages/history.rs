//! The history: all searches of an account, newest first, with filters.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;

use super::run::tag_query;
use crate::model::credits::cost;
use crate::model::notes::tag;
use crate::model::page::{Cursor, ListFilter};
use crate::model::run::{RunSummary, Status};
use crate::modules::query::SearchType;
use crate::report::html::titled;
use crate::web::form::new_once;
use crate::web::show::ago;
use crate::web::{Answer, Form, Frame, Moment, Visit, Web, render};

/// The number of searches on a page.
const PAGE: usize = 50;
/// The longest text to search for, in characters.
const TEXT_CHARS: usize = 200;
/// The most characters of a note in the list.
const NOTE_CHARS: usize = 140;

#[derive(Template)]
#[template(path = "history.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    /// The filters in the address, without invalid ones.
    form: Form,
    /// The searches, each with the token of the form that starts it again.
    rows: Vec<(RunSummary, String)>,
    next: Option<Cursor>,
    now: Timestamp,
}

/// Handles `GET /app/searches`: shows the history.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let (form, filter) = read(&visit.form);
    let (runs, next) = web.runs.page(visit.caller()?.account.id, &filter, PAGE)?;
    let rows = runs.into_iter().map(|run| (run, new_once())).collect();
    render(&Page { frame: visit.frame, form, rows, next, now: web.clock.now() })
}

/// Reads the filters of an address. Invalid ones are ignored.
fn read(address: &Form) -> (Form, ListFilter) {
    let text: String =
        address.get("text").trim().chars().take(TEXT_CHARS).filter(|c| !c.is_control()).collect();
    let before: Option<Cursor> = address.get("before").parse().ok();
    let filter = ListFilter {
        search_type: SearchType::from_name(address.get("type")),
        status: Status::from_name(address.get("status")),
        tag: tag("tag", address.get("tag").trim()).ok(),
        before,
        text: Some(text).filter(|text| !text.is_empty()),
        ..ListFilter::default()
    };
    let before = before.map(|before| before.to_string());
    let mut form = Form::default();
    for (name, value) in [
        ("text", filter.text.as_deref()),
        ("type", filter.search_type.map(SearchType::as_str)),
        ("status", filter.status.map(Status::as_str)),
        ("tag", filter.tag.as_deref()),
        ("before", before.as_deref()),
    ] {
        form.add(name, value.unwrap_or_default());
    }
    (form, filter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_parses_to_its_filter_and_invalid_parameters_are_ignored() {
        let read = |text: &str| read(&Form::parse(text.as_bytes())).0.query();
        let filter = read("text=%20a%26b%00&type=email&status=running&tag=Case-7");
        assert_eq!(filter, "?text=a%26b&type=email&status=running&tag=case-7");
        assert_eq!(read("text=&type=phone&status=done&tag=a+b&before=x"), "");
    }
}
