//! Whether a browser answers: looked after in the background, so that whoever asks has the answer at once.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use log::{info, warn};
use parking_lot::{Condvar, Mutex};

use super::endpoint::{OPENING, Opener};
use super::pool::Pool;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(2);
/// The longest between two attempts to start a browser that does not start.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The first who ask wait for the first look, until it is so long since one did.
const FIRST_LOOK: Duration = Duration::from_secs(10);
/// For a browser that is started to see whether one can be: longer than an attempt lasts, whose end is to be known.
const STARTING: Duration = Duration::from_secs(95);
const _: () = assert!(STARTING.as_secs() > OPENING.as_secs());

/// What is known.
#[derive(Default)]
pub(super) struct Watch {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// `None`: not looked so far.
    is_available: Option<bool>,
    first_asked: Option<Instant>,
    is_doubted: bool,
    is_stopped: bool,
}

impl Watch {
    /// Whether a browser answered at the last look.
    pub(super) fn is_available(&self) -> bool {
        let mut state = self.state.lock();
        let until = *state.first_asked.get_or_insert_with(Instant::now) + FIRST_LOOK;
        while state.is_available.is_none() && !state.is_stopped {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.is_available == Some(true) && !state.is_stopped
    }

    /// Something went wrong: to be looked at now.
    pub(super) fn doubt(&self) {
        self.state.lock().is_doubted = true;
        self.changed.notify_all();
    }

    pub(super) fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }

    fn settle(&self, is_available: bool) {
        let mut state = self.state.lock();
        if state.is_available.replace(is_available) != Some(is_available) {
            match is_available {
                true => info!("a browser answers: premium searches are possible"),
                false => warn!("no browser answers: premium searches are refused until one does"),
            }
        }
        self.changed.notify_all();
    }

    /// Until the next look is due. `false`: there is none.
    fn wait(&self) -> bool {
        let until = Instant::now() + EVERY;
        let mut state = self.state.lock();
        while !state.is_stopped && !state.is_doubted {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.is_doubted = false;
        !state.is_stopped
    }
}

/// Looks after the endpoints until it is stopped.
pub(super) fn start(
    watch: Arc<Watch>,
    opener: Arc<Opener>,
    pool: Arc<Pool>,
) -> std::io::Result<JoinHandle<()>> {
    thread::Builder::new().name("browser-watch".into()).spawn(move || {
        let mut patience = Patience::default();
        loop {
            let is_up = opener.look();
            if is_up && is_start_wanted(&opener) && patience.is_over() {
                try_start(&pool);
                patience.note(opener.has_failed());
            }
            watch.settle(is_up && !opener.has_failed());
            if !watch.wait() {
                return;
            }
        }
    })
}

/// That an endpoint answers does not say that its browser starts.
fn is_start_wanted(opener: &Opener) -> bool {
    opener.has_failed() || opener.open_sessions() == 0
}

/// Has a place filled; a place that checks use is being filled by them.
fn try_start(pool: &Pool) {
    // One that is open says nothing about starting, and what failed would never be tried again.
    if let Some(mut lease) = pool.take_unopened() {
        // Its failure is noted by the opener.
        let _ = lease.try_start(Instant::now() + STARTING);
    }
}

/// How long to wait after attempts that failed.
#[derive(Default)]
struct Patience {
    pause: Duration,
    until: Option<Instant>,
}

impl Patience {
    fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    fn note(&mut self, has_failed: bool) {
        self.pause = if has_failed { (self.pause * 2).clamp(EVERY, LONGEST_PAUSE) } else { Duration::ZERO };
        self.until = has_failed.then(|| Instant::now() + self.pause);
    }
}
