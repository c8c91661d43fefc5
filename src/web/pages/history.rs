//! The history: all searches of an account, newest first, with filters.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;

use super::form_parts::FormOption;
use super::form_parts::new_once;
use super::run::actions::NotesView;
use super::run_row::RunRow;
use crate::http::Reply;
use crate::model::credits::cost;
use crate::model::notes::tag;
use crate::model::page::{Cursor, ListFilter};
use crate::model::run::{RunSummary, Status};
use crate::modules::query::SearchType;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::service::Web;
use crate::web::visit::{Form, Visit};

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
    filter: Filter,
    rows: Vec<Row>,
    first_page: String,
    next_page: Option<String>,
}

/// A run with what can be done with it.
struct Row {
    run: RunRow,
    notes: NotesView,
    /// The price of the same search.
    price: u64,
    /// The token of the form that starts it again.
    once: String,
}

impl Row {
    fn new(run: &RunSummary, now: Timestamp) -> Result<Self, WebError> {
        let mut notes = NotesView::of(&run.notes);
        notes.note = notes.note.map(|note| beginning(&note));
        let price = cost(run.premium);
        Ok(Self { run: RunRow::new(run, now), notes, price, once: new_once() })
    }
}

/// Returns the beginning of a note.
fn beginning(note: &str) -> String {
    let shown: String = note.chars().take(NOTE_CHARS).collect();
    if shown.len() < note.len() { format!("{shown}…") } else { shown }
}

/// The filters in an address. Invalid ones are ignored.
#[derive(Debug, Default)]
struct Filter {
    text: String,
    search_type: Option<SearchType>,
    status: Option<Status>,
    tag: Option<String>,
    before: Option<Cursor>,
}

/// Handles `GET /app/searches`: shows the history.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let filter = Filter::read(&visit.query());
    let account = visit.caller()?.account.id;
    let found = web.parts.runs.reader.page(account, &filter.list_filter(), PAGE)?;
    let now = web.parts.clock.now();
    let address =
        |before: Option<Cursor>| format!("{}/app/searches{}", visit.frame.root, filter.query(before));
    let (first_page, next_page) = (address(None), found.next.map(|next| address(Some(next))));
    let rows = found.runs.iter().map(|run| Row::new(run, now)).collect::<Result<_, _>>()?;
    Ok(Reply::Now(render(&Page { frame: visit.frame, filter, rows, first_page, next_page })))
}

impl Filter {
    fn read(form: &Form) -> Self {
        Self {
            text: form.get("text").trim().chars().take(TEXT_CHARS).filter(|c| !c.is_control()).collect(),
            search_type: SearchType::from_name(form.get("type")),
            status: Status::from_name(form.get("status")),
            tag: tag(form.get("tag").trim()).ok(),
            before: form.get("before").parse().ok(),
        }
    }

    fn list_filter(&self) -> ListFilter {
        ListFilter {
            search_type: self.search_type,
            status: self.status,
            text: Some(self.text.clone()).filter(|text| !text.is_empty()),
            root: None,
            watch: None,
            tag: self.tag.clone(),
            before: self.before.map(Cursor::place),
        }
    }

    /// Returns the filter as a query string, empty or beginning with a question mark.
    fn query(&self, before: Option<Cursor>) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        let parts = [
            ("text", Some(self.text.clone()).filter(|text| !text.is_empty())),
            ("type", self.search_type.map(|kind| kind.to_string())),
            ("status", self.status.map(|status| status.as_str().to_owned())),
            ("tag", self.tag.clone()),
            ("before", before.map(|before| before.to_string())),
        ];
        query.extend_pairs(parts.into_iter().filter_map(|(name, value)| Some((name, value?))));
        let query = query.finish();
        if query.is_empty() { query } else { format!("?{query}") }
    }

    fn is_set(&self) -> bool {
        !self.text.is_empty() || self.search_type.is_some() || self.status.is_some() || self.tag.is_some()
    }

    fn is_later_page(&self) -> bool {
        self.before.is_some()
    }

    fn types(&self) -> Vec<FormOption> {
        let types = [
            (None, "", "All types"),
            (Some(SearchType::Username), "username", "Username"),
            (Some(SearchType::Email), "email", "Email"),
            (Some(SearchType::Domain), "domain", "Domain"),
        ];
        types.map(|(kind, value, label)| FormOption::new(value, label, self.search_type == kind)).into()
    }

    fn statuses(&self) -> Vec<FormOption> {
        let statuses = [
            (None, "", "Any status"),
            (Some(Status::Running), "running", "Running"),
            (Some(Status::Completed), "completed", "Completed"),
            (Some(Status::Failed), "failed", "Failed"),
        ];
        statuses.map(|(status, value, label)| FormOption::new(value, label, self.status == status)).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_parses_to_its_filter_and_invalid_parameters_are_ignored() {
        let read = |text: &str| Filter::read(&Form::parse(text.as_bytes()));
        let filter = read("text=%20a%26b%00&type=email&status=running&tag=Case-7");
        assert_eq!(filter.query(None), "?text=a%26b&type=email&status=running&tag=case-7");
        assert!(filter.is_set() && !filter.is_later_page());
        let nonsense = read("text=&type=phone&status=done&tag=a+b&before=x");
        assert_eq!((nonsense.query(None), nonsense.is_set()), (String::new(), false));
    }
}
