//! Trials of plans: the real engine applies the module's own rules to their answers, without a socket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::context::Context;
use super::feed::{self, MAIL_DOMAINS};
use super::plan::{Aim, plans};
use super::player::Player;
use crate::modules::checker::Checker;
use crate::modules::control::made_up;
use crate::modules::definition::{Entry, Matcher};
use crate::modules::keys::OperatorKeys;
use crate::modules::mistake::Mistake;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::modules::sample::Sampled;

/// The time limit of a trial. A trial waits for nothing, so the limit only has to suffice on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);
/// The maximum number of texts that are sampled for each pattern to find a query that a module accepts.
const SAMPLED_QUERIES: u64 = 20;

/// The error of a plan without an answer. No other failure in a trial has this error.
const UNPLAYABLE: ProbeError = ProbeError::ForbiddenAddress;

/// Returns the site with a plan for an aim that works for one query. The error is a text for the module's author. `hit`
/// is the site for a query that exists. It makes the feeds, because they are the same for every query.
///
/// The first search finds the sites of all its modules while it waits for them. So that it does not wait twice as long,
/// only [`other_query`] tries a second query, when the catalogue is checked.
pub(super) fn find(module: &Module, seed: u64, aim: Aim, hit: Option<&Player>) -> Result<Player, String> {
    let module = Arc::new(bare(module));
    let names = feed::names(&module);
    let queries = queries(&module, aim, &names);
    let first = queries.first().ok_or("no query fits its preconditions")?;
    let plans = plans(&Context::new(&module, first, seed), aim);
    let count = plans.len();
    let player = |plan| Player {
        module: Arc::clone(&module),
        seed,
        names: Arc::clone(&names),
        plan,
        list: hit.map(|hit| hit.plan.clone()),
    };
    let mut players = plans.into_iter().map(player);
    if aim == Aim::Miss && module.entry().miss.is_empty() {
        let first = players.next().filter(|_| module.entry().note.is_some());
        return first.ok_or_else(|| "it has no `miss` rule, and no `note` that says why".to_owned());
    }
    let mut failure = None;
    for player in players {
        match judge(&player, first, aim) {
            Ok(()) => return Ok(player),
            Err(what) => failure = failure.or(what),
        }
    }
    let aim = match aim {
        Aim::Hit => "hit",
        Aim::Miss => "miss",
    };
    Err(match failure {
        Some(what) => format!("none of {count} answers makes it {aim}; the likeliest: {what}"),
        None => format!("no answer can be made for any alternative of `{aim}`"),
    })
}

/// Returns the rules for a hit or a miss that no answer can fulfil, each with the outcome instead. Each rule is tried
/// as the module's only rule for that verdict.
pub(super) fn dead_rules(module: &Module, seed: u64, hit: Option<&Player>) -> Vec<String> {
    let entry = module.entry();
    let alone = |rules: &[Matcher], aim: Aim| {
        let indexed = rules.iter().cloned().enumerate().filter(|_| rules.len() > 1);
        let dead = indexed.filter_map(|(index, rule)| {
            let (field, entry, hit) = match aim {
                Aim::Hit => ("hit", Entry { hit: vec![rule], ..entry.clone() }, None),
                Aim::Miss => ("miss", Entry { miss: vec![rule], ..entry.clone() }, hit),
            };
            let found = told(Module::compile(entry)).and_then(|module| find(&module, seed, aim, hit));
            let what = found.map_or_else(Some, |player| other_query(&player, aim))?;
            Some(format!("{field}[{index}] never decides: {what}"))
        });
        dead.collect::<Vec<_>>()
    };
    [alone(&entry.hit, Aim::Hit), alone(&entry.miss, Aim::Miss)].concat()
}

