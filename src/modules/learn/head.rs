//! New conditions on the status, on the address after redirects, and on the target of a redirect.

use std::collections::BTreeMap;

use super::candidate::{Candidate, pattern_of};
use super::evidence::{Evidence, Side};
use crate::modules::definition::{Matcher, Probe};
use crate::modules::module::Module;
use crate::modules::pattern::{Pattern, SearchRegex};
use crate::modules::probe::Response;

/// The statuses that say by themselves that something does not exist.
const MISSING: [u16; 2] = [404, 410];

/// Returns the conditions of this kind that may hold for the answers of a side.
pub(super) fn candidates(module: &Module, evidence: &Evidence, side: Side) -> Vec<Candidate> {
    let mut found = Vec::new();
    let Some(sample) = evidence.wanted(side).first() else { return found };
    let Some(response) = sample.responses.first() else { return found };
    let name = module.name_of(&sample.query);
    let follows = module.entry().probes.iter().any(Probe::follows);
    match side {
        Side::Hit if follows => found.extend(final_address(response, &name, 28)),
        Side::Hit => {}
        Side::Miss => {
            if MISSING.contains(&response.status) {
                // The status itself is added to every rule.
                found.push(Candidate::new(10, Matcher::default()));
            }
            found.extend(target(response));
            let others = evidence.others(side).iter().flat_map(|sample| &sample.responses);
            let is_led_away = others.clone().all(|other| other.final_url.path() != response.final_url.path());
            if follows && is_led_away && !response.final_url.as_str().contains(&name) {
                found.extend(fixed_address(response, 16));
            }
        }
    }
    found
}

/// Returns the condition that the address after redirects has the name in its path.
fn final_address(response: &Response, name: &str, cost: usize) -> Option<Candidate> {
    let pattern = pattern_of(response.final_url.path(), name);
    (pattern.matches("{query}").count() == 1).then(|| {
        let final_url = Pattern::parse(&format!("{pattern}$")).ok();
        Candidate::new(cost, Matcher { final_url, ..Matcher::default() })
    })
}

/// Returns the condition that the address after redirects is this one.
fn fixed_address(response: &Response, cost: usize) -> Option<Candidate> {
    let path = response.final_url.path();
    let final_url = Pattern::parse(&format!("^https?://[^/]+{}$", regex::escape(path))).ok();
    Some(Candidate::new(cost, Matcher { final_url, ..Matcher::default() }))
}

/// Returns the condition that a redirect leads to this target.
fn target(response: &Response) -> Option<Candidate> {
    let location = response.header("location").filter(|_| (300..400).contains(&response.status))?;
    let header = BTreeMap::from([(
        "Location".to_owned(),
        SearchRegex::lazy(&format!("^{}$", regex::escape(location))),
    )]);
    Some(Candidate::new(15, Matcher { header, ..Matcher::default() }))
}
