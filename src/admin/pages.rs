//! The page of metrics. To add one: count it in the layer where it arises (`base::count`), and add its line here. A label
//! never contains anything that a client chose: no query, no key, no id.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use parking_lot::Mutex;

use super::exposition::Exposition;
use super::exposition::Kind::{Counter, Gauge, Histogram};
use super::process;
use crate::api::Api;
use crate::http::{Threads, Traffic};
use crate::runs::figures::Figures;
use crate::runs::health::verdict::Verdict;
use crate::webhooks::dispatcher::Dispatcher;

/// The sources of the metrics. They exist once the server is built.
pub struct Parts {
    /// The JSON API.
    pub api: Arc<Api>,
    /// The requests of the API and of the web app.
    pub traffic: [Arc<Traffic>; 2],
    /// The deliveries to webhooks, unless the server has no key for their secrets.
    pub deliveries: Option<Arc<Dispatcher>>,
    /// The load of the public listener.
    pub threads: Arc<Threads>,
    /// When the periodic tasks were done last.
    pub maintained: Arc<TaskTimes>,
}

/// When each periodic task was done last, by its name.
pub type TaskTimes = Mutex<BTreeMap<&'static str, Instant>>;

/// Returns the page. It makes no database query, so it also answers while the database is unavailable. Until the server
/// serves, it contains only the metrics of the process.
pub(super) fn page(started: Timestamp, parts: Option<&Parts>) -> Vec<u8> {
    let mut page = Exposition::default();
    let version = [(env!("CARGO_PKG_VERSION"), 1)];
    page.by("version", Gauge, "sightline_build_info 1, with the version as its label.", version);
    if let Some(parts) = parts {
        write_listener(&mut page, parts);
        write_load(&mut page, parts);
        write_runs(&mut page, &parts.api.runs.figures);
        write_checks(&mut page, &parts.api.runs.figures);
        write_modules(&mut page, parts);
        write_deliveries(&mut page, parts);
        write_store(&mut page, parts);
        let help = "sightline_maintenance_age_seconds Time since a periodic task was done last.";
        page.family(Gauge, help);
        for (task, done) in &*parts.maintained.lock() {
            page.sample(&[("task", task)], done.elapsed().as_secs_f64());
        }
    }
    process::write(&mut page, started);
    page.text.into_bytes()
}

/// Writes the requests and the threads of the public listener.
fn write_listener(page: &mut Exposition, parts: &Parts) {
    let (load, sides) = (parts.threads.load(), || parts.traffic.iter().map(|side| &**side));
    let help = "sightline_http_requests_total Answers by route, method and status; the route is none or /app none for \
                an unknown path.";
    page.family(Counter, help);
    for (route, method, status, count) in sides().flat_map(Traffic::answers) {
        let labels = [("route", route), ("method", method), ("status", &status.to_string())];
        page.sample(&labels, count as f64);
    }
    let help = "sightline_http_request_duration_seconds Time from a fully read request to its answer, or to the first \
                byte of its stream, including waits.";
    page.family(Histogram, help);
    for (route, method, spread) in sides().flat_map(Traffic::durations) {
        page.histogram(&[("route", route), ("method", method)], spread);
    }
    let streams = sides().map(|side| side.streams.get()).sum::<u64>() as f64;
    let waits = sides().map(|side| side.waits.get()).sum::<u64>() as f64;
    let (queued, queued_max) = (load.requests_queued as f64, load.requests_queued_max as f64);
    page.rows([
        (Gauge, "sightline_http_workers_busy Busy request workers.", load.workers_busy as f64),
        (Gauge, "sightline_http_workers Request workers.", load.workers_max as f64),
        (Gauge, "sightline_http_queue_length Requests that wait for a worker.", queued),
        (Gauge, "sightline_http_queue_length_max Limit on requests that wait for a worker.", queued_max),
        (Gauge, "sightline_http_long_threads Threads for streams and waits.", load.streams_open as f64),
        (Gauge, "sightline_http_long_threads_max Limit on these threads.", load.streams_max as f64),
        (Gauge, "sightline_http_streams Open streams.", streams),
        (Gauge, "sightline_http_waits Requests that wait for the end of a search.", waits),
        (Counter, "sightline_http_overloaded_total Requests refused at a limit.", load.refused_total as f64),
        (Counter, "sightline_http_accept_rebuilds_total New accept loops.", load.rebuilds_total as f64),
    ]);
}

/// Writes what runs now.
fn write_load(page: &mut Exposition, parts: &Parts) {
    let (runs, scheduler) = (&parts.api.runs, &parts.api.runs.scheduler);
    let ((driven, waiting), (busy, workers)) = (runs.load(), scheduler.load());
    let (pages, sessions) = (scheduler.busy_in_browsers() as f64, runs.browsers.sessions() as f64);
    page.rows([
        (Gauge, "sightline_runs_driven Searches that run on this instance.", driven as f64),
        (Gauge, "sightline_runs_waiting Searches of all instances that wait for a driver.", waiting as f64),
        (Gauge, "sightline_check_workers_busy Busy check workers.", busy as f64),
        (Gauge, "sightline_check_workers Check workers.", workers as f64),
        (Gauge, "sightline_browser_sessions_busy Pages that are open in the browser.", pages),
        (Gauge, "sightline_browser_sessions Limit on these pages; 0 if no browser is configured.", sessions),
        (Gauge, "sightline_checks_waiting Checks that have not begun.", scheduler.waiting() as f64),
    ]);
}

