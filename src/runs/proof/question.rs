//! The queries for a module, and their expected outcomes.

pub use super::options::ExpectedOutcome;
use super::options::ProofOptions;
use crate::modules::control::two_made_up;
use crate::modules::module::Module;
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;

/// The maximum number of known names of one module that are queried.
const MAX_KNOWN: usize = 5;

/// The kinds of questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionKind {
    /// A name of the module's `known` list.
    Known,
    /// A name that exists everywhere on the simulated web.
    StandIn,
    /// A name that does not exist.
    MadeUp,
    /// A name on a failing site. Contains the index in [`ProofOptions::faults`].
    Fault(usize),
}

/// One query for a module.
#[derive(Debug, Clone)]
pub struct Question {
    /// The kind of the question.
    pub kind: QuestionKind,
    /// The query.
    pub query: Query,
    /// The expected outcome.
    pub wants: ExpectedOutcome,
}

/// All questions for a module, in order, and the reason for missing questions.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The questions.
    pub questions: Vec<Question>,
    /// The reason why the answers can prove the module only partly.
    pub gap: Option<String>,
}

/// Returns the questions for a module.
pub fn plan(module: &Module, options: &ProofOptions) -> Plan {
    let known = known(module);
    let stand_in = if known.is_empty() { stand_in(module) } else { None };
    let Some(base) = known.first().cloned().or(stand_in) else {
        return Plan {
            gap: Some("the module has no known name that it accepts".to_owned()),
            ..Plan::default()
        };
    };
    if let Some(reason) = module.why_skipped(&base, options.checker.keys()) {
        return Plan { gap: Some(explain(module, reason)), ..Plan::default() };
    }
    let mut gap = None;
    let ask = |kind, query, wants| Question { kind, query, wants };
    let made_up = two_made_up(module, &base, options.seed);
    let mut questions: Vec<Question> =
        known.iter().map(|known| ask(QuestionKind::Known, known.clone(), ExpectedOutcome::Hit)).collect();
    if known.is_empty() {
        match options.simulated {
            true => questions.push(ask(QuestionKind::StandIn, base.clone(), ExpectedOutcome::Hit)),
            false => gap = Some("it has no `known` name".to_owned()),
        }
    }
    if made_up.is_empty() {
        gap = Some("no made-up name is possible that it accepts".to_owned());
    }
    questions.extend(made_up.into_iter().map(|name| ask(QuestionKind::MadeUp, name, ExpectedOutcome::Miss)));
    for (place, fault) in options.faults.iter().enumerate() {
        if let Some(wants) = (fault.wants)(module) {
            questions.push(ask(QuestionKind::Fault(place), base.clone(), wants));
        }
    }
    Plan { questions, gap }
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
