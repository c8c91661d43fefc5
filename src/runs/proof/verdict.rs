//! What a module's answers prove.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

use super::question::{Asks, Question, Want};
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::SearchType;

/// What a module's answers prove; from good to bad, of several the worst counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It said to every question what it must.
    Ok,
    /// It was not asked everything: no known name, or it needs a key or a browser.
    Unproven,
    /// The proof was broken off before it was asked everything.
    Unfinished,
    /// No usable answer: DNS, TLS, connection, an error of the site.
    Error,
    /// No answer in time.
    Timeout,
    /// A captcha, a challenge, a login wall or a limit stood in the way.
    Blocked,
    /// It says yes to a made-up name.
    Unreliable,
    /// A known name misses, or its rules do not fit the answers.
    Broken,
}

impl Verdict {
    /// All of them, from good to bad.
    pub const ALL: [Self; 8] = [
        Self::Ok,
        Self::Unproven,
        Self::Unfinished,
        Self::Error,
        Self::Timeout,
        Self::Blocked,
        Self::Unreliable,
        Self::Broken,
    ];

    /// `ok`, `unproven`, …
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unproven => "unproven",
            Self::Unfinished => "unfinished",
            Self::Error => "error",
            Self::Timeout => "timeout",
            Self::Blocked => "blocked",
            Self::Unreliable => "unreliable",
            Self::Broken => "broken",
        }
    }

    /// Whether the entry has to be mended.
    pub fn is_failing(self) -> bool {
        matches!(self, Self::Unreliable | Self::Broken)
    }
}

/// One answered question, with what was seen.
#[derive(Debug, Clone, Serialize)]
pub struct Answered {
    /// `known`, `stand_in`, `made_up`, or the name of a trouble.
    pub asks: &'static str,
    /// The name asked for.
    pub query: String,
    /// What must come of it.
    pub wants: Want,
    /// What came of it.
    pub outcome: Outcome,
    /// Whether that is the wanted.
    pub is_as_wanted: bool,
    /// A machine-readable word where the outcome needs one.
    pub reason: Option<String>,
    /// Which rule fired.
    pub rule: Option<String>,
    /// The last HTTP status seen.
    pub http_status: Option<u16>,
    /// Host of the final address.
    pub final_host: Option<String>,
    /// Bytes of bodies read.
    pub bytes_read: usize,
    /// Requests sent, a control check's and retries included.
    pub requests: u32,
    /// From the first request to the last answer.
    pub elapsed_ms: u64,
}

/// What is proved of one module.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleProof {
    /// Module id.
    pub module: String,
    /// The name people know.
    pub platform: String,
    /// What kind of query it takes.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// The worst that its answers prove.
    pub verdict: Verdict,
    /// Why it is not `ok`.
    pub why: Option<String>,
    /// Names of metadata for which no known name gave a value.
    pub unread: Vec<String>,
    /// What it was asked, in order.
    pub answers: Vec<Answered>,
}

/// Collects the answers of one module.
pub(super) struct Hearing {
    verdict: Verdict,
    why: Option<String>,
    found: Option<BTreeSet<String>>,
    answers: Vec<Answered>,
}

impl Hearing {
    pub(super) fn new(gap: Option<String>) -> Self {
        let verdict = if gap.is_some() { Verdict::Unproven } else { Verdict::Ok };
        Self { verdict, why: gap, found: None, answers: Vec::new() }
    }

