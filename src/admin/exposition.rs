//! The text format of Prometheus, version 0.0.4. It is written here because the client libraries write
//! OpenMetrics, whose counters are typed under another name, or take a lock for every request.

use std::fmt::Write as _;

use crate::base::count::{BOUNDS, DurationHistogram, HistogramSnapshot};

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

/// A label and its value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// A page of metrics.
#[derive(Debug, Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Begins a family. `help` is its name (with its unit, and `_total` for a counter), a space and its help text.
    pub(super) fn family<'a>(&'a mut self, kind: Kind, help: &'a str) -> Family<'a> {
        let name = help.split(' ').next().unwrap_or_default();
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a String does not fail.
        let _ = write!(self.0, "# HELP {help}\n# TYPE {name} {kind}\n");
        Family { page: self, name }
    }

    /// Writes a family of numbers with one label.
    pub(super) fn by<'a>(
        &mut self,
        label: &'static str,
        kind: Kind,
        help: &str,
        samples: impl IntoIterator<Item = (&'a str, u64)>,
    ) {
        let mut family = self.family(kind, help);
        for (value, count) in samples {
            family.sample(&[(label, value)], count as f64);
        }
    }

    /// Writes families of one sample each.
    pub(super) fn rows<'a>(&mut self, rows: impl IntoIterator<Item = (Kind, &'a str, f64)>) {
        for (kind, help, value) in rows {
            self.family(kind, help).sample(&[], value);
        }
    }

    /// Writes a family of one histogram.
    pub(super) fn spread(&mut self, help: &str, durations: &DurationHistogram) {
        self.family(Kind::Histogram, help).histogram(&[], &durations.snapshot());
    }

    /// Returns the text of the page.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// A family that is being written.
pub(super) struct Family<'a> {
    page: &'a mut Exposition,
    name: &'a str,
}

impl Family<'_> {
    /// Writes one sample.
    pub(super) fn sample(&mut self, labels: &[Label<'_>], value: f64) {
        let name = self.name;
        self.line(name, "", labels, None, value);
    }

    /// Writes one histogram.
    pub(super) fn histogram(&mut self, labels: &[Label<'_>], spread: &HistogramSnapshot) {
        let name = self.name;
        for (bound, count) in BOUNDS.into_iter().zip(spread.up_to) {
            self.line(name, "_bucket", labels, Some(&bound.to_string()), count as f64);
        }
        self.line(name, "_bucket", labels, Some("+Inf"), spread.count as f64);
        self.line(name, "_sum", labels, None, spread.seconds);
        self.line(name, "_count", labels, None, spread.count as f64);
    }

    fn line(&mut self, name: &str, suffix: &str, labels: &[Label<'_>], bound: Option<&str>, value: f64) {
        let page = &mut self.page.0;
        let _ = write!(page, "{name}{suffix}");
        let bound = bound.map(|bound| ("le", bound));
        let mut sign = '{';
        for (label, value) in labels.iter().copied().chain(bound) {
            let _ = write!(page, "{sign}{label}=\"{}\"", escaped(value));
            sign = ',';
        }
        if sign == ',' {
            page.push('}');
        }
        let _ = writeln!(page, " {value}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
