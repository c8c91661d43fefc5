//! A page of metrics in Prometheus' text format 0.0.4. A campaign reads it with Prometheus' own parser.

use std::collections::{BTreeMap, BTreeSet};

/// A page of metrics.
pub(super) struct Page {
    /// Values by name and labels, as `name{a="b"}` with the labels sorted by name.
    samples: BTreeMap<String, f64>,
    /// Types by family.
    families: BTreeMap<String, String>,
    /// All labels with their values.
    pub(super) labels: BTreeSet<(String, String)>,
}

impl Page {
    /// # Panics
    /// Panics if the text does not follow the format or contradicts itself.
    pub(super) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line must end");
        let mut page = Self { samples: BTreeMap::new(), families: BTreeMap::new(), labels: BTreeSet::new() };
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert!(page.families.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
                assert!(name.starts_with("sightline_") || name.starts_with("process_"), "{name}");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            } else if !line.starts_with("# HELP ") {
                page.add(line);
            }
        }
        page
    }

    fn add(&mut self, line: &str) {
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let is_of_histogram = |suffix: &&str| {
            let family = name.strip_suffix(*suffix).and_then(|family| self.families.get(family));
            family.is_some_and(|kind| kind == "histogram")
        };
        let is_plain = self.families.get(name).is_some_and(|kind| kind != "histogram");
        assert!(is_plain || ["_bucket", "_sum", "_count"].iter().any(is_of_histogram), "no family: {line}");
        // No value of a label has a quotation mark: they come from the program.
        let pair =
            |label: &str| label.split_once("=\"").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let labels = labels.trim_end_matches("\"}").split("\",").filter_map(pair);
        let labels: BTreeSet<(String, String)> = labels.collect();
        let shown: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
        let key = if shown.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", shown.join(",")) };
        assert!(self.samples.insert(key, value.parse().unwrap()).is_none(), "twice: {line}");
        self.labels.extend(labels);
    }

    /// Returns a sample, or 0 if there is none, as for a counter without events.
    pub(super) fn get(&self, name: &str) -> f64 {
        self.samples.get(name).copied().unwrap_or(0.0)
    }

    /// Returns the sum of all samples whose name with labels begins with `start`.
    pub(super) fn sum(&self, start: &str) -> f64 {
        self.samples.iter().filter(|(name, _)| name.starts_with(start)).map(|(_, value)| value).sum()
    }
}
