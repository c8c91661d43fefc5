//! Metric families of the public listener: requests and threads.

use super::exposition::{Exposition, Kind};
use crate::http::{Load, Traffic};

/// Writes the families. `sides` are the API and the web app.
pub(super) fn write(page: &mut Exposition, load: &Load, sides: [&Traffic; 2]) {
    write_requests(page, sides);
    write_threads(page, load, sides);
    page.counter(
        "sightline_http_overloaded_total",
        "Requests answered 503 because all threads and queues were full.",
        load.refused_total,
    );
    page.counter(
        "sightline_http_accept_rebuilds_total",
        "Times that the accept loop failed and was replaced.",
        load.rebuilds_total,
    );
}

fn write_requests(page: &mut Exposition, sides: [&Traffic; 2]) {
    let mut requests = page.family(
        Kind::Counter,
        "sightline_http_requests_total",
        "Answers by route, method and status; the route is none or /app none for an unknown path.",
    );
    for of in sides.into_iter().flat_map(Traffic::answers) {
        let labels = [("route", of.route), ("method", of.method), ("status", of.status.as_str())];
        requests.sample(&labels, of.count as f64);
    }
    let mut durations = page.family(
        Kind::Histogram,
        "sightline_http_request_duration_seconds",
        "Time from a fully read request to its answer, or to the first byte of its stream, including waits.",
    );
    for (route, method, spread) in sides.into_iter().flat_map(Traffic::durations) {
        durations.histogram(&[("route", route), ("method", method)], &spread);
    }
}

fn write_threads(page: &mut Exposition, load: &Load, sides: [&Traffic; 2]) {
    for (name, help, value) in [
        ("sightline_http_workers_busy", "Busy request workers.", load.workers_busy),
        ("sightline_http_workers", "Request workers.", load.workers_max),
        ("sightline_http_queue_length", "Requests that wait for a worker.", load.requests_queued),
        (
            "sightline_http_queue_length_max",
            "Limit on requests that wait for a worker.",
            load.requests_queued_max,
        ),
        (
            "sightline_http_long_threads",
            "Busy threads for streams, waits, large answers and slow bodies.",
            load.streams_open,
        ),
        (
            "sightline_http_long_threads_max",
            "Limit on threads for streams, waits, large answers and slow bodies.",
            load.streams_max,
        ),
    ] {
        page.gauge(name, help, value as f64);
    }
    page.gauge(
        "sightline_http_streams",
        "Open streams.",
        sides.map(|side| side.streams.get()).into_iter().sum::<u64>() as f64,
    );
    page.gauge(
        "sightline_http_waits",
        "Requests that wait for the end of a search.",
        sides.map(|side| side.waits.get()).into_iter().sum::<u64>() as f64,
    );
}
