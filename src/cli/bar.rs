//! The progress bar. It is not shown if standard error is not a terminal.

use std::io::{self, IsTerminal, Write as _};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The number of characters of a full bar.
const WIDTH: u64 = 30;
/// The shortest time between two drawings.
const PACE: Duration = Duration::from_millis(50);
/// Goes to the begin of the line and clears it.
const CLEAR: &str = "\r\u{1b}[K";

/// A progress bar over the modules of a search.
pub(crate) struct Bar(Option<Mutex<Drawn>>);

/// What is on the terminal.
struct Drawn {
    began: Instant,
    at: Option<Instant>,
    line: String,
}

impl Bar {
    pub(crate) fn new() -> Self {
        let drawn = || Mutex::new(Drawn { began: Instant::now(), at: None, line: String::new() });
        Self(io::stderr().is_terminal().then(drawn))
    }

    /// Shows the progress. `so_far` is a short text such as `3 hits`.
    pub(crate) fn show(&self, done: u64, total: u64, so_far: &str) {
        let Some(bar) = &self.0 else { return };
        let mut bar = bar.lock();
        if done < total && bar.at.is_some_and(|at| at.elapsed() < PACE) {
            return;
        }
        let full = done * WIDTH / total.max(1);
        let [full, left] =
            [("█", full), ("░", WIDTH - full.min(WIDTH))].map(|(part, count)| part.repeat(count as usize));
        let seconds = bar.began.elapsed().as_secs();
        bar.line = format!("{full}{left} {done}/{total} modules, {so_far}, {seconds}s");
        bar.at = Some(Instant::now());
        write(&format!("{CLEAR}{}", bar.line));
    }

    /// Hides the bar while `write` writes other lines.
    pub(crate) fn suspend_while<T>(&self, write_lines: impl FnOnce() -> T) -> T {
        let Some(bar) = &self.0 else { return write_lines() };
        let bar = bar.lock();
        write(CLEAR);
        let written = write_lines();
        write(&bar.line);
        written
    }

    pub(crate) fn clear(&self) {
        if self.0.is_some() {
            write(CLEAR);
        }
    }
}

/// Writes to the terminal. Without one, there is nothing to show.
fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
