//! Proofs of a catalogue. Every module is queried for its known names, which must hit, and for made-up names, which
//! must miss. On a simulated web it is also queried for names on failing sites, where it must neither hit nor miss.
//!
//! Many modules are proven at once, within the limits of hosts and the rates of modules. The questions for one module follow
//! each other.
//!
//! To add a failure, add its answer to the sandbox and its line to `app::proof`.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::scheduler::{Feedback, Kind, Permit, Scheduler, Task, Turn, Work};
use super::shared_answers::SharedAnswers;
use crate::base::threads;
use crate::base::words::words;
use crate::modules::checker::Checker;
use crate::modules::control::two_made_up;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::modules::terms::{BROWSER_CONTROL_TIME, CONTROL_TIME, Terms};

/// The maximum number of known names of one module that are queried.
const MAX_KNOWN: usize = 5;
/// The interval at which an interruption is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The settings of a proof.
pub struct ProofOptions {
    /// The checker that queries the web for which the modules were made.
    pub checker: Arc<Checker>,
    /// Whether that web is simulated. In it, other names replace missing known ones, and hosts need no pauses.
    pub simulated: bool,
    /// The simulated webs on which every site fails in some way.
    pub faults: Vec<SimulatedFault>,
    /// The number of concurrent checks.
    pub jobs: usize,
    /// The maximum number of concurrent checks of one host.
    pub host_concurrency: usize,
    /// The number of these checks that can run in browsers at once.
    pub browser_jobs: usize,
    /// The deadline of a check.
    pub timeout: Duration,
    /// The seed for made-up names.
    pub seed: u64,
}

/// A simulated web on which every site fails in the same way.
pub struct SimulatedFault {
    /// The name of the failure in the report, such as `challenge`.
    pub name: &'static str,
    /// The checker that queries this web.
    pub checker: Arc<Checker>,
    /// The deadline of a check on this web.
    pub timeout: Duration,
    /// A function that returns the expected outcome of a module on this web, or `None` if the failure does not affect
    /// the module.
    pub wants: fn(&Module) -> Option<ExpectedOutcome>,
}

/// The expected outcome of a check. As JSON, it is one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExpectedOutcome {
    /// Neither a hit nor a miss.
    Neither,
    /// This outcome.
    #[serde(untagged)]
    Exactly(Outcome),
}

impl ExpectedOutcome {
    fn is_met_by(self, outcome: Outcome) -> bool {
        match self {
            // A skipped check proves nothing.
            Self::Neither => !outcome.is_conclusive() && outcome != Outcome::Skipped,
            Self::Exactly(wanted) => outcome == wanted,
        }
    }
}

