//! Prometheus' text format, version 0.0.4. Written here: the client libraries write OpenMetrics, whose counters are
//! typed under another name, or keep their figures behind locks that are taken for every request.

use std::fmt::Write as _;

use crate::base::count::{BOUNDS_MICROS, Spread};

/// What kind of figures a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Only rises, from the process' start on.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Durations in seconds.
    Histogram,
}

/// A label and its value.
pub(super) type Label<'a> = (&'static str, &'a str);

/// A page of figures.
#[derive(Debug, Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Begins a family: its name (with its unit, and `_total` for a counter), what it counts.
    pub(super) fn family(&mut self, kind: Kind, name: &'static str, help: &str) -> Family<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        // Writing to a String doesn't fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Family { page: self, name }
    }

    /// A family of one counter.
    pub(super) fn counter(&mut self, name: &'static str, help: &str, value: u64) {
        self.family(Kind::Counter, name, help).put(&[], value as f64);
    }

    /// A family of one gauge.
    pub(super) fn gauge(&mut self, name: &'static str, help: &str, value: f64) {
        self.family(Kind::Gauge, name, help).put(&[], value);
    }

    /// The page.
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

/// A family that is being written.
pub(super) struct Family<'a> {
    page: &'a mut Exposition,
    name: &'static str,
}

impl Family<'_> {
    /// One figure.
    pub(super) fn put(&mut self, labels: &[Label<'_>], value: f64) {
        let name = self.name;
        self.line(name, "", labels, None, value);
    }

    /// One histogram.
    pub(super) fn spread(&mut self, labels: &[Label<'_>], spread: &Spread) {
        let name = self.name;
        for (bound, count) in BOUNDS_MICROS.into_iter().zip(spread.up_to) {
            let bound = (bound as f64 / 1e6).to_string();
            self.line(name, "_bucket", labels, Some(&bound), count as f64);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::count::Durations;

    #[test]
    fn a_family_has_its_head_and_its_lines() {
        let mut page = Exposition::default();
        let mut family = page.family(Kind::Counter, "a_total", "Things.");
        family.put(&[("x", "y"), ("z", "a\"b\\c\nd")], 12.0);
        page.gauge("b", "How many.", 1_795_363_200.25);
        assert_eq!(
            page.into_text(),
            "# HELP a_total Things.\n# TYPE a_total counter\na_total{x=\"y\",z=\"a\\\"b\\\\c\\nd\"} 12\n\
             # HELP b How many.\n# TYPE b gauge\nb 1795363200.25\n"
        );
    }

    #[test]
    fn a_histogram_is_cumulative_and_ends_with_infinity() {
        let durations = Durations::default();
        durations.note(Duration::from_millis(2));
        durations.note(Duration::from_secs(500));
        let mut page = Exposition::default();
        page.family(Kind::Histogram, "h_seconds", "Time.").spread(&[("r", "/")], &durations.spread());
        let text = page.into_text();
        for line in [
            "h_seconds_bucket{r=\"/\",le=\"0.001\"} 0",
            "h_seconds_bucket{r=\"/\",le=\"0.0025\"} 1",
            "h_seconds_bucket{r=\"/\",le=\"120\"} 1",
            "h_seconds_bucket{r=\"/\",le=\"+Inf\"} 2",
            "h_seconds_sum{r=\"/\"} 500.002",
            "h_seconds_count{r=\"/\"} 2",
        ] {
            assert!(text.lines().any(|have| have == line), "{line}\n{text}");
        }
    }
}
