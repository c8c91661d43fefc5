//! Families of searches: runs, checks, modules, credits.

use super::Parts;
use super::exposition::{Exposition, Kind};
use crate::runs::figures::Figures;
use crate::runs::health::verdict::Verdict;

pub(super) fn write(page: &mut Exposition, parts: &Parts) {
    let (runs, figures) = (&parts.runs, parts.runs.figures());
    let (driven, waiting) = runs.counts();
    let (busy, workers) = runs.workers();
    for (name, help, value) in [
        ("sightline_runs_driven", "Searches under way on this instance.", driven),
        ("sightline_runs_waiting", "Searches of this instance that wait their turn.", waiting),
        ("sightline_check_workers_busy", "Check workers at work.", busy),
        ("sightline_check_workers", "Check workers.", workers),
        ("sightline_checks_waiting", "Checks that wait for a worker.", runs.checks_waiting()),
    ] {
        page.gauge(name, help, value as f64);
    }
    write_runs(page, figures);
    write_checks(page, figures);
    write_modules(page, parts);
    write_credits(page, figures);
}

fn write_runs(page: &mut Exposition, figures: &Figures) {
    let help = "Searches that were charged and started here, by type.";
    let mut started = page.family(Kind::Counter, "sightline_runs_started_total", help);
    for (search_type, count) in figures.started() {
        started.put(&[("type", search_type.as_str())], count as f64);
    }
    let help = "Searches that came to their end here, by status.";
    let mut ended = page.family(Kind::Counter, "sightline_runs_ended_total", help);
    for (status, count) in [("completed", &figures.completed), ("failed", &figures.failed)] {
        ended.put(&[("status", status)], count.get() as f64);
    }
    let help = "Interrupted searches that were taken over by this instance.";
    page.counter("sightline_runs_taken_over_total", help, figures.taken_over.get());
    page.counter("sightline_results_total", "Results stored by this instance.", figures.results.get());
}

fn write_checks(page: &mut Exposition, figures: &Figures) {
    let help = "Modules that ended, by type of search and outcome; by module: /metrics/modules.";
    let mut checks = page.family(Kind::Counter, "sightline_checks_total", help);
    for (search_type, outcome, count) in figures.checks() {
        checks.put(&[("type", search_type.as_str()), ("outcome", outcome.as_str())], count as f64);
    }
    let help = "What a check took, its retries and its control check included.";
    let mut durations = page.family(Kind::Histogram, "sightline_check_duration_seconds", help);
    durations.spread(&[], &figures.check_durations.spread());
}

fn write_modules(page: &mut Exposition, parts: &Parts) {
    let all = parts.health_of_all();
    let help = "Modules of the catalogue by how they have done lately.";
    let mut modules = page.family(Kind::Gauge, "sightline_modules", help);
    for verdict in Verdict::ALL {
        let count = all.iter().filter(|(_, health)| health.status == verdict).count();
        modules.put(&[("health", verdict.as_str())], count as f64);
    }
}

/// What this process knows to have been booked. The ledger in the database is the truth.
fn write_credits(page: &mut Exposition, figures: &Figures) {
    for (name, help, counter) in [
        ("sightline_charges_total", "Charges booked by this instance.", &figures.charges),
        ("sightline_credits_charged_total", "Credits that these charges cost.", &figures.credits_charged),
        ("sightline_refunds_total", "Refunds booked by this instance.", &figures.refunds),
        ("sightline_credits_refunded_total", "Credits that these gave back.", &figures.credits_refunded),
    ] {
        page.counter(name, help, counter.get());
    }
}