    pub(super) fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// Takes an answer; `asks` is the kind's name.
    pub(super) fn take(
        &mut self,
        module: &Module,
        question: &Question,
        asks: &'static str,
        report: Report,
        took: Duration,
    ) {
        let is_real = matches!(question.asks, Asks::Known | Asks::StandIn);
        if is_real && report.outcome == Outcome::Hit {
            let names = report.findings.iter().flat_map(|finding| finding.metadata.keys().cloned());
            self.found.get_or_insert_default().extend(names);
            if report.findings.is_empty() && module.entry().result.is_some() {
                self.note(Verdict::Broken, format!("`{}` hits without a result", question.query.normal()));
            }
        }
        if let Some((verdict, why)) = objection(question, asks, &report) {
            self.note(verdict, why);
        }
        self.answers.push(Answered {
            asks,
            query: question.query.normal().to_owned(),
            wants: question.wants,
            outcome: report.outcome,
            is_as_wanted: question.wants.is_met_by(report.outcome),
            reason: report.reason,
            rule: report.evidence.matcher,
            http_status: report.evidence.http_status,
            final_host: report.evidence.final_host,
            bytes_read: report.evidence.bytes_read,
            requests: report.evidence.requests,
            elapsed_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// The first of the worst is what is told.
    pub(super) fn note(&mut self, verdict: Verdict, why: String) {
        if verdict > self.verdict {
            (self.verdict, self.why) = (verdict, Some(why));
        }
    }

    pub(super) fn close(self, module: &Module) -> ModuleProof {
        let names = module.entry().result.iter().flat_map(|main| main.metadata.keys());
        let unread = match &self.found {
            Some(found) => names.filter(|name| !found.contains(*name)).cloned().collect(),
            None => Vec::new(),
        };
        ModuleProof {
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            search_type: module.search_type(),
            verdict: self.verdict,
            why: self.why,
            unread,
            answers: self.answers,
        }
    }
}

/// What an answer that is not the wanted one proves, and why, for people.
fn objection(question: &Question, asks: &str, report: &Report) -> Option<(Verdict, String)> {
    if question.wants.is_met_by(report.outcome) {
        return None;
    }
    let name = question.query.normal();
    let seen = seen(report);
    if let Asks::Trouble(_) = question.asks {
        return Some((Verdict::Broken, format!("{asks} is taken for {seen}")));
    }
    let whose = if question.asks == Asks::MadeUp { "the made-up name" } else { "the known name" };
    Some(match report.outcome {
        Outcome::Hit => (Verdict::Unreliable, format!("{whose} `{name}` is found: {seen}")),
        Outcome::Miss => (Verdict::Broken, format!("{whose} `{name}` is not found: {seen}")),
        Outcome::Unreliable => {
            (Verdict::Unreliable, format!("a made-up name is found as well as `{name}`: {seen}"))
        }
        Outcome::Blocked | Outcome::RateLimited => (Verdict::Blocked, seen),
        Outcome::Timeout => (Verdict::Timeout, seen),
        Outcome::Skipped => (Verdict::Unproven, seen),
        Outcome::Error if is_about_rules(report.reason.as_deref()) => {
            (Verdict::Broken, format!("{whose} `{name}` gives no conclusion: {seen}"))
        }
        Outcome::Error => (Verdict::Error, seen),
    })
}

/// Whether the answer came, and it is the rules that do not fit it.
fn is_about_rules(reason: Option<&str>) -> bool {
    let not_concluded = ["unrecognized", "conflict", "not_saved", "truncated", "json_too_large"];
    // A rule fired, or none can: what came is not the page that they were written for.
    let not_the_page = ["other_account", "front_page", "empty"];
    reason.is_some_and(|reason| not_concluded.contains(&reason) || not_the_page.contains(&reason))
}

/// In one line: outcome, reason, rule, status, host, bytes.
fn seen(report: &Report) -> String {
    let mut words = vec![report.outcome.as_str().to_owned()];
    words.extend(report.reason.clone());
    let evidence = &report.evidence;
    if let Some(rule) = &evidence.matcher {
        words.push(format!("by {rule};"));
    }
    if let Some(status) = evidence.http_status {
        words.push(format!("status {status}"));
        words.extend(evidence.final_host.as_ref().map(|host| format!("of {host},")));
        words.push(format!("{} bytes", evidence.bytes_read));
    }
    words.join(" ")
}
