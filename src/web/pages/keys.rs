//! The pages for API keys: create, list, revoke.

use std::sync::Arc;

use askama::Template;

use crate::account::key::PREFIX;
use crate::account::service::AccountError;
use crate::base::ids::KeyId;
use crate::http::{Reply, Response};
use crate::model::account::KeyRecord;
use crate::web::error::WebError;
use crate::web::frame::{Confirm, Frame, render, render_as};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

/// The maximum number of active keys of an account.
const MOST_KEYS: usize = 100;

#[derive(Template)]
#[template(path = "keys.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    plan: String,
    /// Whether the plan includes API access.
    has_api: bool,
    /// The plans that include API access.
    plans_with_api: String,
    keys: Vec<KeyRecord>,
    /// The key that was just created. It is shown only this once.
    made: Option<Made>,
    label: String,
    wrong: Option<&'static str>,
}

struct Made {
    key: String,
    curl: String,
}

/// Handles `GET /app/keys`: shows the keys.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let Some(key) = web.made_secret(&visit, PREFIX) else {
        return show(web, visit, 200, None, None).map(Reply::Now);
    };
    let made = Made { curl: curl_line(web, &key), key };
    Ok(Reply::Now(web.without_secret(show(web, visit, 200, Some(made), None)?)))
}

/// Handles `POST /app/keys` with `label`: creates a key, and redirects to the page that shows it once.
///
/// # Errors
/// Returns 403 on a plan without API access, 503 if the store is unavailable. The form shows the error of an
/// invalid label.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let caller = visit.caller()?;
    if !caller.plan.api {
        return Err(WebError::not_allowed(format!(
            "The plan {} does not include API access. These plans include it: {}.",
            caller.plan.name,
            plans_with_api(web)
        )));
    }
    let in_force = web.parts.store.keys(Some(caller.account.id))?;
    if in_force.iter().filter(|key| key.revoked_at.is_none()).count() >= MOST_KEYS {
        let wrong = "You have 100 keys. Revoke one that you no longer use.";
        return show(web, visit, 422, None, Some(wrong)).map(Reply::Now);
    }
    let label = visit.form().get("label").to_owned();
    match web.parts.accounts.create_key(&caller.account, &label, &visit.origin()?) {
        Ok((key, _)) => Ok(Reply::Now(web.redirect_with_secret("/app/keys", key.expose()))),
        Err(AccountError::InvalidLabel) => {
            let wrong = "A label has at most 100 characters, and no control characters.";
            show(web, visit, 422, None, Some(wrong)).map(Reply::Now)
        }
        Err(error) => Err(error.into()),
    }
}

fn curl_line(web: &Web, key: &str) -> String {
    format!(
        "curl -N {}/v1/searches -H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' \
         -d '{{\"type\":\"username\",\"query\":\"torvalds\",\"stream\":true}}'",
        web.config.base_url
    )
}

fn show(
    web: &Web,
    visit: Visit,
    status: u16,
    made: Option<Made>,
    wrong: Option<&'static str>,
) -> Result<Response, WebError> {
    let caller = visit.caller()?;
    let mut keys = web.parts.store.keys(Some(caller.account.id))?;
    // Active keys first, the newest at the top.
    keys.reverse();
    keys.sort_by_key(|key| key.revoked_at.is_some());
    let page = Page {
        plan: caller.plan.name.clone(),
        has_api: caller.plan.api,
        plans_with_api: plans_with_api(web),
        keys,
        label: wrong.map_or_else(String::new, |_| visit.form().get("label").to_owned()),
        made,
        wrong,
        frame: visit.frame,
    };
    Ok(render_as(status, &page))
}

fn plans_with_api(web: &Web) -> String {
    web.parts.accounts.plans().names_where(|plan| plan.api).join(", ")
}

/// Handles `GET /app/keys/{id}/revoke`: asks for confirmation.
///
/// # Errors
/// Returns 404 for a revoked key or a key of another account, 503 if the store is unavailable.
pub(in crate::web) fn confirm_revoke(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let key = own_key(web, &visit)?;
    Ok(Reply::Now(render(&Confirm {
        frame: visit.frame,
        question: "Revoke this key?",
        subject: format!("{PREFIX}…{} {}", key.last_four, key.label),
        text: "Programs that use it are refused from then on. It cannot be undone.".to_owned(),
        also: None,
        button: "Revoke it",
        back: "/app/keys".to_owned(),
    })))
}

/// Handles `POST /app/keys/{id}/revoke`: revokes the key.
///
/// # Errors
/// Returns the same errors as [`confirm_revoke`].
pub(in crate::web) fn revoke(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let key = own_key(web, &visit)?;
    web.parts.accounts.revoke_key(key.id, &visit.origin()?)?;
    Ok(Reply::Now(web.redirect_with_notice("/app/keys", Notice::KeyRevoked)))
}

fn own_key(web: &Web, visit: &Visit) -> Result<KeyRecord, WebError> {
    let id: Option<KeyId> = visit.segment("id").and_then(|id| id.parse().ok());
    let keys = web.parts.store.keys(Some(visit.caller()?.account.id))?;
    keys.into_iter()
        .find(|key| Some(key.id) == id && key.revoked_at.is_none())
        .ok_or_else(WebError::no_such_page)
}
