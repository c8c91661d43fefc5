//! The first start with an empty database: an account, its key, and a line to paste.

use std::io::{self, Write};

use log::warn;

use super::AppError;
use crate::account::audit::Origin;
use crate::account::key::ApiKey;
use crate::account::plan::{Plan, PlanTable};
use crate::account::service::{AccountError, Accounts};

/// Email address of the account that the first start makes.
pub(super) const LOCAL_ACCOUNT: &str = "local@localhost";

/// Makes the first account and its key where there is no account yet. `None`: there is one, or no plan
/// of the table has API access.
pub(super) fn first_key(accounts: &Accounts) -> Result<Option<ApiKey>, AppError> {
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
    Ok(Some(key))
}

fn best_plan(plans: &PlanTable) -> Option<&Plan> {
    plans.all().iter().filter(|plan| plan.api).max_by_key(|plan| plan.credits.unwrap_or(u64::MAX))
}

/// Shows the key, once, with a line that works when it is pasted.
pub(super) fn show(out: &mut dyn Write, base_url: &str, key: &ApiKey) -> io::Result<()> {
    let key = key.expose();
    write!(
        out,
        "\n\
         This is the first start: an account was made ({LOCAL_ACCOUNT}). Its API key, shown this once:\n\
         \n    {key}\n\
         \n\
         A first search; results come as they are found:\n\
         \n    curl -N {base_url}/v1/searches -H 'Authorization: Bearer {key}' \
         -H 'Content-Type: application/json' -d '{{\"type\":\"username\",\"query\":\"torvalds\",\"stream\":true}}'\n\n"
    )?;
    out.flush()
}
