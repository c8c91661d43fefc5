//! Trying plans out on the module's own rules, with the real engine and without a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::list::{self, MAIL_DOMAINS};
use super::plan::{Aim, Extras, Plan, plans};
use super::scene::Scene;
use super::turning;
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

/// A plan for an aim that works for several queries; the error is for the module's author. `hit`: the plan
/// that feeds are made by, for they are the same whatever is asked.
pub(super) fn find(module: &Module, seed: u64, aim: Aim, hit: Option<&Plan>) -> Result<Plan, String> {
    let module = bare(module)?;
    let names = list::names(&module);
    let queries = queries(&module, aim, &names);
    let Some(first) = queries.first() else {
        return Err("no query fits its preconditions".to_owned());
    };
    let scene = Scene::new(module.entry(), first, seed);
    let plans = plans(&scene, aim);
    if aim == Aim::Miss && module.entry().miss.is_empty() {
        return without_miss(&module, plans);
    }
    // Few names make a short list: enough to choose a plan by.
    let few = if list::decides(module.entry()) { &names[..names.len().min(2)] } else { &names };
    let rehearsal = Rehearsal { module: &module, seed, queries: &queries, names: few, hit };
    let whole = Rehearsal { names: &names, ..rehearsal };
    let mut failure = None;
    for plan in &plans {
        match rehearsal.judge(plan, aim) {
            Ok(()) => {
                let plan = rehearsal.enriched(plan.clone(), &scene, aim);
                return whole.confirm(&plan, aim).map(|()| plan);
            }
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
    // That of a browser module cannot be switched off: see `Rehearsal::play`.
    let control = if module.is_premium() { None } else { Some(false) };
    let entry = Entry { enabled: true, control, ..module.entry().clone() };
    Module::compile(entry).map_err(|mistakes| {
        mistakes.first().map_or_else(|| "it cannot be compiled".to_owned(), ToString::to_string)
    })
}

/// Queries that the module accepts: two, if there are so many.
fn queries(module: &Module, aim: Aim, names: &[Query]) -> Vec<Query> {
    let entry = module.entry();
    if list::decides(entry) && aim == Aim::Hit {
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
        .flat_map(|pattern| (0..SAMPLED_QUERIES).filter_map(move |n| sample(&format!("^(?:{pattern})$"), n)));
    let texts = entry.known.iter().cloned().chain(usual).chain(sampled);
    let mut fitting = texts
        .filter_map(|text| Query::parse(entry.search_type, &text).ok())
        .filter(|query| module.why_refused(query).is_none())
        .filter(|query| !list::decides(entry) || is_unlisted(query, names));
    let Some(first) = fitting.next() else { return Vec::new() };
    let second = made_up(module, &first, 1).or_else(|| fitting.next());
    std::iter::once(first).chain(second).collect()
}

/// Whether neither the query nor its domain is named by a list.
fn is_unlisted(query: &Query, names: &[Query]) -> bool {
    let domain = query.domain().filter(|_| query.local().is_some());
    !names.iter().any(|name| name.normal() == query.normal() || (domain.is_some() && name.domain() == domain))
}

#[derive(Clone, Copy)]
struct Rehearsal<'a> {
    module: &'a Module,
    seed: u64,
    queries: &'a [Query],
    /// What feeds name.
    names: &'a [Query],
    hit: Option<&'a Plan>,
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
            let (report, _) = self.play(plan, query);
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

    /// Whether the finished plan bears all names of a list, and leads to a second page where there are
    /// pages; the error is for the module's author.
    fn confirm(&self, plan: &Plan, aim: Aim) -> Result<(), String> {
        let entry = self.module.entry();
        if entry.probes.iter().any(|probe| probe.feed.is_some()) {
            let told = |what: Option<String>| {
                format!(
                    "with a feed that names {} it ends otherwise: {}",
                    self.names.len(),
                    what.unwrap_or_default()
                )
            };
            self.judge(plan, aim).map_err(told)?;
        }
        let is_paged = aim == Aim::Hit && entry.probes.iter().any(|probe| probe.pages.is_some());
        if let Some(query) = self.queries.first().filter(|_| is_paged) {
            let (report, is_turned) = self.play(plan, query);
            if !is_turned || report.reason.is_some() {
                let reason = report.reason.unwrap_or_else(|| "`pages.next` finds nothing".to_owned());
                return Err(format!("no answer can be made that leads to a second page: {reason}"));
            }
        }
        Ok(())
    }

    /// Plays a check; says, too, whether a second page was asked for.
    fn play(&self, plan: &Plan, query: &Query) -> (Report, bool) {
        let entry = self.module.entry().clone();
        let actor = Arc::new(Actor {
            entry,
            seed: self.seed,
            plan: plan.clone(),
            list: self.hit.unwrap_or(plan).clone(),
            names: self.names.to_vec(),
            query: query.clone(),
            is_turned: AtomicBool::new(false),
        });
        let keys = self
            .module
            .entry()
            .needs
            .iter()
            .map(|need| (need.strip_prefix("config.").unwrap_or(need).to_owned(), "sample".to_owned()));
        let prober = Arc::clone(&actor);
        let checker = Checker::new(prober, OperatorKeys::new(keys), "sandbox", Duration::ZERO);
        let until = Instant::now() + PATIENCE;
        let report = match self.module.is_controlled() {
            false => checker.check(self.module, query, until),
            true => checker.check_made_up(self.module, query, until),
        };
        (report, actor.is_turned.load(Ordering::Relaxed))
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
    /// Makes the feeds.
    list: Plan,
    names: Vec<Query>,
    query: Query,
    is_turned: AtomicBool,
}

impl Prober for Actor {
    fn send(&self, request: &Request, jar: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let probe = request.trace.probe;
        let is_feed = self.entry.probes.get(probe).is_some_and(|probe| probe.feed.is_some());
        let page = if is_feed {
            self.list.list(&self.entry, &self.names, self.seed, probe, &request.url)
        } else {
            let scene = Scene::new(&self.entry, &self.query, self.seed);
            self.plan.page(&scene, probe, &request.url)
        };
        let page = page.ok_or(UNPLAYABLE)?;
        if turning::is_second(&request.url) {
            self.is_turned.store(true, Ordering::Relaxed);
        }
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
