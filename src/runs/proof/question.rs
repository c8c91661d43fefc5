//! The settings of a proof, the queries for a module, and their expected outcomes.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use crate::modules::checker::Checker;
use crate::modules::control::two_made_up;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::modules::terms::{BROWSER_CONTROL_TIME, CONTROL_TIME};

/// The maximum number of known names of one module that are queried.
const MAX_KNOWN: usize = 5;

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
    /// Returns whether the outcome is the expected one.
    pub fn is_met_by(self, outcome: Outcome) -> bool {
        match self {
            // A skipped check proves nothing.
            Self::Neither => !outcome.is_conclusive() && outcome != Outcome::Skipped,
            Self::Exactly(wanted) => outcome == wanted,
        }
    }
}

/// The kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name of the module's `known` list, or one that exists everywhere on the simulated web.
    Real,
    /// A name that does not exist.
    MadeUp,
    /// A name on a failing site.
    Fault,
}

/// One query for a module.
#[derive(Clone)]
pub(super) struct Question {
    pub(super) kind: Kind,
    /// `known`, `stand_in`, `made_up`, or the name of a failure.
    pub(super) asks: &'static str,
    pub(super) module: Arc<Module>,
    pub(super) query: Query,
    pub(super) wants: ExpectedOutcome,
    /// The checker of the web that is queried.
    pub(super) checker: Arc<Checker>,
    /// The deadline, which does not apply to control checks.
    pub(super) timeout: Duration,
}

impl Question {
    /// Returns the time by which the check ends with its control check.
    pub(super) fn longest(&self) -> Duration {
        self.timeout + if self.module.is_premium() { BROWSER_CONTROL_TIME } else { CONTROL_TIME }
    }
}

/// Returns the questions for a module, in order, and the reason why the answers can prove the module only partly.
pub(super) fn plan(module: &Arc<Module>, options: &ProofOptions) -> (Vec<Question>, Option<String>) {
    let known = known(module);
    let stand_in = if known.is_empty() { stand_in(module) } else { None };
    let Some(base) = known.first().cloned().or(stand_in) else {
        return (Vec::new(), Some("the module has no known name that it accepts".to_owned()));
    };
    if let Some(reason) = module.why_skipped(&base, options.checker.keys()) {
        return (Vec::new(), Some(explain(module, reason)));
    }
    let mut gap = None;
    let ask = |kind, asks, query: &Query, wants| Question {
        kind,
        asks,
        module: Arc::clone(module),
        query: query.clone(),
        wants,
        checker: Arc::clone(&options.checker),
        timeout: options.timeout,
    };
    let hit = ExpectedOutcome::Exactly(Outcome::Hit);
    let mut questions: Vec<Question> =
        known.iter().map(|known| ask(Kind::Real, "known", known, hit)).collect();
    if known.is_empty() {
        match options.simulated {
            true => questions.push(ask(Kind::Real, "stand_in", &base, hit)),
            false => gap = Some("it has no `known` name".to_owned()),
        }
    }
    let made_up = two_made_up(module, &base, options.seed);
    if made_up.is_empty() {
        gap = Some("no made-up name is possible that it accepts".to_owned());
    }
    let miss = ExpectedOutcome::Exactly(Outcome::Miss);
    questions.extend(made_up.iter().map(|name| ask(Kind::MadeUp, "made_up", name, miss)));
    questions.extend(options.faults.iter().filter_map(|fault| {
        let (checker, timeout) = (Arc::clone(&fault.checker), fault.timeout);
        let question = ask(Kind::Fault, fault.name, &base, (fault.wants)(module)?);
        Some(Question { checker, timeout, ..question })
    }));
    (questions, gap)
}

fn known(module: &Module) -> Vec<Query> {
    let names = module.entry().known.iter().take(MAX_KNOWN);
    names.filter_map(|name| Query::parse(module.search_type(), name).ok()).collect()
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
    queries.find(
        |query| !matches!(module.why_skipped(query, &Default::default()), Some(why) if why != Reason::NeedsKey),
    )
}

/// Returns the reason why a module is not queried, as a text for the report.
fn explain(module: &Module, reason: Reason) -> String {
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
