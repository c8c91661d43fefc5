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
pub(super) fn page(started: Timestamp, parts: Option<&Parts>) -> String {
    let mut page = Exposition::default();
    let help = "1, with the version as its label.";
    page.by("version", Gauge, "sightline_build_info", help, [(env!("CARGO_PKG_VERSION"), 1)]);
    if let Some(parts) = parts {
        write_listener(&mut page, parts);
        write_load(&mut page, parts);
        write_runs(&mut page, &parts.api.runs.figures);
        write_checks(&mut page, &parts.api.runs.figures);
        write_modules(&mut page, parts);
        write_deliveries(&mut page, parts);
        write_store(&mut page, parts);
        let help = "Time since a periodic task was done last.";
        let mut ages = page.family(Gauge, "sightline_maintenance_age_seconds", help);
        for (task, done) in &*parts.maintained.lock() {
            ages.sample(&[("task", task)], done.elapsed().as_secs_f64());
        }
    }
    process::write(&mut page, started);
    page.into_text()
}

/// Writes the requests and the threads of the public listener.
fn write_listener(page: &mut Exposition, parts: &Parts) {
    let (load, sides) = (parts.threads.load(), || parts.traffic.iter().map(|side| &**side));
    let help = "Answers by route, method and status; the route is none or /app none for an unknown path.";
    let mut requests = page.family(Counter, "sightline_http_requests_total", help);
    for (route, method, status, count) in sides().flat_map(Traffic::answers) {
        let labels = [("route", route), ("method", method), ("status", &status.to_string())];
        requests.sample(&labels, count as f64);
    }
    let help =
        "Time from a fully read request to its answer, or to the first byte of its stream, including waits.";
    let mut durations = page.family(Histogram, "sightline_http_request_duration_seconds", help);
    for (route, method, spread) in sides().flat_map(Traffic::durations) {
        durations.histogram(&[("route", route), ("method", method)], &spread);
    }
    let long = "threads for streams, waits, large answers and slow bodies.";
    page.gauge("sightline_http_workers_busy", "Busy request workers.", load.workers_busy as f64);
    page.gauge("sightline_http_workers", "Request workers.", load.workers_max as f64);
    let (waiting, most) = (load.requests_queued as f64, load.requests_queued_max as f64);
    page.gauge("sightline_http_queue_length", "Requests that wait for a worker.", waiting);
    page.gauge("sightline_http_queue_length_max", "Limit on requests that wait for a worker.", most);
    page.gauge("sightline_http_long_threads", &format!("Busy {long}"), load.streams_open as f64);
    page.gauge("sightline_http_long_threads_max", &format!("Limit on {long}"), load.streams_max as f64);
    let (streams, waits) =
        sides().fold((0, 0), |(a, b), side| (a + side.streams.get(), b + side.waits.get()));
    page.gauge("sightline_http_streams", "Open streams.", streams as f64);
    page.gauge("sightline_http_waits", "Requests that wait for the end of a search.", waits as f64);
    let help = "Requests answered 503 because all threads and queues were full.";
    page.counter("sightline_http_overloaded_total", help, load.refused_total);
    let help = "Times that the accept loop failed and was replaced.";
    page.counter("sightline_http_accept_rebuilds_total", help, load.rebuilds_total);
}

/// Writes what runs now.
fn write_load(page: &mut Exposition, parts: &Parts) {
    let (runs, scheduler) = (&parts.api.runs, &parts.api.runs.scheduler);
    let ((driven, waiting), (busy, workers)) = (runs.load(), scheduler.load());
    let (pages, sessions) = (scheduler.busy_in_browsers(), runs.browsers.sessions());
    page.gauge("sightline_runs_driven", "Searches that run on this instance.", driven as f64);
    let help = "Searches of all instances that wait for a driver, measured every few seconds.";
    page.gauge("sightline_runs_waiting", help, waiting as f64);
    page.gauge("sightline_check_workers_busy", "Busy check workers.", busy as f64);
    page.gauge("sightline_check_workers", "Check workers.", workers as f64);
    let help = "Pages that are open in browsers for premium searches.";
    page.gauge("sightline_browser_sessions_busy", help, pages as f64);
    let help = "Limit on pages open in browsers; 0 if no browser is configured.";
    page.gauge("sightline_browser_sessions", help, sessions as f64);
    let help = "Checks of running searches that have not begun.";
    page.gauge("sightline_checks_waiting", help, scheduler.waiting() as f64);
}

