//! The pages for API keys: create, list, revoke.

use std::sync::Arc;

use askama::Template;

use crate::account::key::{ApiKey, PREFIX};
use crate::account::plan::Plan;
use crate::base::ids::KeyId;
use crate::model::account::KeyRecord;
use crate::web::cookies::{Cookie, Notice};
use crate::web::{Answer, Form, Frame, Visit, Web, WebError, render};

#[derive(Template)]
#[template(path = "keys.html", config = "src/web/askama.toml")]
struct Page<'a> {
    frame: Frame,
    form: Form,
    plan: Plan,
    /// The plans that include API access.
    plans_with_api: String,
    keys: Vec<KeyRecord>,
    /// The key that was just created. It is shown only this once.
    made: Option<String>,
    base_url: &'a str,
}

/// Handles `GET /app/keys`: shows the keys.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let caller = visit.caller()?;
    let mut keys = web.store.keys(Some(caller.account.id))?;
    // Active keys first, the newest at the top.
    keys.reverse();
    keys.sort_by_key(|key| key.revoked_at.is_some());
    render(&Page {
        plan: caller.plan.clone(),
        plans_with_api: plans_with_api(web),
        keys,
        made: visit.made(PREFIX).filter(|made| ApiKey::parse(made).is_some()),
        base_url: &web.base_url,
        form: visit.form,
        frame: visit.frame,
    })
}

/// Handles `POST /app/keys` with `label`: creates a key, and redirects to the page that shows it once.
///
/// # Errors
/// Returns 403 on a plan without API access, 503 if the store is unavailable. The form shows the error of an
/// invalid label.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Answer {
    match make(web, &visit) {
        Ok(key) => web.redirect_with("/app/keys", &[(Cookie::Made, &key)]),
        Err(error) => visit.refuse(error, |visit| page(web, visit)),
    }
}

fn make(web: &Web, visit: &Visit) -> Result<String, WebError> {
    let (caller, (_, origin)) = (visit.caller()?, visit.actor()?);
    if !caller.plan.api {
        return Err(WebError::not_allowed(format!(
            "The plan {} does not include API access. These plans include it: {}.",
            caller.plan.name,
            plans_with_api(web)
        )));
    }
    let (key, _) = web.accounts.create_key(&caller.account, visit.form.get("label"), &origin)?;
    Ok(key.expose().to_owned())
}

fn plans_with_api(web: &Web) -> String {
    web.accounts.plans().names_where(|plan| plan.api).join(", ")
}

/// Handles `POST /app/keys/{id}/revoke`: revokes the key.
///
/// # Errors
/// Returns 404 for a revoked key or a key of another account, 503 if the store is unavailable.
pub(in crate::web) fn revoke(web: &Arc<Web>, visit: Visit) -> Answer {
    let ((account, origin), id) = (visit.actor()?, visit.id::<KeyId>("id")?);
    let keys = web.store.keys(Some(account))?;
    if !keys.iter().any(|key| key.id == id && key.revoked_at.is_none()) {
        return Err(WebError::no_such_page());
    }
    web.accounts.revoke_key(id, &origin)?;
    web.redirect_with_notice("/app/keys", Notice::KeyRevoked)
}
