//! Trying plans out on the module's own rules, with the real engine and without a socket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::plan::{Aim, Extras, Plan, plans};
use super::scene::Scene;
use crate::modules::check::Checker;
use crate::modules::control::made_up;
use crate::modules::definition::Entry;
use crate::modules::keys::OperatorKeys;
use crate::modules::module::Module;
use crate::modules::outcome::{Outcome, Report};
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response, Timing};
use crate::modules::query::{Query, SearchType};
use crate::modules::sample::sample;

/// Nothing is waited for in a rehearsal: it only must not end early on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);
/// How many texts are sampled to find a query that a module accepts.
const SAMPLED_QUERIES: u64 = 20;

/// What a plan without an answer comes to; no rehearsal knows it otherwise.
const UNPLAYABLE: ProbeError = ProbeError::ForbiddenAddress;

/// A plan for an aim that works for several queries; the error is for the module's author.
pub(super) fn find(module: &Module, seed: u64, aim: Aim) -> Result<Plan, String> {
    let module = bare(module)?;
    let queries = queries(&module);
    let Some(first) = queries.first() else {
        return Err("no query fits its preconditions".to_owned());
    };
    let scene = Scene::new(module.entry(), first, seed);
    let plans = plans(&scene, aim);
    if aim == Aim::Miss && module.entry().miss.is_empty() {
        return without_miss(&module, plans);
    }
    let rehearsal = Rehearsal { module: &module, seed, queries: &queries };
    let mut failure = None;
    for plan in &plans {
        match rehearsal.judge(plan, aim) {
            Ok(()) => return Ok(rehearsal.enriched(plan.clone(), &scene, aim)),
            Err(what) => failure = failure.or(what),
        }
    }
    let aim = match aim {
        Aim::Hit => "hit",
        Aim::Miss => "miss",
    };
    Err(match failure {
        Some(what) => format!("none of {} answers makes it {aim}; the likeliest: {what}", plans.len()),
        None => format!("no answer can be made for any alternative of `{aim}`"),
    })
}

/// A module may do without `miss` if its note says why.
fn without_miss(module: &Module, plans: Vec<Plan>) -> Result<Plan, String> {
    match plans.into_iter().next() {
        Some(plan) if module.entry().note.is_some() => Ok(plan),
        _ => Err("it has no `miss` rule, and no `note` that says why".to_owned()),
    }
}

/// The module without what is not about answers: a disabled one is played too, and a rehearsal needs no
/// control check.
fn bare(module: &Module) -> Result<Module, String> {
    let entry = Entry { enabled: true, control: Some(false), ..module.entry().clone() };
    Module::compile(entry).map_err(|mistakes| {
        mistakes.first().map_or_else(|| "it cannot be compiled".to_owned(), ToString::to_string)
    })
}

/// Queries that the module accepts: two, if there are so many.
fn queries(module: &Module) -> Vec<Query> {
    let entry = module.entry();
    let usual: Vec<String> = match entry.search_type {
        SearchType::Username => {
            ["alice", "sample.user", "sampleuser1", "12345678"].map(str::to_owned).to_vec()
        }
        SearchType::Email => {
            let given = entry.domain_in.iter().map(String::as_str);
            given.chain(["example.com"]).map(|domain| format!("alice@{domain}")).collect()
        }
        SearchType::Domain => ["example.com", "www.example.co.uk"].map(str::to_owned).to_vec(),
    };
    let accepts = entry.accepts.iter();
    let sampled = accepts
        .flat_map(|pattern| (0..SAMPLED_QUERIES).filter_map(move |n| sample(&format!("^(?:{pattern})$"), n)));
    let texts = entry.known.iter().cloned().chain(usual).chain(sampled);
    let mut fitting = texts
        .filter_map(|text| Query::parse(entry.search_type, &text).ok())
        .filter(|query| module.why_refused(query).is_none());
    let Some(first) = fitting.next() else { return Vec::new() };
    let second = made_up(module, &first, 1).or_else(|| fitting.next());
    std::iter::once(first).chain(second).collect()
}

struct Rehearsal<'a> {
    module: &'a Module,
    seed: u64,
    queries: &'a [Query],
}

impl Rehearsal<'_> {
    /// Whether the plan makes the module conclude what it should, for every query; else what it concludes
    /// instead, or `None` where the plan has no answer to begin with.
    fn judge(&self, plan: &Plan, aim: Aim) -> Result<(), Option<String>> {
        let wanted = match aim {
            Aim::Hit => Outcome::Hit,
            Aim::Miss => Outcome::Miss,
        };
        for query in self.queries {
            let report = self.play(plan, query);
            if report.outcome != wanted {
                let reason = report.reason.unwrap_or_default();
                if reason == UNPLAYABLE.reason() {
                    return Err(None);
                }
                let matcher = report.evidence.matcher.unwrap_or_default();
                return Err(Some(format!("{} {reason} {matcher}", report.outcome).trim_end().to_owned()));
            }
        }
        Ok(())
    }

    fn play(&self, plan: &Plan, query: &Query) -> Report {
        let entry = self.module.entry().clone();
        let actor = Actor { entry, seed: self.seed, plan: plan.clone(), query: query.clone() };
        let keys = self
            .module
            .entry()
            .needs
            .iter()
            .map(|need| (need.strip_prefix("config.").unwrap_or(need).to_owned(), "sample".to_owned()));
        let checker = Checker::new(Arc::new(actor), OperatorKeys::new(keys), "sandbox", Duration::ZERO);
        checker.check(self.module, query, Instant::now() + PATIENCE)
    }

    /// The plan with as many extras as it bears.
    fn enriched(&self, mut plan: Plan, scene: &Scene<'_>, aim: Aim) -> Plan {
        if aim == Aim::Miss || plan.extras == Extras::All {
            return plan;
        }
        let mut kept = Vec::new();
        for choice in plan.choices(scene) {
            kept.push(choice);
            plan.extras = Extras::Only(kept.clone());
            if self.judge(&plan, aim).is_err() {
                kept.pop();
            }
        }
        plan.extras = Extras::Only(kept);
        plan
    }
}

/// Answers as the simulated web would, without a web.
struct Actor {
    entry: Entry,
    seed: u64,
    plan: Plan,
    query: Query,
}

impl Prober for Actor {
    fn send(&self, request: &Request, jar: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let scene = Scene::new(&self.entry, &self.query, self.seed);
        let page = self.plan.page(&scene, request.trace.probe, &request.url).ok_or(UNPLAYABLE)?;
        let final_url = page.moved_to.unwrap_or_else(|| request.url.clone());
        let headers = page.answer.wire_headers();
        for (_, cookie) in headers.iter().filter(|(name, _)| name == "set-cookie") {
            jar.store(final_url.host_str().unwrap_or_default(), cookie);
        }
        let mut body = page.answer.body;
        let truncated = body.len() > request.body_limit;
        body.truncate(request.body_limit);
        let timing = Timing::default();
        Ok(Response { status: page.answer.status, final_url, headers, body, truncated, timing })
    }
}
