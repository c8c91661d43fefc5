//! The page `/app/operator`: the load of this instance, what was learnt from searches, and the health of modules. The server
//! filters the modules, so that it works without scripts and an address always shows the same view.

use std::sync::Arc;

use askama::Template;
use jiff::Timestamp;
use url::form_urlencoded;

use crate::http::{Load, Reply};
use crate::model::health::{Learnt, Opening};
use crate::modules::catalog::FeedReport;
use crate::modules::module::Module;
use crate::modules::query::SearchType;
use crate::runs::health::verdict::{ModuleHealth, Verdict};
use crate::runs::service::Runs;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::notice::Notice;
use crate::web::service::Web;
use crate::web::show::{Moment, ago};
use crate::web::visit::{Form, Visit};

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
    /// The hosts, then the modules.
    not_asked: Vec<NotAsked>,
    not_asked_shown: String,
    feed: &'a FeedReport,
    /// How long ago the feed in use was signed.
    feed_age: Option<String>,
    modules: usize,
    /// The number of modules with a learnt deadline.
    learnt: usize,
    configured_deadline: String,
    /// The filters by health, with the number of their modules and the address.
    chips: Vec<(Option<Verdict>, usize, String)>,
    choice: Choice,
    rows: Vec<ModuleRow<'a>>,
    pages: Pages,
}

/// The part of the page that its script refreshes.
#[derive(Template)]
#[template(path = "operator-load.html", config = "src/web/askama.toml")]
struct LoadPart {
    load: [Figure; 11],
}

/// A figure of the load with its maximum, if it has one.
struct Figure {
    name: &'static str,
    value: u64,
    most: Option<u64>,
}

/// A host or a module that searches do not ask.
struct NotAsked {
    kind: Learnt,
    name: Arc<str>,
    opening: Opening,
    /// The time of the next try, or `None` if the next search tries it.
    next_try: Option<Moment>,
}

/// A module in the table.
struct ModuleRow<'a> {
    module: &'a Module,
    health: ModuleHealth,
    now: Timestamp,
}

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

/// The filters of the table of modules, as its address contains them.
#[derive(Clone)]
struct Choice {
    health: Option<Verdict>,
    search_type: Option<SearchType>,
    /// A part of a platform's name or a module's id in lower case. If it is empty, all modules match.
    text: String,
    page: usize,
}

/// Handles `GET /app/operator`: shows the load, what was learnt from searches, and the modules.
///
/// # Errors
/// Returns no error.
pub(in crate::web) fn page(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (runs, now) = (&web.parts.runs, web.parts.clock.now());
    let (health, catalog) = (runs.module_health(), runs.catalog());
    let mut rows = health.of_all(catalog.modules(), now);
    let (modules, learnt) =
        (rows.len(), rows.iter().filter(|(_, health)| health.deadline_ms.is_some()).count());
    let mut choice = Choice::read(&visit.query());
    rows.retain(|(module, _)| choice.fits(module));
    let chip = |verdict: Option<Verdict>| {
        let count = rows.iter().filter(|(_, health)| verdict.is_none_or(|wanted| health.status == wanted));
        (verdict, count.count(), Choice { health: verdict, page: 1, ..choice.clone() }.query())
    };
    let chips = std::iter::once(None).chain(Verdict::ALL.map(Some)).map(chip).collect();
    rows.retain(|(_, health)| choice.health.is_none_or(|wanted| health.status == wanted));
    worst_first(&mut rows);
    let pages = Pages::new(rows.len(), MODULES, choice.page, ["module", "modules"]);
    choice.page = pages.page;
    let (hosts, quarantines) = (health.circuits.open(), health.quarantines.open());
    let (hosts_down, quarantined) = (hosts.len(), quarantines.len());
    let hosts = hosts.into_iter().map(|open| (Learnt::Host, open));
    let not_asked = hosts.chain(quarantines.into_iter().map(|open| (Learnt::Quarantine, open)));
    let not_asked: Vec<NotAsked> =
        not_asked.take(MOST_NOT_ASKED).map(|(kind, open)| NotAsked::of(kind, open, now)).collect();
    let page = Page {
        load: figures(runs, &web.parts.load_reader.load()),
        not_asked_shown: shown(
            0,
            not_asked.len(),
            hosts_down + quarantined,
            ["host or module", "hosts and modules"],
        ),
        not_asked,
        hosts_down,
        quarantined,
        feed: catalog.feed(),
        feed_age: catalog.feed().in_use.map(|feed| ago(feed.created_at, now)),
        modules,
        learnt,
        configured_deadline: duration(health.check_timeout().as_millis() as u64),
        chips,
        rows: rows
            .into_iter()
            .skip(pages.first)
            .take(MODULES)
            .map(|(module, health)| ModuleRow { module, health, now })
            .collect(),
        pages,
        choice,
        frame: visit.frame,
    };
    Ok(Reply::Now(render(&page)))
}

