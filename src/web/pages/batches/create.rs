//! A new batch: first the check of its list, which costs nothing, and then its start.

use std::sync::Arc;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::form::{BatchForm, BatchOrder};
use super::list;
use crate::http::{Reply, Response};
use crate::runs::batches::draft::{Draft, Duplicate};
use crate::service::refusal::Code;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::pages::form_parts::{new_once, once_key};
use crate::web::pages::refusal::sentence;
use crate::web::pages::search::credits_left;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The maximum number of invalid searches, and of duplicates, on the page.
const MOST_TOLD: usize = 100;

#[derive(Template)]
#[template(path = "batch-check.html", config = "src/web/askama.toml")]
struct CheckPage {
    frame: Frame,
    form: BatchForm,
    searches: usize,
    credits: u64,
    credits_left: String,
    /// Whether the price is higher than the balance.
    lacks_credits: bool,
    duplicates: Vec<Duplicate>,
    duplicate_count: usize,
    invalid: Vec<InvalidLine>,
    invalid_count: usize,
    /// What the button to start sends: the fingerprint of the batch that was checked.
    checked: String,
    /// Whether the form was used for another batch.
    is_used: bool,
}

struct InvalidLine {
    line: String,
    mistake: String,
    allowed: String,
}

/// Handles `POST /app/batches`: checks the list and shows what the batch would cost. With `start`, the fingerprint of
/// the batch that was checked, it creates the batch and redirects to its page. A list that was changed after its check
/// is checked again.
///
/// # Errors
/// Returns 401 without a session, 503 if the store is unavailable. The form shows what is wrong, with 422.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let sent = visit.form();
    let form = BatchForm::read(&sent);
    let order = match form.order() {
        Ok(order) => order,
        Err(mistake) => {
            let form = BatchForm { mistake: Some(mistake), ..form };
            return list::show(web, visit, 422, form).map(Reply::Now);
        }
    };
    let checked = fingerprint(&order);
    match once_key(&form.once) {
        Some(key) if sent.get("start") == checked && order.draft.invalid.is_empty() => {
            start(web, visit, form, order, key).map(Reply::Now)
        }
        Some(_) => show(web, visit, 200, form, &order, false).map(Reply::Now),
        None => {
            let form = BatchForm { once: new_once(), ..form };
            show(web, visit, 200, form, &order, false).map(Reply::Now)
        }
    }
}

fn start(
    web: &Web,
    visit: Visit,
    form: BatchForm,
    order: BatchOrder,
    key: String,
) -> Result<Response, WebError> {
    let (caller, name) = (visit.caller()?, order.name.clone());
    match web.services().create_batch(caller, name, &order.draft, Some(key), &visit.origin()?) {
        Ok(id) => Ok(web.redirect(&format!("/app/batches/{id}"))),
        Err(refusal) if refusal.code() == Code::IdempotencyMismatch => {
            show(web, visit, 409, BatchForm { once: new_once(), ..form }, &order, true)
        }
        Err(refusal) => Err(refusal.into()),
    }
}

fn fingerprint(order: &BatchOrder) -> String {
    URL_SAFE_NO_PAD.encode(order.draft.fingerprint(order.name.as_deref()))
}

fn show(
    web: &Web,
    visit: Visit,
    status: u16,
    form: BatchForm,
    order: &BatchOrder,
    is_used: bool,
) -> Result<Response, WebError> {
    let balance = web.parts.accounts.balance(visit.caller()?)?;
    let draft = &order.draft;
    let page = CheckPage {
        form,
        searches: draft.rows.len(),
        credits: draft.cost(),
        credits_left: credits_left(&balance),
        lacks_credits: balance.remaining().is_some_and(|left| left < draft.cost()),
        duplicates: draft.duplicates.iter().take(MOST_TOLD).copied().collect(),
        duplicate_count: draft.duplicates.len(),
        invalid: invalid_lines(draft),
        invalid_count: draft.invalid.len(),
        checked: fingerprint(order),
        is_used,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}

fn invalid_lines(draft: &Draft) -> Vec<InvalidLine> {
    let told = draft.invalid.iter().take(MOST_TOLD).map(|row| InvalidLine {
        line: row.line.map_or_else(String::new, |line| line.to_string()),
        mistake: sentence(&row.message),
        allowed: row.allowed.clone(),
    });
    told.collect()
}
