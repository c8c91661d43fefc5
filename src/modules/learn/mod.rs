//! Learns the rules of an entry from the answers of its site.
//!
//! The answers for known accounts are compared with those for made-up names: [`Learner`] asks the site, `choose`
//! returns entries whose rules separate the answers, the best first, and the learner proves them with made-up names
//! that they were not made from.
//!
//! Evidence is preferred in this order: the status, JSON members, the head of the page and addresses, elements of the
//! page, the title, and other text. A condition counts only if it holds in both of two answers for the same name.
//!
//! Rules are JSON here, as in the files of entries, so that a new kind of condition needs no code in this folder.

use std::hash::{BuildHasher, RandomState};
use std::iter::repeat_n;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use self::choose::{observing, propose};
use self::evidence::{Evidence, Sample};
use super::active_check::{ActiveCheck, Source};
use super::checker::Checker;
use super::control::two_made_up;
use super::definition::{Entry, Method, Via};
use super::judge::Verdict;
use super::module::Module;
use super::outcome::Outcome;
use super::probe::Response;
use super::query::Query;
use super::reason::Reason;
use super::terms::Terms;

mod candidates;
mod choose;
mod evidence;

/// The number of answers for each name.
const ANSWERS: usize = 2;
/// The longest time after which a pause notices that it is stopped.
const STOPPED_WITHIN: Duration = Duration::from_millis(200);
/// The most known accounts that are asked for.
const MAX_KNOWN: usize = 3;

/// Learns entries from the answers of their sites.
pub struct Learner<'c> {
    /// The checker that sends the requests.
    pub checker: &'c Checker,
    /// The time for each check.
    pub timeout: Duration,
    /// Whether to stop. It is called before each request, and during pauses.
    pub is_stopped: &'c (dyn Fn() -> bool + Sync),
}

/// An entry whose rules were learned and proved.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// The entry. It has no `verified`, because its rules are newer than that evidence.
    pub entry: Entry,
    /// The rule that decided the hit of the known account, such as `hit[0]: status 200, json /login equals_query`.
    pub hit: String,
    /// The rule that decided the misses of the made-up names.
    pub miss: String,
}

/// The reason why no entry was learned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotLearned {
    /// The entry already judges the answers as it should.
    #[error("the rules fit the answers")]
    Works,
    /// The entry is of a kind that is not learned: it has several probes, a feed, a browser, a HEAD
    /// request or a WHOIS query.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The entry has no known account that it accepts, or no made-up name is possible.
    #[error("the entry has no known account, or no made-up name is possible")]
    NoName,
    /// An answer was a barrier, a limit or a sign-in page, which is never evidence.
    #[error("the site blocked a request ({0}), which proves nothing")]
    Blocked(Reason),
    /// A request had no usable answer.
    #[error("a request had no usable answer ({0})")]
    NoAnswer(Reason),
    /// No rules separate the answers for known accounts from those for made-up names.
    #[error("no reliable rule separates the answers for known accounts from those for made-up names")]
    NoDifference,
    /// The proposed rules did not hold for further made-up names.
    #[error("the rules that fit the answers did not hold for further made-up names")]
    NotProved,
    /// The caller stopped the requests.
    #[error("stopped")]
    Stopped,
}

