//! The search page, its form, and the start of a search.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;

use crate::account::service::Caller;
use crate::base::ids::RunId;
use crate::model::credits::{Balance, PREMIUM_COST, STANDARD_COST, cost};
use crate::model::follow::{Class, FollowOrder, MAX_DEPTH};
use crate::model::page::ListFilter;
use crate::model::quota::Policy;
use crate::model::refusal::Refusal;
use crate::model::run::{MAX_TIME_BUDGET_SECS, RunOptions, RunSummary};
use crate::model::search::{MAX_PURPOSE, Search, purpose};
use crate::modules::catalog::{Catalog, Choice, MAX_NAMES};
use crate::modules::module::Module;
use crate::modules::profile_index::{NamedAccount, ProfileIndex};
use crate::modules::query::{MAX_QUERY_BYTES, Query, SearchType};
use crate::report::html::titled;
use crate::web::form::new_once;
use crate::web::show::ago;
use crate::web::{Answer, Form, Frame, Moment, Visit, Web, WebError, render};

/// The number of recent searches below the form.
const RECENT: usize = 5;

#[derive(Template)]
#[template(path = "search.html", config = "src/web/askama.toml")]
struct Page {
    frame: Frame,
    form: Form,
    offer: Option<Offer>,
    catalog: Arc<Catalog>,
    owner: Caller,
    /// The number of modules that only premium searches use, and whether a browser is available for them.
    premium_modules: usize,
    can_browse: bool,
    /// The plans that include premium searches.
    premium_plans: String,
    balance: Balance,
    runs: Vec<RunSummary>,
    now: Timestamp,
}

/// An account whose profile has the address that was pasted.
struct Offer {
    name: String,
    platform: String,
    /// The domain of the address, if it can be searched.
    domain: Option<String>,
}

impl Page {
    /// Returns the price of the search in the form.
    fn price(&self) -> u64 {
        let is_of_a_name = ["auto", "username", ""].contains(&self.form.get("type"));
        cost(self.form.has("premium", "yes") && self.owner.plan.premium && is_of_a_name)
    }

    /// Returns the number of sites by category.
    fn categories(&self) -> BTreeMap<(SearchType, &str), usize> {
        let mut sites = BTreeMap::new();
        let is_usual = |module: &&Arc<Module>| module.entry().enabled && !module.entry().needs_engines();
        for module in self.catalog.modules().iter().filter(is_usual) {
            *sites.entry((module.search_type(), module.entry().category.as_str())).or_default() += 1;
        }
        sites
    }
}

/// Handles `GET /app?query=…&type=…`: shows the form, with the query and the type of the address. It starts nothing.
///
/// # Errors
/// Returns 503 if the store is unavailable.
pub(in crate::web) fn page(web: &Arc<Web>, mut visit: Visit) -> Answer {
    let query = visit.form.get("query").chars().filter(|c| !c.is_control());
    let query: String = query.take(MAX_QUERY_BYTES).collect();
    visit.form = new_form(&query, SearchType::from_name(visit.form.get("type")));
    show(web, visit, None)
}

/// Returns a form for a query, with profile pictures. The type is detected if it is `None`.
pub(super) fn new_form(query: &str, search_type: Option<SearchType>) -> Form {
    let (once, search_type) = (new_once(), search_type.map_or("auto", SearchType::as_str));
    let mut form = Form::default();
    for (name, value) in [("query", query), ("type", search_type), ("avatars", "yes"), ("once", &once)] {
        form.add(name, value);
    }
    form
}

fn show(web: &Web, mut visit: Visit, offer: Option<Offer>) -> Answer {
    let owner = visit.caller()?.clone();
    let (runs, _) = web.runs.page(owner.account.id, &ListFilter::default(), RECENT)?;
    // In the menu, the current entry is the search page.
    visit.frame.here = "/app";
    render(&Page {
        frame: visit.frame,
        form: visit.form,
        offer,
        catalog: web.runs.catalog(),
        premium_modules: web.runs.module_counts().premium,
        can_browse: web.runs.browsers.was_available(),
        premium_plans: web.accounts.plans().names_where(|plan| plan.premium).join(", "),
        balance: web.accounts.balance(&owner)?,
        owner,
        runs,
        now: web.clock.now(),
    })
}

