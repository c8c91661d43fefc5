//! The body of `POST /v1/batches`, as JSON or as CSV.

use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::context::Api;
use super::decode::{SearchBody, SearchRequest};
use super::request;
use crate::account::service::Caller;
use crate::http::Request;
use crate::model::batch::{MAX_SEARCHES, batch_name};
use crate::model::refusal::Refusal;
use crate::model::run::count;
use crate::model::search::Search;
use crate::modules::catalog::Choice;
use crate::modules::query::{Query, SearchType};
use crate::modules::variants::of_username;
use crate::runs::batches::draft::{Draft, InvalidRow};
use crate::runs::batches::table::{self, wrong_number};

/// A batch of searches.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = BatchRequest)]
pub struct BatchBody {
    /// The searches. `wait` and `stream` have no effect. The same search is made once.
    // They are read one by one, so that each mistake is listed.
    #[schema(value_type = Vec<BatchSearchRequest>, min_items = 1, max_items = 1000)]
    searches: Vec<Value>,
    /// A name for people, without control characters.
    #[schema(max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", examples("applicants of May"))]
    name: Option<String>,
    /// Whether to list only the price, duplicates and invalid searches. Nothing is charged and nothing is stored.
    dry_run: Option<bool>,
}

/// A search of a batch, of which the batch may also make variants.
#[derive(Debug, Deserialize, ToSchema)]
// Its parts are read one by one, so that a mistake has its path.
#[expect(dead_code, reason = "only its schema is used")]
struct BatchSearchRequest {
    #[serde(flatten)]
    search: SearchRequest,
    #[serde(flatten)]
    options: BatchSearchOptions,
}

/// The options of a search that only a batch has.
#[derive(Debug, Deserialize, ToSchema)]
struct BatchSearchOptions {
    /// Search the best ten variants of the username: the username itself and nine others. The others follow the last search
    /// of the list. All of them count towards the 1,000 searches. Only for usernames.
    variants: Option<bool>,
}

/// A file of searches. Generated clients send it as it is only if the schema says that it is a file.
#[derive(Debug, ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct CsvFile(String);

/// The number of variants of a search, with the search itself.
const VARIANTS: usize = 10;

/// The query parameters of a new batch.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct BatchParameters {
    /// Type of the queries of a CSV file that have none.
    #[serde(rename = "type")]
    search_type: Option<SearchType>,
    /// A name for people, if it is not in the body.
    #[param(max_length = 100, pattern = r"^[^\x00-\x1f\x7f-\x9f]*$", example = "applicants of May")]
    name: Option<String>,
    /// Whether to list only the price, duplicates and invalid searches, as `dry_run` in the body.
    #[serde(default)]
    #[param(required = false, default = false)]
    dry_run: bool,
}

/// A list of searches that may become a batch, its name, and whether nothing is to be charged and stored.
pub(super) type BatchOrder = (Draft, Option<String>, bool);

/// Reads a request. Searches that are not valid are in the draft.
///
/// # Errors
/// Returns 415 for another content type, 400 for a body that is no list of 1 to 1,000 searches, and 403 for a premium
/// search if the plan does not include any.
pub(super) fn read(api: &Api, http: &Request, caller: &Caller) -> Result<BatchOrder, Refusal> {
    let BatchParameters { search_type, name, dry_run } = request::query(http)?;
    let (draft, name, dry_run) = if request::has_type(http, "text/csv") {
        (table::read(&http.body, |_| search_type)?, name, dry_run)
    } else if !request::has_type(http, "application/json") {
        return Err(Refusal::unsupported_media_type(&["application/json", "text/csv"]));
    } else {
        let body: BatchBody = request::json(http)?;
        (draft(api, &body.searches)?, body.name.or(name), dry_run || body.dry_run.unwrap_or_default())
    };
    api.services.check_plan(caller, draft.rows.iter().any(|(_, search)| search.premium))?;
    Ok((draft, name.as_deref().map(batch_name).transpose()?.flatten(), dry_run))
}

fn draft(api: &Api, searches: &[Value]) -> Result<Draft, Refusal> {
    if !(1..=MAX_SEARCHES).contains(&searches.len()) {
        return Err(wrong_number(searches.len()));
    }
    let (mut draft, mut variants) = (Draft::default(), Vec::new());
    for (row, search) in (1..).zip(searches) {
        match read_search(api, search) {
            Ok(((query, search), its_variants)) => {
                draft.add(row, &query, search);
                variants.extend(its_variants);
            }
            Err(error) => {
                let (field, message) = (error.fact("field").to_owned(), error.message.clone());
                draft.invalid.push(InvalidRow { row, line: None, field, message, allowed: error.allowed() });
            }
        }
    }
    let number = searches.len() + variants.len();
    if number > MAX_SEARCHES {
        return Err(wrong_number(number));
    }
    // A variant that the list has already is no duplicate: the caller has not sent it twice.
    let sent_twice = draft.duplicates.len();
    for (row, (query, search)) in (count(searches.len()) + 1..).zip(variants) {
        draft.add(row, &query, search);
    }
    draft.duplicates.truncate(sent_twice);
    Ok(draft)
}

/// A search with its query.
type Checked = (Query, Search);

/// Returns a search of the list, and the searches for its variants if they are wanted.
fn read_search(api: &Api, search: &Value) -> Result<(Checked, Vec<Checked>), Refusal> {
    if !search.is_object() {
        return Err(Refusal::invalid_request("searches", "the search is not an object", "an object"));
    }
    let SearchBody { query, search: checked, .. } = SearchBody::read(search)?;
    if checked.choice != Choice::default() {
        api.runs.modules_for(checked.search_type, checked.premium, &checked.choice)?;
    }
    let options: BatchSearchOptions = request::read(search)?;
    let wants_variants = options.variants.unwrap_or_default();
    let variants = if wants_variants { variants(api, &query, &checked)? } else { Vec::new() };
    Ok(((query, checked), variants))
}

/// Returns the searches for the variants of a username without itself.
fn variants(api: &Api, query: &Query, search: &Search) -> Result<Vec<Checked>, Refusal> {
    if query.search_type() != SearchType::Username {
        let message =
            format!("variants are not made of queries of the type {}", query.search_type().as_str());
        return Err(Refusal::invalid_request("variants", message, "true for usernames only"));
    }
    let own = query.normal();
    let others = of_username(own, &api.runs.catalog()).into_iter().map(|variant| variant.username);
    let others = others.filter(|name| !name.eq_ignore_ascii_case(own)).take(VARIANTS - 1);
    let parsed = others.filter_map(|name| {
        let query = Query::parse(SearchType::Username, &name).ok()?;
        Some((query, Search { query: name, ..search.clone() }))
    });
    Ok(parsed.collect())
}