/// Returns the module, or its mistakes as a text for its author.
fn told(compiled: Result<Module, Vec<Mistake>>) -> Result<Module, String> {
    compiled.map_err(|mistakes| mistakes.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
}

/// Returns an enabled copy of the module. It has no control check, which a trial does not need.
fn bare(module: &Module) -> Module {
    // The control check of a browser module cannot be switched off. `play` handles it.
    let control = if module.is_premium() { None } else { Some(false) };
    let entry = Entry { control, ..module.entry().to_enabled() };
    // The module itself was compiled, so its rules have no mistakes.
    Module::new(entry)
}

/// Returns up to two queries that the module accepts.
fn queries(module: &Module, aim: Aim, names: &[Query]) -> Vec<Query> {
    let entry = module.entry();
    if feed::decides(entry) && aim == Aim::Hit {
        return names.iter().take(2).cloned().collect();
    }
    let usual: Vec<String> = match entry.search_type {
        SearchType::Username => {
            ["alice", "sample.user", "sampleuser1", "12345678"].map(str::to_owned).to_vec()
        }
        SearchType::Email => {
            let given = entry.domain_in.iter().map(String::as_str);
            given
                .chain(MAIL_DOMAINS)
                .chain(["sample-mail.com"])
                .map(|domain| format!("alice@{domain}"))
                .collect()
        }
        SearchType::Domain => {
            ["example.com", "www.example.co.uk", "sample-site.com"].map(str::to_owned).to_vec()
        }
    };
    let accepts = entry.accepts.iter();
    let sampled = accepts
        .filter_map(|pattern| Sampled::new(&format!("^(?:{pattern})$")))
        .flat_map(|pattern| (0..SAMPLED_QUERIES).filter_map(move |n| pattern.text(n)));
    let texts = entry.known.iter().cloned().chain(usual).chain(sampled);
    let mut fitting = texts
        .filter_map(|text| Query::parse(entry.search_type, &text).ok())
        .filter(|query| module.why_refused(query).is_none())
        .filter(|query| !feed::decides(entry) || is_unlisted(query, names));
    let Some(first) = fitting.next() else { return Vec::new() };
    let second = made_up(module, &first, 1).or_else(|| fitting.next());
    std::iter::once(first).chain(second).collect()
}

/// Returns whether no list contains the query or its domain.
fn is_unlisted(query: &Query, names: &[Query]) -> bool {
    let domain = query.domain().filter(|_| query.local().is_some());
    !names.iter().any(|name| name.normal() == query.normal() || (domain.is_some() && name.domain() == domain))
}

/// Returns the outcome for a second query if it is not the intended one.
pub(super) fn other_query(player: &Player, aim: Aim) -> Option<String> {
    let has_rules = aim == Aim::Hit || !player.module.entry().miss.is_empty();
    let queries = queries(&player.module, aim, &player.names);
    let second = queries.get(1).filter(|_| has_rules)?;
    let what = judge(player, second, aim).err()?.unwrap_or_else(|| "no answer".to_owned());
    Some(format!("the answers that work for one query do not for another: {what}"))
}

/// Checks that the site has the intended outcome for a query. The error describes the outcome instead, or is `None` if
/// the plan has no answer at all.
fn judge(player: &Player, query: &Query, aim: Aim) -> Result<(), Option<String>> {
    let wanted = match aim {
        Aim::Hit => Outcome::Hit,
        Aim::Miss => Outcome::Miss,
    };
    let report = play(player, query, aim);
    if report.reason == Some(UNPLAYABLE.reason()) {
        return Err(None);
    }
    if report.outcome != wanted {
        let reason = report.reason.map_or("", Reason::as_str);
        let matcher = report.evidence.matcher.unwrap_or_default();
        return Err(Some(format!("{} {reason} {matcher}", report.outcome).trim_end().to_owned()));
    }
    Ok(())
}

/// Runs a check with the site's answers, which are the same for the name of a control check.
fn play(player: &Player, query: &Query, aim: Aim) -> Report {
    let (player, query) = (player.clone(), query.clone());
    let module = Arc::clone(&player.module);
    let prober = Arc::new(TrialProber { player, query });
    let needs = module.entry().needs.iter();
    let keys =
        needs.map(|need| (need.strip_prefix("config.").unwrap_or(need).to_owned(), "sample".to_owned()));
    let shared = Arc::clone(&prober);
    let checker = Checker::new(shared, OperatorKeys::new(keys), "sandbox", Duration::ZERO);
    let until = Instant::now() + PATIENCE;
    match aim == Aim::Hit && !module.is_controlled() {
        true => *checker.check(&module, &prober.query, until),
        false => checker.check_made_up(&module, &prober.query, until),
    }
}

/// A prober that returns the answers of the simulated web without a network.
struct TrialProber {
    player: Player,
    query: Query,
}

impl Prober for TrialProber {
    fn send(&self, request: &Request, jar: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        self.player
            .answer(&self.query, request.trace.probe, &request.url)
            .ok_or(UNPLAYABLE)?
            .sent(request, jar)
    }
}
