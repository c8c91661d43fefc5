//! The page `/app/operator`: the load of this instance, what was learnt from searches, and the health of modules.

use std::sync::Arc;

use askama::Template;

use super::health::AllNotAsked;
use super::load::{self, Figure};
use super::paging::{pages, shown};
use super::rows::{ModuleRow, duration, tone};
use super::table::{COLUMNS, Choice, Column, ROWS, Row};
use super::trends::TrendView;
use crate::http::{Reply, Response};
use crate::modules::query::SearchType;
use crate::runs::health::verdict::Verdict;
use crate::web::error::WebError;
use crate::web::frame::{Frame, render};
use crate::web::service::Web;
use crate::web::show::Moment;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "operator-service.html", config = "src/web/askama.toml")]
struct Page<'a> {
    frame: Frame,
    load: Vec<Figure>,
    trends: TrendView,
    not_asked: AllNotAsked,
    bundle: Option<StoredBundle>,
    modules: usize,
    /// The number of modules with a learnt deadline.
    learnt: usize,
    configured_deadline: String,
    chips: Vec<Chip>,
    types: [&'static str; SearchType::ALL.len()],
    heads: Vec<Head>,
    choice: &'a Choice,
    rows: Vec<ModuleRow<'a>>,
    shown: String,
    pages: usize,
    before: Option<String>,
    after: Option<String>,
}

/// The stored catalogue bundle.
struct StoredBundle {
    serial: u64,
    created_at: Moment,
    /// The reason why it is not used.
    refused: Option<String>,
}

/// A filter by health, with the number of its modules.
struct Chip {
    name: &'static str,
    tone: &'static str,
    count: usize,
    query: String,
    is_current: bool,
}

/// The header of a column.
struct Head {
    title: &'static str,
    is_number: bool,
    query: String,
    /// The value of `aria-sort`.
    order: Option<&'static str>,
}

/// Handles `GET /app/operator`: shows the load, what was learnt from searches, and the modules.
///
/// # Errors
/// Returns no error.
pub(in crate::web) fn service(web: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let (runs, now) = (&web.parts.runs, web.parts.clock.now());
    let asked = Choice::read(&visit.query());
    let health = runs.module_health();
    let catalog = runs.catalog();
    let all = health.of_all(catalog.modules(), now);
    let (modules, learnt) =
        (all.len(), all.iter().filter(|(_, health)| health.deadline_ms.is_some()).count());
    let mut rows = asked.of_any_health(all);
    let chips = chips(&asked, &rows);
    asked.filter_and_sort(&mut rows);
    let (pages, page) = pages(rows.len(), ROWS, asked.page);
    let choice = asked.on_page(page);
    let first = (page - 1) * ROWS;
    let on_page: Vec<ModuleRow<'_>> =
        rows.iter().skip(first).take(ROWS).map(|row| ModuleRow::of(row, now)).collect();
    let bundle = catalog.bundle().map(|bundle| StoredBundle {
        serial: bundle.serial,
        created_at: Moment(bundle.created_at),
        refused: bundle.refused.clone(),
    });
    let page = Page {
        frame: visit.frame,
        bundle,
        load: load::figures(runs, &web.parts.load_reader.load()),
        trends: TrendView::new(web.trends.since, &web.trends.intervals(now), now),
        not_asked: AllNotAsked::of(health, now),
        modules,
        learnt,
        configured_deadline: duration(health.check_timeout().as_millis() as u64),
        chips,
        types: SearchType::ALL.map(SearchType::as_str),
        heads: COLUMNS.into_iter().map(|column| head(&choice, column)).collect(),
        shown: shown(first, on_page.len(), rows.len(), "module", "modules"),
        rows: on_page,
        pages,
        before: (page > 1).then(|| choice.on_page(page - 1).query()),
        after: (page < pages).then(|| choice.on_page(page + 1).query()),
        choice: &choice,
    };
    Ok(Reply::Now(render(&page)))
}

/// Handles `GET /app/operator/load`: returns the figures for the page's script.
///
/// # Errors
/// Returns no error.
pub(in crate::web) fn load(web: &Arc<Web>, _: Visit) -> Result<Reply, WebError> {
    let figures = load::figures(&web.parts.runs, &web.parts.load_reader.load());
    let text = load::as_json(&figures).to_string();
    Ok(Reply::Now(Response::new(200, "application/json", text.into_bytes())))
}

fn chips(choice: &Choice, rows: &[Row<'_>]) -> Vec<Chip> {
    let chip = |health: Option<Verdict>| Chip {
        name: health.map_or("all", Verdict::as_str),
        tone: health.map_or("", tone),
        count: rows.iter().filter(|(_, of)| health.is_none_or(|wanted| of.status == wanted)).count(),
        query: choice.of_health(health).query(),
        is_current: choice.health == health,
    };
    std::iter::once(None).chain(Verdict::ALL.map(Some)).map(chip).collect()
}

fn head(choice: &Choice, column: Column) -> Head {
    let order = if choice.falling { "descending" } else { "ascending" };
    Head {
        title: column.title,
        is_number: column.is_number,
        query: choice.sorted_by(column).query(),
        order: (choice.column.name == column.name).then_some(order),
    }
}