/// Handles `GET /app/operator/load`: returns the part with the load.
///
/// # Errors
/// Returns no error.
pub(in crate::web) fn load(web: &Arc<Web>, _: Visit) -> Result<Reply, WebError> {
    let load = figures(&web.parts.runs, &web.parts.load_reader.load());
    Ok(Reply::Now(render(&LoadPart { load })))
}

/// Handles `POST /app/operator/health/reset` with `kind`: forgets what was learnt of this kind, with `name` only that of this
/// host or module.
///
/// # Errors
/// Returns 404 for an unknown kind, 503 if the store is unavailable.
pub(in crate::web) fn reset(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let form = visit.form();
    let kind = Learnt::from_name(form.get("kind")).ok_or_else(WebError::no_such_page)?;
    let name = Some(form.get("name").to_owned()).filter(|name| !name.is_empty());
    Ok(web.later(visit, move |web, visit| {
        web.parts.runs.module_health().reset(kind, name.as_deref(), &visit.origin()?)?;
        Ok(Reply::Now(web.redirect_with_notice("/app/operator", Notice::HealthReset)))
    }))
}

/// Returns the figures of searches, those of the server, and counts since the start.
fn figures(runs: &Runs, server: &Load) -> [Figure; 11] {
    let figure = |name, value: usize, most: Option<usize>| Figure {
        name,
        value: value as u64,
        most: most.map(|most| most as u64),
    };
    let count = |name, value| Figure { name, value, most: None };
    let (driven, waiting) = runs.load();
    let (checks, workers) = runs.scheduler().load();
    let (pages, sessions) = (runs.scheduler().busy_in_browsers(), runs.browsing().sessions());
    let done = runs.figures();
    [
        figure("running searches", driven, None),
        figure("waiting searches", waiting, None),
        figure("running checks", checks, Some(workers)),
        figure("waiting checks", runs.scheduler().waiting(), None),
        figure("pages in browsers", pages, Some(sessions)),
        figure("running requests", server.workers_busy, Some(server.workers_max)),
        figure("waiting requests", server.requests_queued, Some(server.requests_queued_max)),
        figure("streams and waits", server.streams_open, Some(server.streams_max)),
        count("refused requests since the start", server.refused_total),
        count("searches since the start", done.started().map(|(_, count)| count).sum()),
        count("failed searches since the start", done.failed.get()),
    ]
}

impl Figure {
    /// Returns the share of the maximum, 0 to 100. It is at least 1 for a value above 0.
    fn percent(&self) -> u64 {
        (self.value * 100).div_ceil(self.most.unwrap_or_default().max(1)).min(100)
    }
}

impl NotAsked {
    fn of(kind: Learnt, (name, opening): (Arc<str>, Opening), now: Timestamp) -> Self {
        let next_try = (opening.next_try > now).then_some(Moment(opening.next_try));
        Self { kind, name, opening, next_try }
    }

    fn is_module(&self) -> bool {
        self.kind == Learnt::Quarantine
    }
}

impl ModuleRow<'_> {
    fn rate(&self, share: f64) -> String {
        if self.health.sample == 0 { NOTHING.to_owned() } else { percent(share) }
    }

    fn last_hit(&self) -> String {
        self.health.last_hit_at.map_or_else(|| NOTHING.to_owned(), |at| ago(at, self.now))
    }
}

