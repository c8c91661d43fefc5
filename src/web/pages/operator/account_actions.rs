//! Creating accounts and set-up links, and changing plans, by operators. The audit names the operator.

use std::sync::Arc;

use super::accounts::show;
use crate::account::service::AccountError;
use crate::http::Reply;
use crate::model::account::Account;
use crate::web::error::WebError;
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::visit::Visit;

/// The page to which each action leads.
const PAGE: &str = "/app/operator/accounts";

/// Handles `POST /app/operator/accounts` with `email` and `plan`: creates an account, and redirects to the page that shows
/// its set-up link once.
///
/// # Errors
/// Returns 503 if the store is unavailable. The page shows what else is wrong.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    match web.parts.accounts.create_account(form.get("email"), form.get("plan"), &visit.origin()?) {
        Ok(account) => link_to(web, &visit, &account),
        Err(
            error @ (AccountError::InvalidEmail | AccountError::UnknownPlan(_) | AccountError::EmailTaken),
        ) => show(web, visit, Some(error.to_string())).map(Reply::Now),
        Err(error) => Err(error.into()),
    }
}

/// Handles `POST /app/operator/accounts/link` with `email`: makes a new set-up link, and redirects to the page that shows
/// it once.
///
/// # Errors
/// Returns 404 for an unknown account, 503 if the store is unavailable.
pub(in crate::web) fn link(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let account = web.parts.accounts.open_account(visit.form().get("email")).map_err(unknown)?;
    link_to(web, &visit, &account)
}

/// Handles `POST /app/operator/accounts/plan` with `email` and `plan`: changes the plan.
///
/// # Errors
/// Returns 404 for an unknown account, 503 if the store is unavailable. The page shows an unknown plan.
pub(in crate::web) fn set_plan(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    match web.parts.accounts.set_plan(form.get("email"), form.get("plan"), &visit.origin()?) {
        Ok(_) => Ok(Reply::Now(web.redirect_with_notice(PAGE, Notice::PlanChanged))),
        Err(error @ AccountError::UnknownPlan(_)) => {
            show(web, visit, Some(error.to_string())).map(Reply::Now)
        }
        Err(error) => Err(unknown(error)),
    }
}

fn link_to(web: &Web, visit: &Visit, account: &Account) -> Result<Reply, WebError> {
    let token = web.parts.sign_ins.make_link(account.id, &visit.origin()?)?;
    Ok(Reply::Now(web.redirect_with_secret(PAGE, &format!("{}{}", super::accounts::LINK, token.expose()))))
}

fn unknown(error: AccountError) -> WebError {
    match error {
        AccountError::UnknownAccount | AccountError::BeingDeleted => WebError::no_such_page(),
        error => error.into(),
    }
}
