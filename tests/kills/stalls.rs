//! Times in which the machine stalled, which must not count against the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The interval of the clock checks.
const TICK: Duration = Duration::from_millis(10);

/// A thread that sleeps for short times, and records when it woke late.
pub(super) struct Watch {
    is_over: Arc<AtomicBool>,
    ticks: Option<JoinHandle<Stalls>>,
}

/// The times in which the thread woke late, in their order.
#[derive(Debug, Default)]
pub(super) struct Stalls(Vec<(Instant, Instant)>);

impl Watch {
    pub(super) fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        Self { is_over, ticks: Some(thread::spawn(move || tick_until(&seen))) }
    }

    pub(super) fn end(mut self) -> Stalls {
        self.is_over.store(true, Ordering::SeqCst);
        self.ticks.take().map(|ticks| ticks.join().unwrap()).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

fn tick_until(is_over: &AtomicBool) -> Stalls {
    let (mut stalls, mut last) = (Vec::new(), Instant::now());
    while !is_over.load(Ordering::SeqCst) {
        thread::sleep(TICK);
        let (due, now) = (last + TICK, Instant::now());
        // Shorter delays are within the precision of sleeping.
        if now > due + TICK / 2 {
            stalls.push((due, now));
        }
        last = now;
    }
    Stalls(stalls)
}

impl Stalls {
    pub(super) fn sum(&self) -> Duration {
        self.0.iter().map(|(start, end)| *end - *start).sum()
    }

    /// Returns the stalled time between two moments.
    pub(super) fn between(&self, from: Instant, to: Instant) -> Duration {
        let first = self.0.partition_point(|(_, end)| *end <= from);
        let within = self.0[first..].iter().take_while(|(start, _)| *start < to);
        within.map(|(start, end)| to.min(*end).saturating_duration_since(from.max(*start))).sum()
    }
}
