//! The page `/app/operator`: the load of this instance, what was learned from searches, and the health of modules. The server
//! filters the modules, so that it works without scripts and an address always shows the same view.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;

use crate::model::health::{Learned, Opening};
use crate::modules::catalog::FeedReport;
use crate::modules::module::Module;
use crate::modules::query::SearchType;
use crate::runs::health::verdict::{ModuleHealth, Verdict};
use crate::web::cookies::Notice;
use crate::web::show::ago;
use crate::web::{Answer, Form, Frame, Visit, Web, WebError, render};

/// The number of modules on a page.
const MODULES: usize = 100;
/// The maximum number of rows of hosts and modules that are not asked.
const MOST_NOT_ASKED: usize = 200;
/// The share from which a cell is highlighted.
const HIGHLIGHT_FROM: f64 = 0.2;
const NOTHING: &str = "–";

#[derive(Template)]
#[template(path = "operator.html", config = "src/web/askama.toml")]
struct Page<'a> {
    frame: Frame,
    load: [Figure; 11],
    hosts_down: usize,
    quarantined: usize,
    /// The hosts, then the modules that searches do not ask.
    not_asked: Vec<(Learned, (Arc<str>, Opening))>,
    not_asked_shown: String,
    feed: &'a FeedReport,
    modules: usize,
    /// The number of modules with a learned deadline.
    learned: usize,
    configured_deadline: String,
    /// The number of modules by health.
    chips: Vec<(Option<Verdict>, usize)>,
    /// The filters of the table of modules in the address.
    form: Form,
    rows: Vec<(&'a Module, ModuleHealth)>,
    pages: Pages,
    now: Timestamp,
}

/// The part of the page that its script refreshes.
#[derive(Template)]
#[template(path = "operator-load.html", config = "src/web/askama.toml")]
struct LoadPart {
    load: [Figure; 11],
}

/// A figure of the load: its name, its value, and its maximum, if it has one.
type Figure = (&'static str, u64, Option<u64>);

/// A page of a table.
pub(super) struct Pages {
    /// The number of the page, counted from 1.
    pub(super) page: usize,
    pub(super) pages: usize,
    /// The number of rows before those of the page.
    pub(super) first: usize,
    /// A text such as `101–200 of 731 modules`.
    pub(super) shown: String,
}

/// Handles `GET /app/operator`: shows the load, what was learned from searches, and the modules. The parameters `health`,
/// `type`, `q` (a part of a platform's name or a module's id) and `page` filter the modules; invalid ones are ignored.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Answer {
    let (form, now) = (visit.form, web.clock.now());
    let (health, catalog) = (&web.runs.health, web.runs.catalog());
    let mut rows = health.of_all(catalog.modules(), now);
    let (modules, learned) = (rows.len(), rows.iter().filter(|(_, it)| it.deadline_ms.is_some()).count());
    rows.retain(|(module, _)| fits(&form, module));
    let count = |wanted: Option<Verdict>| {
        let fitting = rows.iter().filter(|(_, health)| wanted.is_none_or(|wanted| health.status == wanted));
        (wanted, fitting.count())
    };
    let chips = std::iter::once(None).chain(Verdict::ALL.map(Some)).map(count).collect();
    if let Some(wanted) = Verdict::from_name(form.get("health")) {
        rows.retain(|(_, health)| health.status == wanted);
    }
    worst_first(&mut rows);
    let pages = Pages::new(rows.len(), MODULES, &form, ["module", "modules"]);
    let rows = rows.into_iter().skip(pages.first).take(MODULES).collect();
    let (hosts, quarantines) = (health.circuits.open(), health.quarantines.open());
    let (hosts_down, quarantined) = (hosts.len(), quarantines.len());
    let hosts = hosts.into_iter().map(|host| (Learned::Host, host));
    let not_asked = hosts.chain(quarantines.into_iter().map(|module| (Learned::Quarantine, module)));
    let not_asked: Vec<_> = not_asked.take(MOST_NOT_ASKED).collect();
    let words = ["host or module", "hosts and modules"];
    render(&Page {
        frame: visit.frame,
        load: figures(web),
        hosts_down,
        quarantined,
        not_asked_shown: shown(0, not_asked.len(), hosts_down + quarantined, words),
        not_asked,
        feed: catalog.feed(),
        modules,
        learned,
        configured_deadline: duration(health.check_timeout.as_millis() as u64),
        chips,
        form,
        rows,
        pages,
        now,
    })
}

/// Handles `GET /app/operator/load`: returns the part with the load.
pub(in crate::web) fn load(web: &Arc<Web>, _: Visit) -> Answer {
    render(&LoadPart { load: figures(web) })
}

