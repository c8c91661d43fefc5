//! The progress bar; nothing where standard error is no terminal.

use std::io::{self, IsTerminal};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How many modules are done.
pub(crate) struct Bar(Option<ProgressBar>);

impl Bar {
    pub(crate) fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} modules, {msg}, {elapsed}") {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    /// `so_far`: what else there is to tell, such as `3 hits`.
    pub(crate) fn show(&self, done: u64, total: u64, so_far: String) {
        if let Some(bar) = &self.0 {
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(so_far);
        }
    }

    /// Writes something else without leaving pieces of the bar in it.
    pub(crate) fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
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
