//! The page `/app/operator/accounts`: the plans and the accounts on them. Operators create accounts and set-up links, and
//! change plans there. The audit names the operator.

use std::sync::Arc;

use askama::Template;

use super::operator::Pages;
use crate::account::plan::Plan;
use crate::account::sign_in::token::Token;
use crate::model::account::{Account, Role};
use crate::web::cookies::{Cookie, Notice};
use crate::web::{Answer, Form, Frame, Visit, Web, render};

/// The beginning of a set-up link's token in the cookie.
const LINK: &str = "link-";
/// The number of rows on a page.
const ROWS: usize = 50;
const PAGE: &str = "/app/operator/accounts";

#[derive(Template)]
#[template(path = "operator-accounts.html", config = "src/web/askama.toml")]
struct Page<'a> {
    frame: Frame,
    /// The filters in the address, or the form that was refused.
    form: Form,
    /// The plans, each with its number of accounts.
    plans: Vec<(&'a Plan, usize)>,
    /// The accounts with the credits that they have used, and those of their plan.
    rows: Vec<(&'a Account, String)>,
    /// The set-up link that was just made. It is shown only this once.
    link: Option<String>,
    pages: Pages,
}

/// Handles `GET /app/operator/accounts`: shows the accounts whose email address contains `q`, of the plan `plan`.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, mut visit: Visit) -> Answer {
    visit.frame.here = PAGE;
    let token = visit.made(LINK).and_then(|made| Token::parse(made.strip_prefix(LINK)?));
    let link = token.map(|token| format!("{}/app/set-up/{}", web.base_url, token.expose()));
    let mut all = web.store.accounts()?;
    // The newest accounts come first.
    all.sort_by(|one, other| other.created_at.cmp(&one.created_at).then_with(|| one.email.cmp(&other.email)));
    let is_filter = visit.frame.error.is_none();
    let (text, plan) = (visit.form.get("q").trim().to_lowercase(), visit.form.get("plan"));
    let of_plan = |account: &Account| plan.is_empty() || !is_filter || account.plan == plan;
    let fitting: Vec<&Account> =
        all.iter().filter(|account| account.email.contains(&text) && of_plan(account)).collect();
    let pages = Pages::new(fitting.len(), ROWS, &visit.form, ["account", "accounts"]);
    let shown: Vec<&Account> = fitting.into_iter().skip(pages.first).take(ROWS).collect();
    let used = web.accounts.credits_used(&shown)?;
    let row = |(account, used)| {
        let credits = allowed(web.accounts.plan_of(account).credits);
        (account, format!("{used} of {credits}"))
    };
    let rows = shown.into_iter().zip(used).map(row).collect();
    let users = |plan: &Plan| all.iter().filter(|account| account.plan == plan.name).count();
    let plans = web.accounts.plans().all().iter().map(|plan| (plan, users(plan))).collect();
    render(&Page { frame: visit.frame, form: visit.form, plans, rows, link, pages })
}

/// Returns the credits of a cycle as text.
fn allowed(credits: Option<u64>) -> String {
    credits.map_or_else(|| "unlimited".to_owned(), |credits| credits.to_string())
}

/// Handles `POST /app/operator/accounts` with `email` and `plan`: creates an account, and redirects to the page that shows
/// its set-up link once.
///
/// # Errors
/// Returns 503 if the store is unavailable. The page shows what else is wrong.
pub(in crate::web) fn create(web: &Arc<Web>, visit: Visit) -> Answer {
    let (form, (_, origin)) = (&visit.form, visit.actor()?);
    match web.accounts.create_account(form.get("email"), form.get("plan"), &origin) {
        Ok(account) => link_to(web, &visit, &account),
        Err(error) => visit.refuse(error.into(), |visit| page(web, visit)),
    }
}

/// Handles `POST /app/operator/accounts/link` with `email`: makes a new set-up link, and redirects to the page that shows
/// it once.
///
/// # Errors
/// Returns 404 for an unknown account, 503 if the store is unavailable.
pub(in crate::web) fn link(web: &Arc<Web>, visit: Visit) -> Answer {
    let account = web.accounts.open_account(visit.form.get("email"))?;
    link_to(web, &visit, &account)
}

/// Handles `POST /app/operator/accounts/plan` with `email` and `plan`: changes the plan.
///
/// # Errors
/// Returns 404 for an unknown account, 503 if the store is unavailable. The page shows an unknown plan.
pub(in crate::web) fn set_plan(web: &Arc<Web>, visit: Visit) -> Answer {
    let (form, (_, origin)) = (&visit.form, visit.actor()?);
    match web.accounts.set_plan(form.get("email"), form.get("plan"), &origin) {
        Ok(_) => web.redirect_with_notice(PAGE, Notice::PlanChanged),
        Err(error) => visit.refuse(error.into(), |visit| page(web, visit)),
    }
}

fn link_to(web: &Web, visit: &Visit, account: &Account) -> Answer {
    let token = web.sign_ins.make_link(account.id, &visit.actor()?.1)?;
    web.redirect_with(PAGE, &[(Cookie::Made, &format!("{LINK}{}", token.expose()))])
}
