//! The site of a module: its plans, their trials by the real engine, and its answers.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use url::Url;

use super::context::Context;
use super::plan::{Plan, plans};
use crate::modules::answer::Answer as Read;
use crate::modules::checker::Checker;
use crate::modules::control::made_up;
use crate::modules::definition::Entry;
use crate::modules::keys::OperatorKeys;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::probe::{CookieJar, ProbeError, Prober, Request, Response};
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;
use crate::modules::sample::Sampled;
use crate::sandbox::answer::{cut, sent};

/// An address for a request that lacks a key.
const NOWHERE: &str = "https://example.org/";

/// The time limit of a trial. A trial waits for nothing, so the limit only has to suffice on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);
/// The maximum number of texts that are sampled for each pattern to find a query that a module accepts.
const SAMPLED_QUERIES: u64 = 20;

/// The mail domains of the addresses that are tried.
const MAIL_DOMAINS: [&str; 3] = ["example.com", "example.org", "example.net"];
/// The error of a plan without an answer. No other failure in a trial has this error.
const UNPLAYABLE: ProbeError = ProbeError::forbidden();

/// A module that the simulated web cannot simulate, with the cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The id of the module.
    pub module: String,
    /// A description of the cause for the module's author.
    pub what: String,
}

/// The simulated site of one module.
pub(in crate::sandbox) struct Site {
    module: Arc<Module>,
    seed: u64,
    /// The first loaded site with the rules of the same engine. Its plans are also those of this site.
    first: Option<Arc<Self>>,
    /// The plan for a query that exists, and for one that does not. The error is the cause for which there is none.
    hit: OnceLock<Result<Plan, String>>,
    miss: OnceLock<Result<Plan, String>>,
}

impl Site {
    pub(in crate::sandbox) fn new(module: Arc<Module>, seed: u64, first: Option<Arc<Self>>) -> Self {
        Self { module, seed, first, hit: OnceLock::new(), miss: OnceLock::new() }
    }

    pub(in crate::sandbox) fn entry(&self) -> &Entry {
        self.module.entry()
    }

    /// Returns the plan for an aim. The first call searches for it.
    fn plan(self: &Arc<Self>, aim: Outcome) -> Result<&Plan, String> {
        if let Some(first) = &self.first {
            return first.plan(aim);
        }
        let cell = if aim == Outcome::Hit { &self.hit } else { &self.miss };
        cell.get_or_init(|| find(self, aim)).as_ref().map_err(Clone::clone)
    }

    /// Returns the answer to a probe that was sent to `url`, or `None` if there is none. [`Site::problems`] reports
    /// the cause.
    pub(in crate::sandbox) fn answer(
        self: &Arc<Self>,
        aim: Outcome,
        query: &Query,
        probe: usize,
        url: &Url,
    ) -> Option<Response> {
        let plan = self.plan(aim).ok()?;
        plan.answer(&self.context(plan, query, probe), probe, url)
    }

    /// Returns the context of a probe's answer. The engine itself saves the values from the earlier answers.
    fn context<'a>(self: &'a Arc<Self>, plan: &Plan, query: &'a Query, probe: usize) -> Context<'a> {
        let mut context = Context::new(&self.module, query, self.seed);
        let probes = self.entry().probes.iter().enumerate().take(probe);
        for (earlier, entry) in probes.filter(|(_, entry)| !entry.save.is_empty()) {
            let asked = entry.address(&context.values()).or_else(|| Url::parse(NOWHERE).ok());
            let Some(answer) = asked.and_then(|url| plan.answer(&context, earlier, &url)) else { continue };
            let answer = cut(answer, self.module.body_limit(earlier));
            let mut saved = context.saved.clone();
            entry.save(&Read::new(&answer), context.values(), &mut saved);
            context.saved = saved;
        }
        context
    }

    /// Returns the causes for which the module cannot be simulated.
    pub(in crate::sandbox) fn problems(self: &Arc<Self>) -> Vec<Problem> {
        let all = [Outcome::Hit, Outcome::Miss].into_iter().filter_map(|aim| problem(self, aim));
        all.map(|what| Problem { module: self.entry().id.clone(), what }).collect()
    }
}

