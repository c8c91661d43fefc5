//! The first start with an empty database: creates an account and a key, and prints a command to paste and a
//! link for the browser.

use std::error::Error;

use log::warn;

use super::error::Failure;
use crate::account::plan::{Plan, PlanTable};
use crate::model::account::Role;
use crate::model::audit::Origin;
use crate::model::refusal::Code;
use crate::service::Services;

/// Email address of the account that the first start creates.
pub(super) const LOCAL_ACCOUNT: &str = "local@localhost";

/// Creates the first account, its key and its set-up link. Returns the text that shows the key and the link, only this once,
/// with a search command that can be pasted. Returns `None` if there is an account already, or if no plan has API access.
pub(super) fn first_account(services: &Services) -> Result<Option<String>, Failure> {
    let Services { accounts, sign_ins, base_url, .. } = services;
    let create = || -> Result<Option<String>, Box<dyn Error>> {
        if !accounts.store.accounts()?.is_empty() {
            return Ok(None);
        }
        let Some(plan) = best_plan(accounts.plans()) else {
            warn!("no plan has API access: create an account with `sightline account create`");
            return Ok(None);
        };
        let account = match accounts.create_account(LOCAL_ACCOUNT, &plan.name, &Origin::SYSTEM) {
            // Another instance on the same database created it, and shows the key.
            Err(refusal) if refusal.code == Code::Conflict => return Ok(None),
            created => created?,
        };
        let (key, _) = accounts.create_key(&account, "made at the first start", &Origin::SYSTEM)?;
        // The person who starts the server is its operator.
        sign_ins.set_role(account.id, Role::Operator, &Origin::SYSTEM)?;
        let link = sign_ins.make_link(account.id, &Origin::SYSTEM)?;
        let (key, link) = (key.expose(), link.expose());
        Ok(Some(format!(
            "\n\
             This is the first start: the account {LOCAL_ACCOUNT} was created. Its API key is shown only once:\n\
             \n    {key}\n\
             \n\
             Run a first search and receive its results as they are found:\n\
             \n    curl -N {base_url}/v1/searches -H 'Authorization: Bearer {key}' \
             -H 'Content-Type: application/json' -d '{{\"type\":\"username\",\"query\":\"torvalds\",\"stream\":true}}'\n\
             \n\
             To use the web app, also its pages for operators, choose a password at this link. It works once, within 72 \
             hours:\n\
             \n    {base_url}/app/set-up/{link}\n\n"
        )))
    };
    create().map_err(|error| Failure::failed(error).at("cannot create the first account"))
}

/// Returns the plan with API access and the most credits.
pub(super) fn best_plan(plans: &PlanTable) -> Option<&Plan> {
    plans.all().iter().filter(|plan| plan.api).max_by_key(|plan| plan.credits.unwrap_or(u64::MAX))
}