impl Learner<'_> {
    /// Learns new rules for an entry from the answers of its site. Everything else of the entry is kept, except that
    /// `verified` goes, and that redirects are followed if there are only redirects for known accounts.
    ///
    /// # Errors
    /// Returns the reason why there are no rules that are proved.
    pub fn learn(&self, before: &Entry) -> Result<Lesson, NotLearned> {
        unsupported(before).map_or(Ok(()), |what| Err(NotLearned::Unsupported(what)))?;
        let mut entry = before.clone();
        let mut evidence = self.observe(&entry)?;
        let mut proposals = propose(&entry, &evidence);
        let mut known = evidence.known.iter();
        if proposals.is_empty() && known.all(|sample| (300..400).contains(&sample.response.status)) {
            entry.probes.iter_mut().for_each(|probe| probe.follow = true);
            evidence = self.observe(&entry)?;
            proposals = propose(&entry, &evidence);
        }
        match proposals.first() {
            None => return Err(NotLearned::NoDifference),
            Some(first) if first == before => return Err(NotLearned::Works),
            Some(_) => {}
        }
        for proposal in proposals {
            let proposal = Entry { verified: None, ..proposal };
            if let Some((hit, miss)) = self.prove(&proposal, &evidence)? {
                return Ok(Lesson { entry: proposal, hit, miss });
            }
        }
        Err(NotLearned::NotProved)
    }

    /// Asks for known accounts and for made-up names, each several times.
    fn observe(&self, entry: &Entry) -> Result<Evidence, NotLearned> {
        let module = Module::compile(observing(entry)).map_err(|_| NotLearned::NoName)?;
        let known: Vec<Query> = entry
            .known
            .iter()
            .take(MAX_KNOWN)
            .filter_map(|name| Query::parse(module.search_type(), name).ok())
            .filter(|query| module.why_refused(query).is_none())
            .collect();
        let base = known.first().ok_or(NotLearned::NoName)?;
        let mut names = made_up(&module, base);
        names.extend(made_up(&module, base).into_iter().take(1));
        names.dedup_by(|one, other| one.normal() == other.normal());
        if names.len() < 2 {
            return Err(NotLearned::NoName);
        }
        let samples = |queries: Vec<Query>, is_made_up| {
            let asked = queries.into_iter().flat_map(|query| repeat_n(query, ANSWERS));
            let sample = |query| Ok(Sample { response: self.ask(&module, &query, is_made_up)?, query });
            asked.map(sample).collect::<Result<_, _>>()
        };
        Ok(Evidence { known: samples(known, false)?, made_up: samples(names, true)? })
    }

    /// Returns the answer to the request of an observing module.
    fn ask(&self, module: &Module, query: &Query, is_made_up: bool) -> Result<Response, NotLearned> {
        let (verdict, response) = self.check(module, query, is_made_up)?;
        let reason = verdict.reason.unwrap_or(Reason::NoAnswer);
        // An answer that was read is unrecognized, because the rule that never holds did not hold.
        let is_read = matches!(reason, Reason::Unrecognized | Reason::Truncated | Reason::JsonTooLarge);
        match (verdict.outcome, response) {
            (Outcome::Blocked | Outcome::RateLimited, _) => Err(NotLearned::Blocked(reason)),
            (Outcome::Error, Some(response)) if is_read => Ok(response),
            _ => Err(NotLearned::NoAnswer(reason)),
        }
    }

    /// Waits for the least time between two checks of a module.
    fn pause(&self, module: &Module) -> Result<(), NotLearned> {
        let until = Instant::now() + Duration::from_millis(module.entry().every_ms.unwrap_or_default());
        while !(self.is_stopped)() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(STOPPED_WITHIN));
        }
        Err(NotLearned::Stopped)
    }

    /// Returns the verdict of one check without a control check, and its answer.
    fn check(
        &self,
        module: &Module,
        query: &Query,
        is_made_up: bool,
    ) -> Result<(Verdict, Option<Response>), NotLearned> {
        self.pause(module)?;
        let terms = Terms::from(Instant::now() + self.timeout);
        let Source { answers, verdict, .. } =
            ActiveCheck::ask(self.checker, module, query, is_made_up, None, terms).source;
        Ok((verdict, answers.into_iter().next().flatten().map(Arc::unwrap_or_clone)))
    }

    /// Checks the known accounts and further made-up names with a proposed entry. Returns the rules that decided, or
    /// `None` if an outcome was wrong.
    fn prove(&self, entry: &Entry, evidence: &Evidence) -> Result<Option<(String, String)>, NotLearned> {
        let Ok(module) = Module::compile(entry.to_enabled()) else { return Ok(None) };
        let mut known: Vec<Query> = evidence.known.iter().map(|sample| sample.query.clone()).collect();
        known.dedup();
        let made_up = known.first().map(|known| made_up(&module, known)).unwrap_or_default();
        let mut rules = [None, None];
        for (side, queries) in [known, made_up].iter().enumerate() {
            for query in queries {
                let (verdict, _) = self.check(&module, query, side == 1)?;
                if verdict.outcome != [Outcome::Hit, Outcome::Miss][side] {
                    return Ok(None);
                }
                rules[side] = rules[side].take().or(verdict.matcher);
            }
        }
        let [hit, miss] = rules;
        Ok(hit.zip(miss))
    }
}

/// Returns up to two made-up names, other ones with each call.
fn made_up(module: &Module, base: &Query) -> Vec<Query> {
    two_made_up(module, base, RandomState::new().hash_one(module.id()))
}

/// Returns why an entry is not learned, if it is not.
fn unsupported(entry: &Entry) -> Option<&'static str> {
    let [probe] = entry.probes.as_slice() else { return Some("entries with several probes are not learned") };
    match () {
        () if probe.feed.is_some() => Some("feeds are not learned"),
        () if probe.via == Via::Browser => Some("pages in a browser are not learned"),
        () if probe.via == Via::Whois => Some("answers to WHOIS queries are not learned"),
        () if probe.method == Method::Head => Some("answers to HEAD are not learned"),
        () => None,
    }
}
