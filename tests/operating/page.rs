//! A strict parser for Prometheus' text format 0.0.4.

use std::collections::{BTreeMap, BTreeSet};

/// A page of metrics.
pub(super) struct Page {
    /// Values by name and labels, as `name{a="b"}` with the labels sorted by name.
    samples: BTreeMap<String, f64>,
    /// Types by family.
    pub(super) families: BTreeMap<String, String>,
    /// All labels with their values.
    pub(super) labels: BTreeSet<(String, String)>,
}

struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Page {
    /// # Panics
    /// Panics if the text does not follow the format or contradicts itself.
    pub(super) fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line must end");
        let mut page = Self { samples: BTreeMap::new(), families: BTreeMap::new(), labels: BTreeSet::new() };
        let (mut family, mut explained) = (String::new(), String::new());
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(is_name(name) && !help.trim().is_empty(), "{line}");
                name.clone_into(&mut explained);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, explained, "TYPE follows HELP: {line}");
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(page.families.insert(name.to_owned(), kind.to_owned()).is_none(), "twice: {line}");
                name.clone_into(&mut family);
            } else {
                assert!(!line.starts_with('#') && !line.is_empty(), "{line:?}");
                let sample = parse(line);
                page.is_allowed(&family, &sample, line);
                page.labels.extend(sample.labels.iter().cloned());
                let key = key(&sample.name, &sample.labels);
                assert!(page.samples.insert(key, sample.value).is_none(), "twice: {line}");
            }
        }
        page.check_histograms(text);
        page
    }

    fn is_allowed(&self, family: &str, sample: &Sample, line: &str) {
        let kind = self.families.get(family).unwrap_or_else(|| panic!("no family: {line}"));
        let suffix = sample.name.strip_prefix(family).unwrap_or_else(|| panic!("not of {family}: {line}"));
        match kind.as_str() {
            "counter" => {
                assert!(suffix.is_empty() && family.ends_with("_total"), "{line}");
                assert!(sample.value.is_finite() && sample.value >= 0.0, "{line}");
            }
            "gauge" => assert!(suffix.is_empty() && sample.value.is_finite(), "{line}"),
            _ => {
                assert!(["_bucket", "_sum", "_count"].contains(&suffix), "{line}");
                assert_eq!(suffix == "_bucket", sample.labels.iter().any(|(name, _)| name == "le"), "{line}");
            }
        }
    }

    /// Checks that bounds rise, that counts do not fall, and that the last bucket counts everything.
    fn check_histograms(&self, text: &str) {
        let mut last: Option<(String, f64, f64)> = None;
        for sample in text.lines().filter(|line| !line.starts_with('#')).map(parse) {
            let Some(family) = sample.name.strip_suffix("_bucket") else { continue };
            let (bound, others): (Vec<_>, Vec<_>) =
                sample.labels.iter().cloned().partition(|(name, _)| name == "le");
            let bound = if bound[0].1 == "+Inf" { f64::INFINITY } else { bound[0].1.parse().unwrap() };
            let series = key(family, &others);
            if let Some((before, lower, count)) = &last
                && *before == series
            {
                assert!(bound > *lower && sample.value >= *count, "{series}: {bound} after {lower}");
            }
            if bound.is_infinite() {
                assert_eq!(self.samples[&key(&format!("{family}_count"), &others)], sample.value, "{series}");
                assert!(self.samples.contains_key(&key(&format!("{family}_sum"), &others)), "{series}");
            }
            last = Some((series, bound, sample.value));
        }
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

fn key(name: &str, labels: &[(String, String)]) -> String {
    let mut labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    labels.sort();
    if labels.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", labels.join(",")) }
}

fn is_name(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

fn parse(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
    let value = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
    let (name, labels) = match series.split_once('{') {
        Some((name, rest)) => (name, labels(rest.strip_suffix('}').unwrap(), line)),
        None => (series, Vec::new()),
    };
    assert!(is_name(name), "{line}");
    Sample { name: name.to_owned(), labels, value }
}

fn labels(text: &str, line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(is_name(name), "{line}");
        let (mut value, mut end, mut chars) = (String::new(), None, after.char_indices());
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    end = Some(at);
                    break;
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, c @ ('\\' | '"'))) => value.push(c),
                    _ => panic!("an escape that is none: {line}"),
                },
                c => value.push(c),
            }
        }
        found.push((name.to_owned(), value));
        rest = &after[end.unwrap_or_else(|| panic!("no end: {line}")) + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    found
}
