//! The first start with an empty database: an account, its key, a line to paste, and a link for the browser.

use std::io::{self, Write};

use log::warn;

use super::AppError;
use crate::account::audit::Origin;
use crate::account::key::ApiKey;
use crate::account::plan::{Plan, PlanTable};
use crate::account::service::{AccountError, Accounts};
use crate::account::sign_in::SignIns;
use crate::account::sign_in::token::Token;

/// Email address of the account that the first start makes.
pub(super) const LOCAL_ACCOUNT: &str = "local@localhost";

/// What the first start made.
pub(super) struct FirstAccount {
    key: ApiKey,
    link: Token,
}

/// Makes the first account, its key and its set-up link where there is no account yet. `None`: there is one, or no plan
/// of the table has API access.
pub(super) fn first_account(
    accounts: &Accounts,
    sign_ins: &SignIns,
) -> Result<Option<FirstAccount>, AppError> {
    let failed = |error: AccountError| AppError::Failed(format!("the first account was not made: {error}"));
    if !accounts.accounts().map_err(failed)?.is_empty() {
        return Ok(None);
    }
    let Some(plan) = best_plan(accounts.plans()) else {
        warn!("no plan has API access: make an account with `sightline account create`");
        return Ok(None);
    };
    let account = match accounts.create_account(LOCAL_ACCOUNT, &plan.name, &Origin::SYSTEM) {
        Ok(account) => account,
        // Another instance on the same database was quicker: it shows the key.
        Err(AccountError::EmailTaken) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let (key, _) =
        accounts.create_key(&account, "made at the first start", &Origin::SYSTEM).map_err(failed)?;
    let failed = |error| AppError::Failed(format!("the first account's set-up link was not made: {error}"));
    let link = sign_ins.make_link(account.id, &Origin::SYSTEM).map_err(failed)?;
    Ok(Some(FirstAccount { key, link }))
}

fn best_plan(plans: &PlanTable) -> Option<&Plan> {
    plans.all().iter().filter(|plan| plan.api).max_by_key(|plan| plan.credits.unwrap_or(u64::MAX))
}

/// Shows the key and the link, once, with a line that works when it is pasted.
pub(super) fn show(out: &mut dyn Write, base_url: &str, first: &FirstAccount) -> io::Result<()> {
    let (key, link) = (first.key.expose(), first.link.expose());
    write!(
        out,
        "\n\
         This is the first start: an account was made ({LOCAL_ACCOUNT}). Its API key, shown this once:\n\
         \n    {key}\n\
         \n\
         A first search; results come as they are found:\n\
         \n    curl -N {base_url}/v1/searches -H 'Authorization: Bearer {key}' \
         -H 'Content-Type: application/json' -d '{{\"type\":\"username\",\"query\":\"torvalds\",\"stream\":true}}'\n\
         \n\
         To use it in a browser, choose a password here; the link works once, within three days:\n\
         \n    {base_url}/app/set-up/{link}\n\n"
    )?;
    out.flush()
}
