//! Stops a server in bounded time.

use std::thread;
use std::time::{Duration, Instant};

use log::warn;
use signal_hook::iterator::Signals;

use super::instance::Instance;
use crate::http::RunningServer;

/// The part of the drain time that is kept for the answers, after the runs were told to end.
const ANSWER_RESERVE: Duration = Duration::from_secs(1);
/// The shortest time for writing answers, also if the runs took the whole drain time.
const MIN_DRAIN: Duration = Duration::from_millis(100);

/// Stops the server, the runs and the deliveries to webhooks within `drain_timeout`, and ends the process shortly after that in any case.
/// Another signal ends the process at once.
pub(super) fn shut_down(
    server: RunningServer,
    instance: &Instance,
    signals: Signals,
    drain_timeout: Duration,
) {
    let until = Instant::now() + drain_timeout;
    exit_on_next_signal(signals);
    exit_at(until.max(Instant::now() + ANSWER_RESERVE));
    drain(server, instance, until - ANSWER_RESERVE.min(drain_timeout / 4));
}

/// Stops taking requests, then ends the runs. Their streams and waits end with them, which the server waits
/// for. Deliveries of runs that end now may still be sent.
fn drain(handle: RunningServer, instance: &Instance, until: Instant) {
    handle.stop_taking();
    instance.runs().shut_down(until);
    let left = handle.shutdown(until.saturating_duration_since(Instant::now()).max(MIN_DRAIN)).left;
    if left > 0 {
        warn!("{left} answers were not finished in time");
    }
    instance.stop_webhooks(until);
}

/// Ends the process at the next signal.
fn exit_on_next_signal(mut signals: Signals) {
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
}

/// Ends the process at `at`, so that a database that hangs cannot delay the shutdown. Another instance takes
/// over the runs that were not released when their lease expires.
fn exit_at(at: Instant) {
    thread::spawn(move || {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        warn!(
            "the drain timeout is over: runs that were not released are taken over when their lease expires"
        );
        std::process::exit(0);
    });
}