/// A handle that ends a proof, or the searches of a command, early from any thread.
#[derive(Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the work. It returns what is known.
    pub fn stop(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Returns whether the work was ended early.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

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

/// Runs all checks of every module. `progress` is called whenever a module is done, with the numbers of modules that are
/// done and of those that fail. The proofs are returned in the order of the modules. If they are interrupted, those
/// that are not done are `unfinished`.
pub fn prove(
    modules: &[Arc<Module>],
    options: &ProofOptions,
    stop: &Stop,
    mut progress: impl FnMut(usize, usize),
) -> Vec<ModuleProof> {
    let no_answers = SharedAnswers::new(Duration::ZERO);
    let (jobs, pages) = (options.jobs, options.browser_jobs);
    let scheduler = Scheduler::new(jobs, pages, options.host_concurrency, Arc::default(), no_answers);
    let group = scheduler.join(None, false, true);
    let (sender, receiver) = channel();
    let ask = |place: usize, question: Question| -> (Task, Work) {
        let (module, sender, is_real) = (Arc::clone(&modules[place]), sender.clone(), !options.simulated);
        // A simulated web needs no pauses, because its sites are one process.
        let task = match is_real {
            true => Task::of(&module, &question.query),
            false => Task::plain(Kind::Check, Vec::new()),
        };
        let scheduler = Arc::clone(&scheduler);
        let work = move |turn: Turn| {
            let since = Instant::now();
            let report = turn.map_or_else(
                |denied| *denied,
                |permit| {
                    let report = question.make(&module, &permit, since);
                    if is_real {
                        scheduler.pause(&report.pauses);
                    }
                    permit.end(Feedback::of(&report), None);
                    report
                },
            );
            // The proof may have been interrupted.
            let _ = sender.send((place, question, report, since.elapsed()));
        };
        (task, Box::new(work))
    };
    let mut proofs: Vec<ModuleProof> = modules.iter().map(|module| ModuleProof::new(module)).collect();
    let plans = modules.iter().zip(&mut proofs).map(|(module, proof)| plan(module, options, proof));
    let mut plans: Vec<VecDeque<Question>> = plans.map(VecDeque::from).collect();
    let first = plans.iter_mut().enumerate();
    let first: Vec<_> = first.filter_map(|(place, plan)| Some((place, plan.pop_front()?))).collect();
    let mut open: HashSet<usize> = first.iter().map(|(place, _)| *place).collect();
    scheduler.add(group.id, first.into_iter().map(|(place, question)| ask(place, question)).collect());
    while !stop.is_set() {
        let failing = proofs.iter().filter(|proof| proof.verdict.is_failing()).count();
        progress(proofs.len() - open.len(), failing);
        if open.is_empty() {
            break;
        }
        let Ok((place, question, report, took)) = receiver.recv_timeout(LOOK_EVERY) else { continue };
        let proof = &mut proofs[place];
        proof.take(&modules[place], &question, report, took);
        // A site that blocks the checks is not queried again.
        let is_shut = matches!(proof.verdict, Verdict::Error | Verdict::Timeout | Verdict::Blocked);
        match plans[place].pop_front().filter(|_| options.simulated || !is_shut) {
            Some(next) => scheduler.add(group.id, vec![ask(place, next)]),
            None => _ = open.remove(&place),
        }
    }
    for place in open {
        proofs[place].note(Verdict::Unfinished, "the proof was stopped".to_owned());
    }
    proofs
}

/// The expected outcome of a name of the module's `known` list, or one that exists everywhere on the simulated web.
const REAL: ExpectedOutcome = ExpectedOutcome::Exactly(Outcome::Hit);
/// The expected outcome of a name that does not exist. On a failing site, no outcome is either of the two.
const MADE_UP: ExpectedOutcome = ExpectedOutcome::Exactly(Outcome::Miss);

/// One query for a module.
struct Question {
    /// `known`, `stand_in`, `made_up`, or the name of a failure.
    asks: &'static str,
    query: Query,
    wants: ExpectedOutcome,
    /// The checker of the web that is queried.
    checker: Arc<Checker>,
    /// The deadline, which does not apply to control checks.
    timeout: Duration,
}

impl Question {
    fn make(&self, module: &Module, permit: &Permit, since: Instant) -> Report {
        let deadline = since + self.timeout;
        let ceiling = deadline + if module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME };
        let terms = Terms { since, ceiling, hosts: permit, ..deadline.into() };
        let mut report = Report::bare(Outcome::Error, Reason::Panic);
        threads::guard(format_args!("module {}", module.id()), || {
            report = match self.wants {
                MADE_UP => self.checker.check_made_up(module, &self.query, terms),
                _ => *self.checker.check(module, &self.query, terms),
            };
        });
        report
    }
}

/// Returns the questions for a module, in order. Notes why the answers can prove the module only partly.
fn plan(module: &Arc<Module>, options: &ProofOptions, proof: &mut ModuleProof) -> Vec<Question> {
    let names = module.entry().known.iter().take(MAX_KNOWN);
    let mut real: Vec<Query> =
        names.filter_map(|name| Query::parse(module.search_type(), name).ok()).collect();
    let (asks, is_known) = if real.is_empty() { ("stand_in", false) } else { ("known", true) };
    real.extend(stand_in(module).filter(|_| !is_known));
    let mut unproven = |why: &str| proof.note(Verdict::Unproven, why.to_owned());
    let Some(base) = real.first().cloned() else {
        unproven("the module has no known name that it accepts");
        return Vec::new();
    };
    if let Some(reason) = module.why_skipped(&base, &options.checker.keys) {
        unproven(&why_not_asked(module, reason));
        return Vec::new();
    }
    let ask = |asks, query: &Query, wants| {
        let (query, checker) = (query.clone(), Arc::clone(&options.checker));
        Question { asks, query, wants, checker, timeout: options.timeout }
    };
    let mut questions = Vec::new();
    if is_known || options.simulated {
        questions.extend(real.iter().map(|name| ask(asks, name, REAL)));
    } else {
        unproven("it has no `known` name");
    }
    let made_up = two_made_up(module, &base, options.seed);
    if made_up.is_empty() {
        unproven("no made-up name is possible that it accepts");
    }
    questions.extend(made_up.iter().map(|name| ask("made_up", name, MADE_UP)));
    questions.extend(options.faults.iter().filter_map(|fault| {
        let (checker, timeout) = (Arc::clone(&fault.checker), fault.timeout);
        let question = ask(fault.name, &base, (fault.wants)(module)?);
        Some(Question { checker, timeout, ..question })
    }));
    questions
}

/// Returns a name that exists everywhere on the simulated web, in a form that the module accepts.
fn stand_in(module: &Module) -> Option<Query> {
    let texts: Vec<String> = match module.search_type() {
        SearchType::Username => {
            ["", "7", "-seven", "_seven", "0000001"].map(|end| format!("everybody{end}")).to_vec()
        }
        SearchType::Email => {
            let domains = module.entry().domain_in.iter().map(String::as_str);
            domains.chain(["example.com"]).map(|domain| format!("everybody@{domain}")).collect()
        }
        SearchType::Domain => ["com", "org", "net"].map(|end| format!("everybody.{end}")).to_vec(),
    };
    let mut queries = texts.iter().filter_map(|text| Query::parse(module.search_type(), text).ok());
    queries.find(|query| module.why_refused(query).is_none())
}