/// Handles `POST /app/operator/health/reset` with `kind`: forgets what was learned of this kind, with `name` only that of
/// this host or module.
///
/// # Errors
/// Returns 404 for an unknown kind, 503 if the store is unavailable.
pub(in crate::web) fn reset(web: &Arc<Web>, visit: Visit) -> Answer {
    let (form, (_, origin)) = (&visit.form, visit.actor()?);
    let kind = Learned::from_name(form.get("kind")).ok_or_else(WebError::no_such_page)?;
    let name = Some(form.get("name")).filter(|name| !name.is_empty());
    web.runs.health.reset(kind, name, &origin)?;
    web.redirect_with_notice("/app/operator", Notice::HealthReset)
}

/// Returns the figures of searches, those of the server, and counts since the start.
fn figures(web: &Web) -> [Figure; 11] {
    let (runs, server) = (&web.runs, web.threads.load());
    let figure = |name, value: usize, most: Option<usize>| (name, value as u64, most.map(|most| most as u64));
    let (driven, waiting) = runs.load();
    let (checks, workers) = runs.scheduler.load();
    let (pages, sessions) = (runs.scheduler.busy_in_browsers(), runs.browsers.sessions());
    let done = &runs.figures;
    [
        figure("running searches", driven, None),
        figure("waiting searches", waiting, None),
        figure("running checks", checks, Some(workers)),
        figure("waiting checks", runs.scheduler.waiting(), None),
        figure("pages in browsers", pages, Some(sessions)),
        figure("running requests", server.workers_busy, Some(server.workers_max)),
        figure("waiting requests", server.requests_queued, Some(server.requests_queued_max)),
        figure("streams and waits", server.streams_open, Some(server.streams_max)),
        ("refused requests since the start", server.refused_total, None),
        ("searches since the start", done.started().map(|(_, count)| count).sum(), None),
        ("failed searches since the start", done.failed.get(), None),
    ]
}

impl Pages {
    /// Returns the page in the address, or the last one if there are fewer. `words` are the words for one row and for
    /// more.
    pub(super) fn new(rows: usize, on_a_page: usize, address: &Form, words: [&str; 2]) -> Self {
        let pages = rows.div_ceil(on_a_page).max(1);
        let page = address.get("page").parse().unwrap_or(1).clamp(1, pages);
        let first = (page - 1) * on_a_page;
        Self { page, pages, first, shown: shown(first, (rows - first).min(on_a_page), rows, words) }
    }
}

/// Returns a text such as `101–200 of 731 modules`.
fn shown(first: usize, on_page: usize, all: usize, [one, many]: [&str; 2]) -> String {
    let word = if all == 1 { one } else { many };
    match on_page == all {
        true => format!("{all} {word}"),
        false => format!("{}–{} of {all} {word}", first + 1, first + on_page),
    }
}

/// Returns whether a module is of the type and contains the text of an address.
fn fits(address: &Form, module: &Module) -> bool {
    let text = address.get("q").trim().to_lowercase();
    let wanted = SearchType::from_name(address.get("type"));
    wanted.is_none_or(|wanted| module.search_type() == wanted)
        && (name(module).contains(&text) || module.id().contains(&text))
}

fn name(module: &Module) -> String {
    module.platform().to_lowercase()
}

/// Sorts modules by their health, the most failures first, then by name.
fn worst_first(rows: &mut [(&Module, ModuleHealth)]) {
    let place = |verdict| Verdict::ALL.iter().position(|known| *known == verdict);
    let failures = |health: &ModuleHealth| health.blocked_rate + health.error_rate;
    rows.sort_by(|(one, a), (other, b)| {
        place(a.status)
            .cmp(&place(b.status))
            .then_with(|| failures(b).total_cmp(&failures(a)))
            .then_with(|| (name(one), one.id()).cmp(&(name(other), other.id())))
    });
}

/// Returns the CSS class of the badge for a verdict.
fn tone(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Ok => "good",
        Verdict::Degraded => "warn",
        Verdict::Blocked | Verdict::Broken => "bad",
        Verdict::Unknown => "",
    }
}

/// Returns the word of a verdict in an address, empty for all.
fn word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("", Verdict::as_str)
}

/// Formats a share of the checks of a module as whole percent. A share above 0 is never shown as 0.
fn rate(health: &ModuleHealth, share: f64) -> String {
    match (share * 100.0).round() as u64 {
        _ if health.sample == 0 => NOTHING.to_owned(),
        0 if share > 0.0 => "<1%".to_owned(),
        whole => format!("{whole}%"),
    }
}

fn duration(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{:.1} s", ms as f64 / 1000.0) }
}

/// Returns a duration that may be unknown.
fn optional_duration(ms: Option<u64>) -> String {
    ms.map_or_else(|| NOTHING.to_owned(), duration)
}
