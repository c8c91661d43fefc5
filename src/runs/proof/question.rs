//! What a module is asked, and what it must say.

use serde::Serialize;

use super::ProofOptions;
use crate::modules::control::two_made_up;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};

/// The most known names of one module that are asked.
const MAX_KNOWN: usize = 5;

/// What a check must come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Want {
    /// The name is found.
    Hit,
    /// The name is not found.
    Miss,
    /// The site keeps us out.
    Blocked,
    /// The site limits us.
    RateLimited,
    /// The deadline passes.
    Timeout,
    /// The module notices that it says yes to every name.
    Unreliable,
    /// Neither found nor not found.
    Neither,
}

impl Want {
    /// Whether the outcome is the wanted one.
    pub fn is_met_by(self, outcome: Outcome) -> bool {
        match self {
            Self::Hit => outcome == Outcome::Hit,
            Self::Miss => outcome == Outcome::Miss,
            Self::Blocked => outcome == Outcome::Blocked,
            Self::RateLimited => outcome == Outcome::RateLimited,
            Self::Timeout => outcome == Outcome::Timeout,
            Self::Unreliable => outcome == Outcome::Unreliable,
            // Skipped, it would prove nothing.
            Self::Neither => !outcome.is_conclusive() && outcome != Outcome::Skipped,
        }
    }
}

/// Which kind of question it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// A name of the module's `known` list.
    Known,
    /// A name that the simulated web has everywhere.
    StandIn,
    /// A name that nobody has.
    MadeUp,
    /// A name on a site in trouble: the place in [`ProofOptions::troubles`].
    Trouble(usize),
}

/// One question to a module.
#[derive(Debug, Clone)]
pub struct Question {
    /// Which kind.
    pub asks: Asks,
    /// The name asked for.
    pub query: Query,
    /// What must come of it.
    pub wants: Want,
}

/// All questions to a module, in order, and what cannot be asked.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// What is asked.
    pub questions: Vec<Question>,
    /// Why the answers prove the module in part at the most.
    pub gap: Option<String>,
}

/// What this module is asked.
pub fn plan(module: &Module, options: &ProofOptions) -> Plan {
    let known = known(module);
    let stand_in = if known.is_empty() { stand_in(module) } else { None };
    let Some(base) = known.first().cloned().or(stand_in) else {
        return Plan { gap: Some("no name that it would take is known".to_owned()), ..Plan::default() };
    };
    if let Some(reason) = module.why_skipped(&base, options.checker.keys()) {
        return Plan { gap: Some(explain(module, reason)), ..Plan::default() };
    }
    let mut gap = None;
    let asks = |asks, query, wants| Question { asks, query, wants };
    let made_up = two_made_up(module, &base, options.seed);
    let mut questions: Vec<Question> =
        known.iter().map(|known| asks(Asks::Known, known.clone(), Want::Hit)).collect();
    if known.is_empty() {
        match options.simulated {
            true => questions.push(asks(Asks::StandIn, base.clone(), Want::Hit)),
            false => gap = Some("it has no `known` name".to_owned()),
        }
    }
    if made_up.is_empty() {
        gap = Some("no made-up name can be made that it takes".to_owned());
    }
    questions.extend(made_up.into_iter().map(|name| asks(Asks::MadeUp, name, Want::Miss)));
    for (place, trouble) in options.troubles.iter().enumerate() {
        if let Some(wants) = (trouble.wants)(module) {
            questions.push(asks(Asks::Trouble(place), base.clone(), wants));
        }
    }
    Plan { questions, gap }
}

fn known(module: &Module) -> Vec<Query> {
    let names = module.entry().known.iter().take(MAX_KNOWN);
    names.filter_map(|name| Query::parse(module.search_type(), name).ok()).collect()
}

/// A name that the simulated web has everywhere, in a form that the module takes.
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
        |query| !matches!(module.why_skipped(query, &Default::default()), Some(why) if why != "needs_key"),
    )
}

/// Why a module is not asked, for people.
fn explain(module: &Module, reason: &str) -> String {
    match reason {
        "needs_key" => {
            let names = module.entry().needs.iter();
            let keys: Vec<String> =
                names.map(|need| format!("--key {}=…", need.trim_start_matches("config."))).collect();
            format!("it needs {}", keys.join(" "))
        }
        "disabled" => "it is switched off (`enabled`)".to_owned(),
        other => format!("it would skip its own known name: {other}"),
    }
}