/// Returns a plan for an aim that works for one query. The error is a text for the module's author.
///
/// The first search finds the plans of all its modules while it waits for them. So that it does not wait twice as long,
/// only [`problem`] tries a second query, when the catalogue is checked.
fn find(site: &Arc<Site>, aim: Outcome) -> Result<Plan, String> {
    let first = queries(site).into_iter().next().ok_or("no query fits its preconditions")?;
    let mut plans = plans(&Context::new(&site.module, &first, site.seed), aim);
    if aim == Outcome::Miss && site.entry().miss.is_empty() {
        let has_note = site.entry().note.is_some();
        let why = || "it has no `miss` rule, and no `note` that says why".to_owned();
        return has_note.then(|| plans.remove(0)).ok_or_else(why);
    }
    let (count, mut failure) = (plans.len(), None);
    let module = site.module.to_enabled();
    for plan in plans {
        match judge(site, &module, &plan, &first) {
            Ok(()) => return Ok(plan),
            Err(what) => failure = failure.or(what),
        }
    }
    let aim = aim.as_str();
    Err(match failure {
        Some(what) => format!("none of {count} answers makes it {aim}; the likeliest: {what}"),
        None => format!("no answer can be made for any alternative of `{aim}`"),
    })
}

/// Returns why there are no answers for an aim, or none that work for a further query.
fn problem(site: &Arc<Site>, aim: Outcome) -> Option<String> {
    let plan = match site.plan(aim) {
        Ok(plan) => plan,
        Err(why) => return Some(why),
    };
    let has_rules = aim == Outcome::Hit || !site.entry().miss.is_empty();
    // The plan was tried with the first query of the site that it was made for.
    let tried = usize::from(site.first.is_none());
    let mut others = queries(site).into_iter().skip(tried).filter(|_| has_rules);
    let module = site.module.to_enabled();
    let what = others.find_map(|query| judge(site, &module, plan, &query).err())?;
    let what = what.unwrap_or_else(|| "no answer".to_owned());
    Some(format!("the answers that work for one query do not for another: {what}"))
}

/// Returns up to two queries that the module accepts.
fn queries(site: &Site) -> Vec<Query> {
    let (entry, module) = (site.entry(), &site.module);
    let all = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let usual = match entry.search_type {
        SearchType::Username => all(&["alice", "sample.user", "sampleuser1", "12345678"]),
        SearchType::Email => {
            let domains = entry.domain_in.iter().map(String::as_str).chain(MAIL_DOMAINS);
            domains.chain(["sample-mail.com"]).map(|domain| format!("alice@{domain}")).collect()
        }
        SearchType::Domain => all(&["example.com", "www.example.co.uk", "sample-site.com"]),
    };
    let patterns = entry.accepts.iter().filter_map(|pattern| Sampled::new(&format!("^(?:{pattern})$")));
    let sampled = patterns.flat_map(|pattern| (0..SAMPLED_QUERIES).filter_map(move |n| pattern.text(n)));
    let mut fitting = entry
        .known
        .iter()
        .cloned()
        .chain(usual)
        .chain(sampled)
        .filter_map(|text| Query::parse(entry.search_type, &text).ok())
        // A disabled module accepts queries, too.
        .filter(|query| module.why_refused(query).is_none());
    let Some(first) = fitting.next() else { return Vec::new() };
    let second = made_up(module, &first, 1).or_else(|| fitting.next());
    std::iter::once(first).chain(second).collect()
}

/// Checks that the plan's answers, which are the same for the name of a control check, have the intended outcome for a
/// query. The error describes the outcome instead, or is `None` if the plan has no answer at all.
fn judge(site: &Arc<Site>, module: &Module, plan: &Plan, query: &Query) -> Result<(), Option<String>> {
    let keys = module.entry().needs.iter();
    let keys = keys.map(|need| (need.trim_start_matches("config.").to_owned(), "sample".to_owned()));
    let prober = Arc::new(Trial { site: Arc::clone(site), plan: plan.clone(), query: query.clone() });
    let checker = Checker::new(prober, OperatorKeys::new(keys), "sandbox", Duration::ZERO);
    // Unlike a check, this makes no control check.
    let report = checker.check_made_up(module, query, Instant::now() + PATIENCE);
    if report.outcome == plan.aim {
        return Ok(());
    }
    let reason = report.reason.map_or("", Reason::as_str);
    let matcher = report.evidence.matcher.unwrap_or_default();
    let is_unplayable = report.reason == Some(UNPLAYABLE.reason);
    Err((!is_unplayable).then(|| format!("{} {reason} {matcher}", report.outcome).trim_end().to_owned()))
}

/// A prober that returns the answers of one plan.
struct Trial {
    site: Arc<Site>,
    plan: Plan,
    query: Query,
}

impl Prober for Trial {
    fn send(&self, request: &Request, jar: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
        let (plan, probe) = (&self.plan, request.trace.probe);
        let answer = plan.answer(&self.site.context(plan, &self.query, probe), probe, &request.url);
        sent(answer.ok_or(UNPLAYABLE)?, request, jar)
    }
}