/// Handles `POST /app/searches`: charges and starts a search, and redirects to its page. A form that is sent several
/// times starts only one search. If the search is refused, the form shows the reason and keeps its input.
///
/// # Errors
/// Returns 401 without a session, 503 if the store is unavailable.
pub(in crate::web) fn start(web: &Arc<Web>, mut visit: Visit) -> Answer {
    match read_address(&mut visit.form, web.runs.catalog().profiles()) {
        // Nothing is charged for a guess.
        Some(offer) => show(web, visit, Some(offer)),
        None => begin(web, visit),
    }
}

/// Handles `POST /app/searches/{run_id}/again` with `once`: starts the same search with the same options, and redirects to
/// its page. A form that is sent several times starts only one. If the search is refused, the search form shows why.
///
/// # Errors
/// Returns 404 for an unknown run, 409 if its options are not known yet, 503 if the store is unavailable.
pub(in crate::web) fn again(web: &Arc<Web>, mut visit: Visit) -> Answer {
    let mut form = form_of_run(web, super::run::find(web, &visit, "run_id")?)?;
    form.set("once", visit.form.get("once"));
    visit.form = form;
    begin(web, visit)
}

fn begin(web: &Arc<Web>, visit: Visit) -> Answer {
    match start_run(web, &visit) {
        Ok(id) => web.redirect(&format!("/app/searches/{id}")),
        Err(error) => visit.refuse(error, |visit| show(web, visit, None)),
    }
}

/// Counts, checks and starts the search of a form.
fn start_run(web: &Web, visit: &Visit) -> Result<RunId, WebError> {
    let (caller, (account, origin)) = (visit.caller()?, visit.actor()?);
    web.limiter.count(account, &[Policy::Search], &mut Vec::new())?;
    let once = visit.once()?;
    let (query, search) = search_of(&visit.form, &web.runs.catalog())?;
    web.check(caller, &query, &search, true)?;
    let idempotency = web.idempotency(Some(once), &search);
    Ok(web.start(caller, search, idempotency, origin)?.id)
}

/// Changes a form with the address of a profile to the search that the user has chosen. Returns what to choose from if the
/// user has not chosen yet.
fn read_address(form: &mut Form, profiles: &ProfileIndex) -> Option<Offer> {
    if !["", "auto"].contains(&form.get("type")) {
        return None;
    }
    let NamedAccount { module, query } = profiles.account_in(form.get("query"))?;
    match form.get("as") {
        "domain" => form.set("type", "domain"),
        meant @ ("account" | "username") => {
            if meant == "account" {
                form.set("modules", module.id());
                form.set("exclude_modules", "");
                form.set("category", "");
            }
            form.set("type", "username");
            form.set("query", query.raw());
        }
        _ => {
            let domain = Query::parse(SearchType::Domain, form.get("query")).ok();
            let domain = domain.map(|domain| domain.normal().to_owned());
            return Some(Offer {
                name: query.raw().to_owned(),
                platform: module.platform().to_owned(),
                domain,
            });
        }
    }
    None
}

/// Returns the search that a form describes. Names of sites become ids, and only categories of its type count.
///
/// # Errors
/// Returns 400 if a field is not valid.
pub(super) fn search_of(form: &Form, catalog: &Catalog) -> Result<(Query, Search), WebError> {
    let (text, is_checked) = (form.get("query"), |name| form.has(name, "yes"));
    let search_type = match form.get("type") {
        "" | "auto" => SearchType::recognized(text),
        name => SearchType::from_name(name)
            .ok_or_else(|| Refusal::not_one_of("type", &SearchType::ALL.map(SearchType::as_str)))?,
    };
    let query = Query::parse(search_type, text).map_err(Refusal::from)?;
    let category =
        |value: &str| Some(value.strip_prefix(search_type.as_str())?.strip_prefix('/')?.to_owned());
    let choice = Choice {
        modules: names(form.get("modules")),
        exclude_modules: names(form.get("exclude_modules")),
        categories: form.all("category").filter_map(category).take(MAX_NAMES).collect(),
        nsfw: is_checked("nsfw"),
        engines: is_checked("engines"),
        passive: is_checked("passive"),
    };
    let choice = catalog.with_ids(search_type, choice);
    let follow = form.number("follow", MAX_DEPTH)?.map(|depth| FollowOrder {
        depth,
        max_searches: FollowOrder::DEFAULT_SEARCHES,
        links: Class::Stated,
        choice: choice.clone(),
    });
    let purpose =
        Some(form.get("purpose")).filter(|text| !text.trim().is_empty()).map(purpose).transpose()?;
    let options = RunOptions {
        patient: is_checked("patient"),
        time_budget: form.number("time_budget", MAX_TIME_BUDGET_SECS)?,
        avatars: is_checked("avatars"),
        evidence: is_checked("evidence"),
        ..RunOptions::default()
    };
    let search = Search {
        premium: is_checked("premium") && search_type == SearchType::Username,
        options,
        choice,
        follow: follow.map(Arc::new),
        purpose,
        ..Search::plain(&query)
    };
    Ok((query, search))
}

