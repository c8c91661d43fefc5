//! Every built-in module, played end to end.

use std::time::{Duration, Instant};

use sightline::modules::control::made_up;
use sightline::modules::definition::Contact;
use sightline::modules::module::Module;
use sightline::modules::outcome::{Outcome, Report};
use sightline::modules::query::SearchType;
use sightline::sandbox::{Mood, SandboxOptions, Shares};

use super::lab::Lab;

fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "{} modules:\n{}", complaints.len(), complaints.join("\n"));
}

fn said(report: &Report) -> String {
    let matcher = report.evidence.matcher.as_deref().unwrap_or("no rule");
    format!("{} {} ({matcher})", report.outcome, report.reason.as_deref().unwrap_or_default())
}

/// Every module's outcome for an existing name, where every site is in that mood.
fn outcomes(mood: Mood, threads: usize, deadline: Duration, wrong: impl Fn(&Report, &Module) -> bool + Sync) {
    let lab = Lab::builtin(SandboxOptions { shares: only(mood), ..SandboxOptions::perfect() });
    let complaints = lab.complaints(threads, |module| {
        let query = lab.known(module)?;
        let report = lab.checker.check(module, &query, Instant::now() + deadline);
        wrong(&report, module).then(|| format!("{mood:?}: {}", said(&report)))
    });
    assert_none(&complaints);
}

fn only(mood: Mood) -> Shares {
    let mut shares = Shares::NONE;
    *match mood {
        Mood::Clear => return shares,
        Mood::Slow => &mut shares.slow,
        Mood::Blocked => &mut shares.blocked,
        Mood::RateLimited => &mut shares.rate_limited,
        Mood::Silent => &mut shares.silent,
        Mood::Reset => &mut shares.reset,
        Mood::Broken => &mut shares.broken,
        Mood::Walled => &mut shares.walled,
        Mood::Empty => &mut shares.empty,
        Mood::SaysYes => &mut shares.says_yes,
    } = 1.0;
    shares
}

#[test]
fn every_module_can_be_made_to_hit_and_to_miss() {
    let lab = Lab::builtin(SandboxOptions::perfect());
    assert!(lab.modules.len() > 100, "{} modules are no catalogue", lab.modules.len());
    let problems = lab.sandbox.problems();
    assert_none(&problems.iter().map(|it| format!("{}: {}", it.module, it.what)).collect::<Vec<_>>());
}

#[test]
fn known_names_hit_and_made_up_names_miss_and_the_sandbox_saw_every_request() {
    let lab = Lab::builtin(SandboxOptions::perfect());
    let complaints = lab.complaints(8, |module| {
        let Some(known) = lab.known(module) else { return Some("takes no query of ours".to_owned()) };
        let Some(nobody) = lab.query(module, "nobody").or_else(|| made_up(module, &known, 7)) else {
            return Some("takes no made-up name".to_owned());
        };
        let (hit, miss) = (lab.check(module, &known), lab.check(module, &nobody));
        let seen = lab.sandbox.requests().by_module.get(&**module.id()).copied().unwrap_or(0);
        let sent = u64::from(hit.evidence.requests + miss.evidence.requests);
        if (hit.outcome, miss.outcome) != (Outcome::Hit, Outcome::Miss) {
            Some(format!("known: {}; made up: {}", said(&hit), said(&miss)))
        } else if hit.findings.is_empty() && module.entry().result.is_some() {
            Some("a hit without a result".to_owned())
        } else if sent == 0 || seen < sent {
            Some(format!("{sent} requests were sent, {seen} were seen"))
        } else {
            None
        }
    });
    assert_none(&complaints);
    assert_eq!(lab.sandbox.requests().unknown, 0);
}

#[test]
fn hits_carry_the_metadata_that_their_modules_read() {
    let lab = Lab::builtin(SandboxOptions::perfect());
    let complaints = lab.complaints(8, |module| {
        let main = module.entry().result.as_ref()?;
        let report = lab.check(module, &lab.known(module)?);
        let found = report.findings.iter().find(|it| it.result_type == main.result_type)?;
        let missing: Vec<&str> = main
            .metadata
            .keys()
            .filter(|name| !found.metadata.contains_key(*name))
            .map(String::as_str)
            .collect();
        (!missing.is_empty()).then(|| format!("nothing for {}", missing.join(", ")))
    });
    assert_none(&complaints);
}

#[test]
fn a_challenge_is_a_block_for_every_module() {
    outcomes(Mood::Blocked, 8, Duration::from_secs(120), |report, _| report.outcome != Outcome::Blocked);
}

#[test]
fn too_many_requests_is_a_limit_for_every_module() {
    outcomes(Mood::RateLimited, 8, Duration::from_secs(120), |report, _| {
        report.outcome != Outcome::RateLimited || report.retry_after_secs != Some(30)
    });
}

#[test]
fn a_login_wall_is_a_hit_for_no_module() {
    outcomes(Mood::Walled, 8, Duration::from_secs(120), |report, module| {
        // The front page of the queried domain may well be a login page.
        report.outcome == Outcome::Hit && module.entry().contact != Contact::TargetWeb
    });
}

#[test]
fn an_empty_page_an_error_and_a_reset_prove_nothing_to_any_module() {
    for mood in [Mood::Empty, Mood::Broken, Mood::Reset] {
        outcomes(mood, 8, Duration::from_secs(120), |report, _| report.outcome.is_conclusive());
    }
}

#[test]
fn silence_is_a_timeout_for_every_module() {
    outcomes(Mood::Silent, 64, Duration::from_millis(500), |report, _| report.outcome != Outcome::Timeout);
}

#[test]
fn a_site_that_says_yes_to_every_name_is_unreliable_where_a_control_check_guards() {
    outcomes(Mood::SaysYes, 8, Duration::from_secs(120), |report, module| {
        let guarded = module.entry().control.unwrap_or(module.search_type() != SearchType::Domain);
        report.outcome != if guarded { Outcome::Unreliable } else { Outcome::Hit }
    });
}