impl Pages {
    /// Returns the page `asked`, or the last one if there are fewer. `words` are the words for one row and for more.
    pub(super) fn new(rows: usize, on_a_page: usize, asked: usize, words: [&str; 2]) -> Self {
        let pages = rows.div_ceil(on_a_page).max(1);
        let page = asked.clamp(1, pages);
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

impl Choice {
    /// Parses the parameters of an address. Invalid ones keep their default.
    fn read(address: &Form) -> Self {
        Self {
            health: Verdict::from_name(address.get("health")),
            search_type: SearchType::from_name(address.get("type")),
            text: address.get("q").trim().chars().take(100).collect::<String>().to_lowercase(),
            page: address.get("page").parse().unwrap_or(1),
        }
    }

    fn fits(&self, module: &Module) -> bool {
        self.search_type.is_none_or(|wanted| module.search_type() == wanted)
            && (name(module).contains(&self.text) || module.id().contains(&self.text))
    }

    fn on_page(&self, page: usize) -> String {
        Self { page, ..self.clone() }.query()
    }

    /// Returns the query string of an address with `?`, empty for the defaults.
    fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.health.map(|health| ("health", health.as_str())));
        query.extend_pairs(self.search_type.map(|search_type| ("type", search_type.as_str())));
        query.extend_pairs(Some(("q", &self.text)).filter(|(_, text)| !text.is_empty()));
        query.extend_pairs(Some(("page", self.page.to_string())).filter(|_| self.page > 1));
        let query = query.finish();
        if query.is_empty() { query } else { format!("?{query}") }
    }
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

/// Returns the CSS class of a cell with this share of failures.
fn much(share: f64) -> &'static str {
    if share >= HIGHLIGHT_FROM { " much" } else { "" }
}

/// Formats a share as whole percent. A share above 0 is never shown as 0.
fn percent(share: f64) -> String {
    match (share * 100.0).round() as u64 {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::catalog::Catalog;
    use crate::modules::outcome::Outcome;
    use crate::runs::health::HealthTable;

    #[test]
    fn figures_are_short_and_correctly_rounded() {
        for (share, want) in [(0.0, "0%"), (0.001, "<1%"), (0.354, "35%"), (1.0, "100%")] {
            assert_eq!(percent(share), want);
        }
        assert_eq!((duration(999), duration(1250)), ("999 ms".to_owned(), "1.2 s".to_owned()));
        for (value, most, want) in [(0, 512, 0), (1, 512, 1), (256, 512, 50), (600, 512, 100), (0, 0, 0)] {
            assert_eq!(Figure { name: "a", value, most: Some(most) }.percent(), want, "{value} of {most}");
        }
    }

    #[test]
    fn pages_are_counted_and_none_is_beyond_the_last() {
        for (rows, asked, want) in [
            (0, 1, "0 rows"),
            (1, 0, "1 row"),
            (100, 2, "100 rows"),
            (101, 1, "1–100 of 101 rows"),
            (131, 9, "101–131 of 131 rows"),
        ] {
            assert_eq!(Pages::new(rows, 100, asked, ["row", "rows"]).shown, want, "page {asked}");
        }
    }

    #[test]
    fn modules_are_filtered_by_the_address_and_the_worst_come_first() {
        let entry = |id: &str, platform: &str, kind: &str| {
            serde_json::json!({"id": id, "platform": platform, "type": kind, "category": "test", "control": false,
                "probes": [{"url": "https://a.example/{query}"}], "hit": [{"status": [200]}],
                "miss": [{"status": [404]}]})
        };
        let entries =
            [entry("b", "Beta", "username"), entry("a", "alpha", "username"), entry("c", "Gamma", "email")];
        let text = serde_json::Value::from(entries.to_vec()).to_string();
        let catalog = Catalog::from_text("test", &text).unwrap();
        let (table, now) = (HealthTable::default(), Timestamp::UNIX_EPOCH);
        for (id, outcome) in [("a", Outcome::Hit), ("b", Outcome::Error)] {
            for _ in 0..5 {
                table.note(&id.into(), outcome, std::time::Duration::from_secs(1), now);
            }
        }
        let mut rows = table.of_all(catalog.modules(), now);
        worst_first(&mut rows);
        for (query, want) in
            [("", "bca"), ("?type=email", "c"), ("?q=bet", "b"), ("?type=username&q=a&page=3", "ba")]
        {
            let choice = Choice::read(&Form::parse(query.trim_start_matches('?').as_bytes()));
            let fitting = rows.iter().filter(|(module, _)| choice.fits(module));
            assert_eq!(fitting.map(|(module, _)| module.id().as_ref()).collect::<String>(), want, "{query}");
            assert_eq!(choice.query(), query);
        }
        for nonsense in ["page=-1", "health=%00", "type=x&sort=hits", "q=%20"] {
            assert_eq!(Choice::read(&Form::parse(nonsense.as_bytes())).query(), "", "{nonsense}");
        }
    }
}
