//! The page `/app/operator/accounts`: the plans and the accounts on them. Operators create accounts and set-up links, and
//! change plans there. The audit names the operator.

use std::sync::Arc;

use askama::Template;
use url::form_urlencoded;

use super::operator::Pages;
use crate::account::service::{AccountError, Accounts};
use crate::account::sign_in::token::Token;
use crate::http::{Reply, Response};
use crate::model::account::{Account, Role};
use crate::web::error::WebError;
use crate::web::frame::{Frame, render_as};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::{Form, Visit};

/// The beginning of a set-up link's token in the cookie.
const LINK: &str = "link-";
/// The number of rows on a page.
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "operator-accounts.html", config = "src/web/askama.toml")]
struct Page<'a> {
    frame: Frame,
    plans: Vec<PlanRow<'a>>,
    choice: &'a Choice,
    rows: Vec<AccountRow<'a>>,
    /// The set-up link that was just made. It is shown only this once.
    link: Option<String>,
    /// Why an action was refused.
    wrong: Option<String>,
    /// The address and the plan in the form for a new account.
    new_email: String,
    new_plan: String,
    pages: Pages,
}

/// A plan with its number of accounts.
struct PlanRow<'a> {
    name: &'a str,
    credits: String,
    api: bool,
    premium: bool,
    accounts: usize,
}

/// An account in the table.
struct AccountRow<'a> {
    email: &'a str,
    plan: &'a str,
    is_operator: bool,
    /// The used credits, or `None` while the account is being deleted, when only its email address is left.
    used: Option<String>,
    made: Moment,
}

/// The filters in an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Choice {
    /// A part of the email address in lower case. If it is empty, all accounts match.
    text: String,
    /// The name of a plan. If it is empty, all plans match.
    plan: String,
    /// The page number, counted from 1.
    page: usize,
}

impl Choice {
    fn read(address: &Form) -> Self {
        let short = |text: &str| text.trim().chars().take(254).collect::<String>();
        Self {
            text: short(address.get("q")).to_lowercase(),
            plan: short(address.get("plan")),
            page: address.get("page").parse().unwrap_or(1),
        }
    }

    fn fits(&self, account: &Account) -> bool {
        account.email.contains(&self.text) && (self.plan.is_empty() || account.plan == self.plan)
    }

    /// Returns the address parameters for another page with the same filters.
    fn on_page(&self, page: usize) -> String {
        let mut query = form_urlencoded::Serializer::new(String::from("?"));
        query.append_pair("q", &self.text).append_pair("plan", &self.plan);
        query.append_pair("page", &page.to_string());
        query.finish()
    }
}

/// Handles `GET /app/operator/accounts`: shows the accounts.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let has_link = web.made_secret(&visit, LINK).is_some();
    let response = show(web, visit, None)?;
    Ok(Reply::Now(if has_link { web.without_secret(response) } else { response }))
}

/// Returns the page with the reason why an action was refused.
fn show(web: &Web, mut visit: Visit, wrong: Option<String>) -> Result<Response, WebError> {
    visit.frame.here = "/app/operator/accounts";
    let link = web.made_secret(&visit, LINK).filter(|_| wrong.is_none());
    let link = link.as_deref().and_then(|made| Token::parse(made.strip_prefix(LINK)?));
    let link = link.map(|token| format!("{}/app/set-up/{}", web.config.base_url, token.expose()));
    let form = visit.form();
    let refused = |name: &str| wrong.as_ref().map_or_else(String::new, |_| form.get(name).to_owned());
    let (new_email, new_plan) = (refused("email"), refused("plan"));
    let known = &web.parts.accounts;
    let asked = Choice::read(&visit.query());
    let mut all = known.store.accounts()?;
    // The newest accounts come first.
    all.sort_by(|one, other| other.created_at.cmp(&one.created_at).then_with(|| one.email.cmp(&other.email)));
    let fitting: Vec<&Account> = all.iter().filter(|account| asked.fits(account)).collect();
    let pages = Pages::new(fitting.len(), ROWS, asked.page, ["account", "accounts"]);
    let rows = fitting.iter().skip(pages.first).take(ROWS).map(|account| row(known, account));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let page = Page {
        frame: visit.frame,
        plans: plans(known, &all),
        rows,
        pages,
        choice: &asked,
        link,
        new_email,
        new_plan,
        wrong,
    };
    Ok(render_as(if page.wrong.is_some() { 422 } else { 200 }, &page))
}

fn plans<'a>(known: &'a Accounts, all: &[Account]) -> Vec<PlanRow<'a>> {
    let row = |plan: &'a crate::account::plan::Plan| PlanRow {
        name: &plan.name,
        credits: allowed(plan.credits),
        api: plan.api,
        premium: plan.premium,
        accounts: all.iter().filter(|account| account.plan == plan.name).count(),
    };
    known.plans().all().iter().map(row).collect()
}

fn row<'a>(known: &Accounts, account: &'a Account) -> Result<AccountRow<'a>, AccountError> {
    let used = match account.is_being_deleted() {
        true => None,
        false => {
            let balance = known.balance_in(account, &known.plan_of(account))?;
            Some(format!("{} of {}", balance.used, allowed(balance.allowed)))
        }
    };
    Ok(AccountRow {
        email: &account.email,
        plan: &account.plan,
        is_operator: account.role == Role::Operator,
        used,
        made: Moment(account.created_at),
    })
}

/// Returns the credits of a cycle as text.
fn allowed(credits: Option<u64>) -> String {
    credits.map_or_else(|| "unlimited".to_owned(), |credits| credits.to_string())
}

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
    Ok(Reply::Now(web.redirect_with_secret(PAGE, &format!("{}{}", LINK, token.expose()))))
}

fn unknown(error: AccountError) -> WebError {
    match error {
        AccountError::UnknownAccount | AccountError::BeingDeleted => WebError::no_such_page(),
        error => error.into(),
    }
}
