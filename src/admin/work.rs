//! Metric families of searches: runs, checks, modules, deliveries to webhooks, credits.

use super::exposition::{Exposition, Kind};
use super::parts::Parts;
use crate::runs::figures::Figures;
use crate::runs::health::verdict::Verdict;

pub(super) fn write(page: &mut Exposition, parts: &Parts) {
    let (runs, figures) = (&parts.runs, parts.runs.figures());
    let (driven, waiting) = runs.load();
    let (busy, workers) = runs.scheduler().load();
    let (pages, sessions) = (runs.scheduler().busy_in_browsers(), runs.browsing().sessions());
    for (name, help, value) in [
        ("sightline_runs_driven", "Searches that run on this instance.", driven),
        (
            "sightline_runs_waiting",
            "Searches of all instances that wait for a driver, measured every few seconds.",
            waiting,
        ),
        ("sightline_check_workers_busy", "Busy check workers.", busy),
        ("sightline_check_workers", "Check workers.", workers),
        ("sightline_browser_sessions_busy", "Pages that are open in browsers for premium searches.", pages),
        (
            "sightline_browser_sessions",
            "Limit on pages open in browsers; 0 if no browser is configured.",
            sessions,
        ),
        (
            "sightline_checks_waiting",
            "Checks of running searches that have not begun.",
            runs.scheduler().waiting(),
        ),
    ] {
        page.gauge(name, help, value as f64);
    }
    write_runs(page, figures);
    write_checks(page, figures);
    write_modules(page, parts);
    write_deliveries(page, parts);
    write_credits(page, figures);
    let help = "Time since a periodic task was done last.";
    let mut ages = page.family(Kind::Gauge, "sightline_maintenance_age_seconds", help);
    for (task, done) in &*parts.maintained.lock() {
        ages.sample(&[("task", task)], done.elapsed().as_secs_f64());
    }
}

fn write_runs(page: &mut Exposition, figures: &Figures) {
    let help = "Searches charged and started on this instance, by type.";
    let mut started = page.family(Kind::Counter, "sightline_runs_started_total", help);
    for (search_type, count) in figures.started() {
        started.sample(&[("type", search_type.as_str())], count as f64);
    }
    let help = "Searches ended on this instance, by status.";
    let mut ended = page.family(Kind::Counter, "sightline_runs_ended_total", help);
    for (status, count) in [("completed", &figures.completed), ("failed", &figures.failed)] {
        ended.sample(&[("status", status)], count.get() as f64);
    }
    for (name, help, durations) in [
        (
            "sightline_run_duration_seconds",
            "Time from the first start of a search to its end, for searches ended on this instance.",
            &figures.run_durations,
        ),
        (
            "sightline_queue_duration_seconds",
            "Time that a search waited for its first driver, for searches first driven on this instance.",
            &figures.queue_durations,
        ),
    ] {
        page.family(Kind::Histogram, name, help).histogram(&[], &durations.snapshot());
    }
    let help = "Interrupted searches that this instance took over.";
    page.counter("sightline_runs_taken_over_total", help, figures.taken_over.get());
    page.counter("sightline_results_total", "Results stored by this instance.", figures.results.get());
}

fn write_checks(page: &mut Exposition, figures: &Figures) {
    let help = "Ended modules by type of search and outcome; by module: /metrics/modules.";
    let mut checks = page.family(Kind::Counter, "sightline_checks_total", help);
    for (search_type, outcome, count) in figures.checks() {
        checks.sample(&[("type", search_type.as_str()), ("outcome", outcome.as_str())], count as f64);
    }
    let help = "Modules that ended with the answer to another search for the same query.";
    page.counter("sightline_shared_answers_total", help, figures.shared_answers.get());
    let help = "Modules that were not asked, or not given the configured time, by reason.";
    let mut cuts = page.family(Kind::Counter, "sightline_checks_cut_total", help);
    for (cut, count) in figures.cuts() {
        cuts.sample(&[("reason", cut.as_str())], count as f64);
    }
    let help = "Duration of a check, including its retries and its control check.";
    let mut durations = page.family(Kind::Histogram, "sightline_check_duration_seconds", help);
    durations.histogram(&[], &figures.check_durations.snapshot());
}

fn write_modules(page: &mut Exposition, parts: &Parts) {
    let open = parts.runs.module_health().circuits.open().len();
    let help = "Hosts that searches do not ask because they gave no answer to the last checks.";
    page.gauge("sightline_circuits_open", help, open as f64);
    let quarantined = parts.runs.module_health().quarantines.open().len();
    let help = "Modules that searches do not ask because they failed their last control checks.";
    page.gauge("sightline_modules_quarantined", help, quarantined as f64);
    let catalog = parts.runs.catalog();
    let (serial, refused) = match catalog.bundle() {
        Some(bundle) if bundle.refused.is_none() => (bundle.serial, false),
        bundle => (0, bundle.is_some()),
    };
    let help = "Serial of the catalogue bundle in use; 0 if none is.";
    page.gauge("sightline_catalog_bundle_serial", help, serial as f64);
    let help =
        "1 if the stored catalogue bundle is not used because it has no trusted signature or a mistake.";
    page.gauge("sightline_catalog_bundle_refused", help, f64::from(u8::from(refused)));
    let all = parts.health_of_all(&catalog);
    let help = "Modules of the catalogue by their current health.";
    let mut modules = page.family(Kind::Gauge, "sightline_modules", help);
    for verdict in Verdict::ALL {
        let count = all.iter().filter(|(_, health)| health.status == verdict).count();
        modules.sample(&[("health", verdict.as_str())], count as f64);
    }
}

fn write_deliveries(page: &mut Exposition, parts: &Parts) {
    let Some(deliveries) = &parts.deliveries else { return };
    let help = "Messages to webhooks that this instance is sending.";
    page.gauge("sightline_deliveries_busy", help, deliveries.busy() as f64);
    let figures = deliveries.figures();
    let help = "Attempts of this instance to send a message to a webhook, by success.";
    let mut attempts = page.family(Kind::Counter, "sightline_delivery_attempts_total", help);
    for (result, count) in [("delivered", &figures.delivered), ("failed", &figures.failed)] {
        attempts.sample(&[("result", result)], count.get() as f64);
    }
    let help = "Webhooks that this instance disabled because their receivers failed or wanted no more.";
    page.counter("sightline_webhooks_disabled_total", help, figures.disabled.get());
}

/// Writes the bookings of this process since its start. The ledger in the database is authoritative.
fn write_credits(page: &mut Exposition, figures: &Figures) {
    for (name, help, counter) in [
        ("sightline_charges_total", "Charges booked by this instance.", &figures.charges),
        ("sightline_credits_charged_total", "Credits charged by this instance.", &figures.credits_charged),
        ("sightline_refunds_total", "Refunds booked by this instance.", &figures.refunds),
        ("sightline_credits_refunded_total", "Credits refunded by this instance.", &figures.credits_refunded),
    ] {
        page.counter(name, help, counter.get());
    }
}