/// Returns the reason why a module is not queried, as a text for the report.
fn why_not_asked(module: &Module, reason: Reason) -> String {
    match reason {
        Reason::NeedsKey => {
            let names = module.entry().needs.iter();
            let keys: Vec<String> =
                names.map(|need| format!("--key {}=…", need.trim_start_matches("config."))).collect();
            format!("it needs {}", keys.join(" "))
        }
        Reason::Disabled => "it is disabled (`enabled`)".to_owned(),
        other => format!("it would skip its own known name: {other}"),
    }
}

impl ModuleProof {
    /// Creates the proof of a module without answers.
    fn new(module: &Module) -> Self {
        Self {
            module: module.id().to_string(),
            platform: module.platform().to_owned(),
            search_type: module.search_type(),
            verdict: Verdict::Ok,
            why: None,
            unread: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Adds an answer.
    fn take(&mut self, module: &Module, question: &Question, report: Report, took: Duration) {
        let query = question.query.normal().to_owned();
        if question.wants == REAL && report.outcome == Outcome::Hit {
            // The questions for real names come first.
            if self.answers.iter().all(|answer| answer.outcome != Outcome::Hit) {
                let names = module.entry().result.iter().flat_map(|main| main.metadata.keys());
                self.unread = names.cloned().collect();
            }
            self.unread.retain(|name| !report.findings.iter().any(|it| it.metadata.contains_key(name)));
            if report.findings.is_empty() && module.entry().result.is_some() {
                self.note(Verdict::Broken, format!("`{query}` hits without a result"));
            }
        }
        let is_as_wanted = question.wants.is_met_by(report.outcome);
        if !is_as_wanted {
            let (verdict, why) = unexpected(question, &report);
            self.note(verdict, why);
        }
        self.answers.push(Answered {
            asks: question.asks,
            query,
            wants: question.wants,
            outcome: report.outcome,
            is_as_wanted,
            reason: report.reason,
            rule: report.evidence.matcher,
            http_status: report.evidence.http_status,
            final_host: report.evidence.final_host,
            bytes_read: report.evidence.bytes_read,
            requests: report.evidence.requests,
            elapsed_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// Records a verdict. The first of the worst ones is reported.
    fn note(&mut self, verdict: Verdict, why: String) {
        if verdict > self.verdict {
            (self.verdict, self.why) = (verdict, Some(why));
        }
    }
}

/// Returns the verdict on an unexpected answer, and the reason as a text for the report.
fn unexpected(question: &Question, report: &Report) -> (Verdict, String) {
    let (name, seen) = (question.query.normal(), seen(report));
    let whose = match question.wants {
        REAL => "the known name",
        MADE_UP => "the made-up name",
        _ => return (Verdict::Broken, format!("{} is reported as {seen}", question.asks)),
    };
    use Reason::{Conflict, Empty, FrontPage, JsonTooLarge, NotSaved, OtherAccount, Truncated, Unrecognized};
    match (report.outcome, report.reason) {
        (Outcome::Hit, _) => (Verdict::Unreliable, format!("{whose} `{name}` is found: {seen}")),
        (Outcome::Miss, _) | (Outcome::Unreliable, Some(Reason::KnownMissed)) => {
            (Verdict::Broken, format!("{whose} `{name}` is not found: {seen}"))
        }
        (Outcome::Unreliable, _) => {
            (Verdict::Unreliable, format!("a made-up name is found as well as `{name}`: {seen}"))
        }
        // The site answered, and the rules do not fit the answer. With the first of these reasons, it was not the page for which
        // they were written.
        (Outcome::Error, Some(Empty | FrontPage | OtherAccount))
        | (Outcome::Error, Some(Conflict | JsonTooLarge | NotSaved | Truncated | Unrecognized)) => {
            (Verdict::Broken, format!("{whose} `{name}` gives no conclusion: {seen}"))
        }
        (Outcome::Blocked | Outcome::RateLimited, _) => (Verdict::Blocked, seen),
        (Outcome::Timeout, _) => (Verdict::Timeout, seen),
        (Outcome::Skipped, reason) if !reason.is_some_and(Reason::is_local_fault) => {
            (Verdict::Unproven, seen)
        }
        (Outcome::Error | Outcome::Skipped, _) => (Verdict::Error, seen),
    }
}

/// Returns the outcome, reason, rule, status, host and size in one line.
fn seen(report: &Report) -> String {
    let mut words = vec![report.outcome.as_str().to_owned()];
    words.extend(report.reason.map(|reason| reason.to_string()));
    let evidence = &report.evidence;
    words.extend(evidence.matcher.as_ref().map(|rule| format!("by {rule};")));
    if let Some(status) = evidence.http_status {
        words.push(format!("status {status}"));
        words.extend(evidence.final_host.as_ref().map(|host| format!("of {host},")));
        words.push(format!("{} bytes", evidence.bytes_read));
    }
    words.join(" ")
}
