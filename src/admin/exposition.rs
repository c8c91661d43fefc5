//! The text format of Prometheus, version 0.0.4. It is written here because the client libraries write
//! OpenMetrics, whose counters are typed under another name, or take a lock for every request.

use std::fmt::Write as _;

use crate::base::count::{BOUNDS, DurationHistogram};

/// The type of a metric family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A value that only rises, from the start of the process on.
    Counter,
    /// A value that rises and falls.
    Gauge,
    /// A distribution of durations in seconds.
    Histogram,
}

/// A page of metrics.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    /// The text of the families that were written.
    pub(super) text: String,
    /// The name of the family that is being written.
    name: String,
}

impl Exposition {
    /// Begins a family. `help` is its name (with its unit, and `_total` for a counter), a space and its help text.
    pub(super) fn family(&mut self, kind: Kind, help: &str) {
        help.split(' ').next().unwrap_or_default().clone_into(&mut self.name);
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a String does not fail.
        let _ = write!(self.text, "# HELP {help}\n# TYPE {} {kind}\n", self.name);
    }

    /// Writes one sample of the family.
    pub(super) fn sample(&mut self, labels: &[(&'static str, &str)], value: f64) {
        self.line("", labels, None, value);
    }

    /// Writes one histogram of the family.
    pub(super) fn histogram(&mut self, labels: &[(&'static str, &str)], spread: &DurationHistogram) {
        let (bounds, up_to) = (BOUNDS.map(|bound| bound.to_string()), spread.up_to());
        for (bound, count) in bounds.iter().map(String::as_str).chain(["+Inf"]).zip(up_to) {
            self.line("_bucket", labels, Some(bound), count as f64);
        }
        self.line("_sum", labels, None, spread.seconds());
        self.line("_count", labels, None, up_to[BOUNDS.len()] as f64);
    }

    /// Writes a family of numbers with one label.
    pub(super) fn by<'a>(
        &mut self,
        label: &'static str,
        kind: Kind,
        help: &str,
        samples: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        self.family(kind, help);
        for (value, count) in samples {
            self.sample(&[(label, value)], count as f64);
        }
    }

    /// Writes families of one sample each.
    pub(super) fn rows<'a>(&mut self, rows: impl IntoIterator<Item = (Kind, &'a str, f64)>) {
        for (kind, help, value) in rows {
            self.family(kind, help);
            self.sample(&[], value);
        }
    }

    /// Writes a family of one histogram.
    pub(super) fn spread(&mut self, help: &str, durations: &DurationHistogram) {
        self.family(Kind::Histogram, help);
        self.histogram(&[], durations);
    }

    fn line(&mut self, suffix: &str, labels: &[(&'static str, &str)], bound: Option<&str>, value: f64) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        let bound = bound.map(|bound| ("le", bound));
        let mut sign = '{';
        for (label, value) in labels.iter().copied().chain(bound) {
            let _ = write!(self.text, "{sign}{label}=\"{}\"", escaped(value));
            sign = ',';
        }
        if sign == ',' {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
