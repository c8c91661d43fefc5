//! Checks in the background whether a browser is available.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::{Condvar, Mutex};

use super::endpoint::{OPENING, Opener};
use super::pool::Pool;

/// The interval of the checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The longest pause between attempts to start a browser.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time for which callers wait for the first check, counted from the first call.
const FIRST_CHECK_TIMEOUT: Duration = Duration::from_secs(10);
/// The time limit for a trial start of a browser. It is longer than an attempt lasts, so that its result is known.
const START_TIMEOUT: Duration = Duration::from_secs(95);
const _: () = assert!(START_TIMEOUT.as_secs() > OPENING.as_secs());

/// The availability, shared by the background thread and its readers.
#[derive(Default)]
pub(super) struct Availability {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The result of the last check, or `None` before the first one.
    is_available: Option<bool>,
    first_asked: Option<Instant>,
    needs_check: bool,
    is_stopped: bool,
}

impl Availability {
    /// Returns the result of the last check. Waits for the first check if there is no result yet.
    pub(super) fn is_available(&self) -> bool {
        let mut state = self.state.lock();
        let until = *state.first_asked.get_or_insert_with(Instant::now) + FIRST_CHECK_TIMEOUT;
        while state.is_available.is_none() && !state.is_stopped {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.is_available == Some(true) && !state.is_stopped
    }

    /// Requests an immediate check, because a browser or an endpoint has failed.
    pub(super) fn recheck(&self) {
        self.state.lock().needs_check = true;
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }

    fn set_available(&self, is_available: bool) {
        let mut state = self.state.lock();
        if state.is_available.replace(is_available) != Some(is_available) {
            match is_available {
                true => info!("a browser answers: premium searches are possible"),
                false => warn!("no browser answers: premium searches are refused until one does"),
            }
        }
        self.changed.notify_all();
    }

    /// Waits until the next check is due. Returns `false` if the checks were stopped.
    fn wait(&self) -> bool {
        let until = Instant::now() + CHECK_INTERVAL;
        let mut state = self.state.lock();
        while !state.is_stopped && !state.needs_check {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.needs_check = false;
        !state.is_stopped
    }
}

/// Starts the thread that checks the endpoints until it is stopped.
pub(super) fn start(
    availability: Arc<Availability>,
    opener: Arc<Opener>,
    pool: Arc<Pool>,
) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name("browser-watch".into()).spawn(move || {
        let mut backoff = Backoff::default();
        loop {
            let is_up = opener.check_endpoints();
            if is_up && is_start_wanted(&opener) && backoff.is_over() {
                try_start(&pool);
                backoff.note(opener.has_failed());
            }
            availability.set_available(is_up && !opener.has_failed());
            if !availability.wait() {
                return;
            }
        }
    })
}

/// Returns whether to start a browser on trial: an endpoint that answers may still be unable to start one.
fn is_start_wanted(opener: &Opener) -> bool {
    opener.has_failed() || opener.open_sessions() == 0
}

/// Opens a session in a free slot to find out whether a browser starts.
fn try_start(pool: &Pool) {
    // A slot with an open session would prove nothing.
    if let Some(mut lease) = pool.take_unopened() {
        // The opener stores the reason of a failure.
        let _ = lease.try_start(Instant::now() + START_TIMEOUT);
    }
}

/// The growing pause after failed attempts.
#[derive(Default)]
struct Backoff {
    pause: Duration,
    until: Option<Instant>,
}

impl Backoff {
    fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    fn note(&mut self, has_failed: bool) {
        self.pause =
            if has_failed { (self.pause * 2).clamp(CHECK_INTERVAL, LONGEST_PAUSE) } else { Duration::ZERO };
        self.until = has_failed.then(|| Instant::now() + self.pause);
    }
}