/// Returns the names in a list. Names of sites may contain spaces.
fn names(list: &str) -> Vec<String> {
    let names = list.split([',', ';', '\n']).map(str::trim).filter(|name| !name.is_empty());
    names.take(MAX_NAMES).map(str::to_owned).collect()
}

/// Returns whether a form chooses sites or categories.
pub(super) fn chooses_sites(form: &Form) -> bool {
    ["modules", "exclude_modules", "category"].iter().any(|name| !form.get(name).trim().is_empty())
}

/// Returns the form that asks for the search of a run with the same options. A run of an earlier version has no choice
/// of sites: if the caller had named its modules, they are those that it has asked.
///
/// # Errors
/// Returns 409 if they are not known yet, 503 if the store is unavailable.
pub(super) fn form_of_run(web: &Web, run: RunSummary) -> Result<Form, WebError> {
    let RunOptions { patient, time_budget, named, nsfw, engines, passive, avatars, evidence, .. } =
        run.options;
    let choice = match run.choice.as_deref() {
        Some(choice) => choice.clone(),
        None if !named => Choice::default(),
        None if !run.status.is_terminal() => {
            let text = "This search asks only some sites. They are known when it has ended: try again then.";
            return Err(WebError::new(409, "The search has not ended", text));
        }
        None => {
            let modules = web.store.modules(run.id)?.into_iter().map(|report| report.module.clone());
            Choice { modules: modules.collect(), ..Choice::default() }
        }
    };
    let mut form = new_form(&run.query, Some(run.search_type));
    let checks = [
        ("premium", run.premium),
        ("nsfw", nsfw),
        ("engines", engines),
        ("passive", passive),
        ("patient", patient),
        ("avatars", avatars),
        ("evidence", evidence),
    ];
    for (name, is_checked) in checks {
        form.set(name, if is_checked { "yes" } else { "" });
    }
    form.set("time_budget", &time_budget.map_or_else(String::new, |secs| secs.to_string()));
    let depth = run.follow.filter(|_| run.family.is_none()).map(|order| order.depth.to_string());
    form.set("follow", &depth.unwrap_or_default());
    form.set("modules", &choice.modules.join(", "));
    form.set("exclude_modules", &choice.exclude_modules.join(", "));
    choice.categories.iter().for_each(|name| form.add("category", &format!("{}/{name}", run.search_type)));
    Ok(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(text: &str) -> Result<Search, WebError> {
        let catalog = Catalog::from_text("none", "[]").unwrap();
        search_of(&Form::parse(text.as_bytes()), &catalog).map(|(_, search)| search)
    }

    #[test]
    fn forms_that_ask_for_the_same_are_the_same_search() {
        let usual = sent("query=octocat&type=auto&once=1").unwrap();
        assert_eq!(usual, sent("query=octocat&type=username&once=2").unwrap());
        for other in [
            "query=octocat&premium=yes",
            "query=octocat&nsfw=yes",
            "query=octocat&passive=yes",
            "query=octocat&patient=yes",
            "query=octocat&avatars=yes",
            "query=octocat&time_budget=10",
            "query=octocat&follow=1",
            "query=octocat&modules=github",
            "query=octocat&exclude_modules=github",
            "query=octocat&category=username/coding",
            "query=Octocat",
        ] {
            assert_ne!(usual, sent(other).unwrap(), "{other}");
        }
        let email = sent("query=a@example.com").unwrap();
        assert_eq!(email, sent("query=a@example.com&premium=yes").unwrap(), "premium is for usernames");
        let other_type = sent("query=octocat&category=email/profile&category=x").unwrap();
        assert_eq!(usual, other_type, "a category of another type");
        for wrong in ["type=phone", "follow=4", "time_budget=0", "time_budget=1.5", "purpose=a%0Ab"] {
            assert_eq!(sent(&format!("query=octocat&{wrong}")).unwrap_err().status, 400, "{wrong}");
        }
    }
}