/// Writes what became of searches. The bookings are those of this process: the ledger in the database is authoritative.
fn write_runs(page: &mut Exposition, figures: &Figures) {
    let help = "sightline_runs_started_total Searches charged and started on this instance, by type.";
    let started = figures.started().map(|(search_type, count)| (search_type.as_str(), count));
    page.by("type", Counter, help, started);
    let help = "sightline_runs_ended_total Searches ended on this instance, by status.";
    let ended = [("completed", figures.completed.get()), ("failed", figures.failed.get())];
    page.by("status", Counter, help, ended);
    let help =
        "sightline_run_duration_seconds Time from the first start of a search to its end on this instance.";
    page.spread(help, &figures.run_durations);
    let help =
        "sightline_queue_duration_seconds Time that a search waited for its first driver on this instance.";
    page.spread(help, &figures.queue_durations);
    let counts = [
        ("sightline_runs_taken_over_total Interrupted searches taken over.", &figures.taken_over),
        ("sightline_results_total Results stored by this instance.", &figures.results),
        ("sightline_charges_total Charges booked by this instance.", &figures.charges),
        ("sightline_credits_charged_total Credits charged by this instance.", &figures.credits_charged),
        ("sightline_refunds_total Refunds booked by this instance.", &figures.failed),
        ("sightline_credits_refunded_total Credits refunded by this instance.", &figures.credits_refunded),
        ("sightline_shared_answers_total Checks that shared an answer.", &figures.shared_answers),
    ];
    page.rows(counts.map(|(help, count)| (Counter, help, count.get() as f64)));
}

fn write_checks(page: &mut Exposition, figures: &Figures) {
    let help = "sightline_checks_total Ended modules by type of search and outcome.";
    page.family(Counter, help);
    for (search_type, outcome, count) in figures.checks() {
        page.sample(&[("type", search_type.as_str()), ("outcome", outcome.as_str())], count as f64);
    }
    let help = "sightline_checks_cut_total Modules not asked, or not given the configured time, by reason.";
    page.by("reason", Counter, help, figures.cuts().map(|(cut, count)| (cut.as_str(), count)));
    let help =
        "sightline_check_duration_seconds Duration of a check, with its retries and its control check.";
    page.spread(help, &figures.check_durations);
}

fn write_modules(page: &mut Exposition, parts: &Parts) {
    let (health, catalog, now) = (&parts.api.runs.health, parts.api.runs.catalog(), parts.api.clock.now());
    let (circuits, quarantines) = (health.circuits.open().len(), health.quarantines.open().len());
    let feed = catalog.feed();
    let has_failed = f64::from(u8::from(feed.failed.is_some()));
    page.rows([
        (Gauge, "sightline_circuits_open Hosts not asked because they did not answer.", circuits as f64),
        (Gauge, "sightline_modules_quarantined Modules not asked after failed controls.", quarantines as f64),
        (Gauge, "sightline_catalog_feed_failed 1 if the last attempt brought no usable feed.", has_failed),
    ]);
    let age = feed.in_use.map(|version| version.age(now) as f64);
    let help = "sightline_catalog_feed_age_seconds Time since the catalogue feed in use was signed.";
    page.rows(age.map(|age| (Gauge, help, age)));
    let all = health.of_all(catalog.modules(), now);
    let count = |verdict| all.iter().filter(|(_, health)| health.status == verdict).count() as u64;
    let modules = Verdict::ALL.into_iter().map(|verdict| (verdict.as_str(), count(verdict)));
    page.by("health", Gauge, "sightline_modules Modules of the catalogue by their current health.", modules);
}

fn write_deliveries(page: &mut Exposition, parts: &Parts) {
    let Some(deliveries) = &parts.deliveries else { return };
    let figures = &deliveries.figures;
    let help = "sightline_delivery_attempts_total Attempts to send a message to a webhook, by success.";
    let attempts = [("delivered", figures.delivered.get()), ("failed", figures.failed.get())];
    page.by("result", Counter, help, attempts);
    let (busy, disabled) = (deliveries.busy() as f64, figures.disabled.get() as f64);
    page.rows([
        (Gauge, "sightline_deliveries_busy Messages to webhooks that are being sent.", busy),
        (Counter, "sightline_webhooks_disabled_total Webhooks disabled because receivers failed.", disabled),
    ]);
}

fn write_store(page: &mut Exposition, parts: &Parts) {
    let (load, operations) = (parts.api.store.load(), parts.api.store.operations());
    let connections = [("used", load.used as u64), ("idle", load.idle as u64)];
    page.by("state", Gauge, "sightline_store_connections Open connections of the store's pool.", connections);
    let is_away = f64::from(u8::from(load.is_unavailable));
    page.rows([
        (Gauge, "sightline_store_connections_max Limit on these connections.", load.max as f64),
        (Gauge, "sightline_store_away 1 while the database is unavailable or refuses writes.", is_away),
    ]);
    let help =
        "sightline_store_operation_duration_seconds Duration of operations, with the wait for a connection.";
    page.family(Histogram, help);
    for (name, metrics) in &operations {
        page.histogram(&[("operation", name)], &metrics.durations);
    }
    let help =
        "sightline_store_failures_total Failed operations: unavailable can be retried, broken is a defect.";
    page.family(Counter, help);
    for (name, metrics) in &operations {
        for (kind, count) in [("unavailable", &metrics.unavailable), ("broken", &metrics.broken)] {
            page.sample(&[("operation", name), ("kind", kind)], count.get() as f64);
        }
    }
}
