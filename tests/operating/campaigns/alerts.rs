//! `scripts/alerts.yml` tested with Prometheus and compared with the metrics of a server.

use std::collections::BTreeSet;
use std::process::Command;

use super::super::succeeds;
use crate::support::admin::{admin_of, get};
use crate::support::server::Setup;

const RULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/alerts.yml");
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/operating/alerts.yml");

fn promtool(arguments: &[&str]) {
    let output = Command::new("promtool").args(arguments).output();
    succeeds(&output.unwrap_or_else(|error| panic!("promtool (Debian's package prometheus): {error}")));
}

#[test]
fn each_alert_fires_only_in_its_own_case() {
    promtool(&["check", "rules", RULES]);
    promtool(&["test", "rules", CASES]);
    let (rules, cases) = (std::fs::read_to_string(RULES).unwrap(), std::fs::read_to_string(CASES).unwrap());
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert_eq!(alerts.len(), alerts.iter().collect::<BTreeSet<_>>().len(), "an alert stands twice");
    for alert in &alerts {
        let expected =
            |what: &str| cases.contains(&format!("alertname: {alert}\n        exp_alerts:{what}\n"));
        assert!(expected(""), "{alert} has no case in which it fires");
        assert!(expected(" []"), "{alert} has no case in which it does not fire");
    }
}

/// A renamed metric would silence its alert.
#[test]
fn alerts_use_existing_metrics() {
    let server = Setup::new().start();
    let page = get(admin_of(&server), "/metrics").text().to_owned();
    let families: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let rules = std::fs::read_to_string(RULES).unwrap();
    let code: String =
        rules.lines().filter(|line| !line.trim().starts_with('#')).collect::<Vec<_>>().join("\n");
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let asked: BTreeSet<&str> = code
        .split(|c| !word(c))
        .filter(|name| name.starts_with("sightline_") || name.starts_with("process_"))
        .collect();
    assert!(asked.len() >= 10, "{asked:?}");
    for name in asked {
        assert!(families.contains(name), "{name} is not on the page of figures");
    }
    // Labels, too.
    for sample in ["sightline_runs_ended_total{status=\"failed\"}", "sightline_modules{health=\"broken\"}"] {
        assert!(page.contains(sample) && code.contains(sample), "{sample}");
    }
}
