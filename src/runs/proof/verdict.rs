//! The verdict on a module's answers.

use std::time::Duration;

use serde::Serialize;

use super::question::{ExpectedOutcome, Kind, Question};
use crate::base::words::words;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::SearchType;
use crate::modules::reason::Reason;

words! {
    /// The verdict on a module's answers, from good to bad. The worst of several verdicts is used.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Verdict {
        /// Every outcome was the expected one.
        Ok = "ok",
        /// Some questions could not be asked: the module has no known name, or needs a key or a browser.
        Unproven = "unproven",
        /// The proof was interrupted before all questions were asked.
        Unfinished = "unfinished",
        /// The site gave no usable answer: DNS, TLS or connection failed, or the site reported an error.
        Error = "error",
        /// The site did not answer in time.
        Timeout = "timeout",
        /// A captcha, a challenge, a login page or a limit prevented the check.
        Blocked = "blocked",
        /// The module hits a made-up name.
        Unreliable = "unreliable",
        /// A known name misses, or the module's rules do not fit the answers.
        Broken = "broken",
    }
}

impl Verdict {
    /// Returns whether the catalogue entry needs to be corrected.
    pub fn is_failing(self) -> bool {
        matches!(self, Self::Unreliable | Self::Broken)
    }
}

/// An answered question.
#[derive(Debug, Clone, Serialize)]
pub struct Answered {
    /// `known`, `stand_in`, `made_up`, or the name of a failure.
    pub asks: &'static str,
    /// The name in the query.
    pub query: String,
    /// The expected outcome.
    pub wants: ExpectedOutcome,
    /// The outcome.
    pub outcome: Outcome,
    /// Whether the outcome was the expected one.
    pub is_as_wanted: bool,
    /// The reason of the outcome, as a machine-readable word.
    pub reason: Option<Reason>,
    /// The rule that determined the outcome.
    pub rule: Option<String>,
    /// The last HTTP status.
    pub http_status: Option<u16>,
    /// The host of the final address.
    pub final_host: Option<String>,
    /// The number of bytes of bodies.
    pub bytes_read: usize,
    /// The number of requests, including those of a control check and retries.
    pub requests: u32,
    /// The time from the first request to the last answer.
    pub elapsed_ms: u64,
}

/// The proof of one module.
#[derive(Debug, Clone, Serialize)]
pub struct ModuleProof {
    /// The id of the module.
    pub module: String,
    /// The name of its platform.
    pub platform: String,
    /// The type of query that it accepts.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// The worst verdict on its answers.
    pub verdict: Verdict,
    /// The reason why the verdict is not `ok`.
    pub why: Option<String>,
    /// The names of metadata for which no known name gave a value.
    pub unread: Vec<String>,
    /// The answers, in the order of the questions.
    pub answers: Vec<Answered>,
}

impl ModuleProof {
    /// Creates the proof of a module without answers. `gap` is the reason why it can prove the module only partly.
    pub(super) fn new(module: &Module, gap: Option<String>) -> Self {
        Self {
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            search_type: module.search_type(),
            verdict: if gap.is_some() { Verdict::Unproven } else { Verdict::Ok },
            why: gap,
            unread: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Adds an answer.
    pub(super) fn take(&mut self, question: &Question, report: Report, took: Duration) {
        let Question { module, query, wants, asks, .. } = question;
        if question.kind == Kind::Real && report.outcome == Outcome::Hit {
            self.note_read(module, &report);
            if report.findings.is_empty() && module.entry().result.is_some() {
                self.note(Verdict::Broken, format!("`{}` hits without a result", query.normal()));
            }
        }
        if let Some((verdict, why)) = unexpected(question, &report) {
            self.note(verdict, why);
        }
        self.answers.push(Answered {
            asks,
            query: query.normal().to_owned(),
            wants: *wants,
            outcome: report.outcome,
            is_as_wanted: wants.is_met_by(report.outcome),
            reason: report.reason,
            rule: report.evidence.matcher,
            http_status: report.evidence.http_status,
            final_host: report.evidence.final_host,
            bytes_read: report.evidence.bytes_read,
            requests: report.evidence.requests,
            elapsed_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// Leaves in `unread` the names of metadata for which no known name has given a value.
    fn note_read(&mut self, module: &Module, report: &Report) {
        let is_first = !self
            .answers
            .iter()
            .any(|answer| matches!(answer.asks, "known" | "stand_in") && answer.outcome == Outcome::Hit);
        if is_first {
            let names = module.entry().result.iter().flat_map(|main| main.metadata.keys());
            self.unread = names.cloned().collect();
        }
        self.unread.retain(|name| !report.findings.iter().any(|it| it.metadata.contains_key(name)));
    }

    /// Records a verdict. The first of the worst ones is reported.
    pub(super) fn note(&mut self, verdict: Verdict, why: String) {
        if verdict > self.verdict {
            (self.verdict, self.why) = (verdict, Some(why));
        }
    }
}

/// Returns the verdict on an unexpected answer, and the reason as a text for the report.
fn unexpected(question: &Question, report: &Report) -> Option<(Verdict, String)> {
    if question.wants.is_met_by(report.outcome) {
        return None;
    }
    let name = question.query.normal();
    let seen = seen(report);
    let whose = match question.kind {
        Kind::Fault => return Some((Verdict::Broken, format!("{} is reported as {seen}", question.asks))),
        Kind::MadeUp => "the made-up name",
        Kind::Real => "the known name",
    };
    Some(match report.outcome {
        Outcome::Hit => (Verdict::Unreliable, format!("{whose} `{name}` is found: {seen}")),
        Outcome::Unreliable if report.reason == Some(Reason::KnownMissed) => {
            (Verdict::Broken, format!("{whose} `{name}` is not found: {seen}"))
        }
        Outcome::Miss => (Verdict::Broken, format!("{whose} `{name}` is not found: {seen}")),
        Outcome::Unreliable => {
            (Verdict::Unreliable, format!("a made-up name is found as well as `{name}`: {seen}"))
        }
        Outcome::Blocked | Outcome::RateLimited => (Verdict::Blocked, seen),
        Outcome::Timeout => (Verdict::Timeout, seen),
        Outcome::Skipped if report.reason.is_some_and(Reason::is_local_fault) => (Verdict::Error, seen),
        Outcome::Skipped => (Verdict::Unproven, seen),
        Outcome::Error if report.reason.is_some_and(is_about_rules) => {
            (Verdict::Broken, format!("{whose} `{name}` gives no conclusion: {seen}"))
        }
        _ => (Verdict::Error, seen),
    })
}

/// Returns whether the site answered and the module's rules do not fit the answer.
fn is_about_rules(reason: Reason) -> bool {
    use Reason::{Conflict, JsonTooLarge, NotSaved, Truncated, Unrecognized};
    // With these reasons, the answer was not the page for which the rules were written.
    use Reason::{Empty, FrontPage, OtherAccount};
    matches!(
        reason,
        Conflict | JsonTooLarge | NotSaved | Truncated | Unrecognized | Empty | FrontPage | OtherAccount
    )
}

/// Returns the outcome, reason, rule, status, host and size in one line.
fn seen(report: &Report) -> String {
    let mut words = vec![report.outcome.as_str().to_owned()];
    words.extend(report.reason.map(|reason| reason.to_string()));
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