/// Writes what became of searches. The bookings are those of this process: the ledger in the database is authoritative.
fn write_runs(page: &mut Exposition, figures: &Figures) {
    let help = "Searches charged and started on this instance, by type.";
    let started = figures.started().map(|(search_type, count)| (search_type.as_str(), count));
    page.by("type", Counter, "sightline_runs_started_total", help, started);
    let help = "Searches ended on this instance, by status.";
    let ended = [("completed", figures.completed.get()), ("failed", figures.failed.get())];
    page.by("status", Counter, "sightline_runs_ended_total", help, ended);
    let help = "Time from the first start of a search to its end, for searches ended on this instance.";
    let mut durations = page.family(Histogram, "sightline_run_duration_seconds", help);
    durations.histogram(&[], &figures.run_durations.snapshot());
    let help = "Time that a search waited for its first driver, for searches first driven on this instance.";
    let mut waits = page.family(Histogram, "sightline_queue_duration_seconds", help);
    waits.histogram(&[], &figures.queue_durations.snapshot());
    for (name, help, count) in [
        ("runs_taken_over", "Interrupted searches that this instance took over.", &figures.taken_over),
        ("results", "Results stored by this instance.", &figures.results),
        ("charges", "Charges booked by this instance.", &figures.charges),
        ("credits_charged", "Credits charged by this instance.", &figures.credits_charged),
        ("refunds", "Refunds booked by this instance.", &figures.refunds),
        ("credits_refunded", "Credits refunded by this instance.", &figures.credits_refunded),
    ] {
        page.counter(&format!("sightline_{name}_total"), help, count.get());
    }
}

fn write_checks(page: &mut Exposition, figures: &Figures) {
    let help = "Ended modules by type of search and outcome.";
    let mut checks = page.family(Counter, "sightline_checks_total", help);
    for (search_type, outcome, count) in figures.checks() {
        checks.sample(&[("type", search_type.as_str()), ("outcome", outcome.as_str())], count as f64);
    }
    let help = "Modules that ended with the answer to another search for the same query.";
    page.counter("sightline_shared_answers_total", help, figures.shared_answers.get());
    let help = "Modules that were not asked, or not given the configured time, by reason.";
    let cuts = figures.cuts().map(|(cut, count)| (cut.as_str(), count));
    page.by("reason", Counter, "sightline_checks_cut_total", help, cuts);
    let help = "Duration of a check, including its retries and its control check.";
    let mut durations = page.family(Histogram, "sightline_check_duration_seconds", help);
    durations.histogram(&[], &figures.check_durations.snapshot());
}

fn write_modules(page: &mut Exposition, parts: &Parts) {
    let (health, catalog, now) = (&parts.api.runs.health, parts.api.runs.catalog(), parts.api.clock.now());
    let help = "Hosts that searches do not ask because they gave no answer to the last checks.";
    page.gauge("sightline_circuits_open", help, health.circuits.open().len() as f64);
    let help = "Modules that searches do not ask because they failed their last control checks.";
    page.gauge("sightline_modules_quarantined", help, health.quarantines.open().len() as f64);
    let feed = catalog.feed();
    if let Some(version) = feed.in_use {
        let help = "Time since the catalogue feed in use was signed.";
        page.gauge("sightline_catalog_feed_age_seconds", help, version.age(now) as f64);
    }
    let help = "1 if the last attempt brought no catalogue feed that can be used.";
    page.gauge("sightline_catalog_feed_failed", help, f64::from(u8::from(feed.failed.is_some())));
    let all = health.of_all(catalog.modules(), now);
    let count = |verdict| all.iter().filter(|(_, health)| health.status == verdict).count() as u64;
    let modules = Verdict::ALL.into_iter().map(|verdict| (verdict.as_str(), count(verdict)));
    let help = "Modules of the catalogue by their current health.";
    page.by("health", Gauge, "sightline_modules", help, modules);
}

fn write_deliveries(page: &mut Exposition, parts: &Parts) {
    let Some(deliveries) = &parts.deliveries else { return };
    let figures = &deliveries.figures;
    let help = "Messages to webhooks that this instance is sending.";
    page.gauge("sightline_deliveries_busy", help, deliveries.busy() as f64);
    let help = "Attempts of this instance to send a message to a webhook, by success.";
    let attempts = [("delivered", figures.delivered.get()), ("failed", figures.failed.get())];
    page.by("result", Counter, "sightline_delivery_attempts_total", help, attempts);
    let help = "Webhooks that this instance disabled because their receivers failed or wanted no more.";
    page.counter("sightline_webhooks_disabled_total", help, figures.disabled.get());
}

fn write_store(page: &mut Exposition, parts: &Parts) {
    let (load, operations) = (parts.api.store.load(), parts.api.store.operations());
    let help = "Open connections of the store's pool.";
    let connections = [("used", load.used as u64), ("idle", load.idle as u64)];
    page.by("state", Gauge, "sightline_store_connections", help, connections);
    let help = "Limit on open connections of the store's pool.";
    page.gauge("sightline_store_connections_max", help, load.max as f64);
    let help =
        "1 while the database is unavailable, or since it refused a write until a health check writes again.";
    page.gauge("sightline_store_away", help, f64::from(u8::from(load.is_unavailable)));
    let help = "Duration of operations of the store, including the wait for a connection, and failures.";
    let mut durations = page.family(Histogram, "sightline_store_operation_duration_seconds", help);
    for (name, metrics) in &operations {
        durations.histogram(&[("operation", name)], &metrics.durations.snapshot());
    }
    let help = "Failed operations of the store: unavailable can be retried, broken is a defect.";
    let mut failures = page.family(Counter, "sightline_store_failures_total", help);
    for (name, metrics) in &operations {
        for (kind, count) in [("unavailable", &metrics.unavailable), ("broken", &metrics.broken)] {
            failures.sample(&[("operation", name), ("kind", kind)], count.get() as f64);
        }
    }
}
