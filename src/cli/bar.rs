//! The progress bar. It is not shown if standard error is not a terminal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A progress bar over the modules of a search.
pub(crate) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(crate) fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        // It is drawn when there is something to show.
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} modules, {msg}, {elapsed}") {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    /// Shows the progress. `so_far` is a short text such as `3 hits`.
    pub(crate) fn show(&self, done: u64, total: u64, so_far: String) {
        if let Some(bar) = &self.0 {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(so_far);
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
    }

    /// Hides the bar while `write` writes other lines.
    pub(crate) fn suspend_while<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
