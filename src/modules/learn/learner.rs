//! Asks a site for known and made-up names, and proves the proposed entries with further made-up names.

use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::{Duration, Instant};

use super::evidence::{Evidence, Sample};
use super::moved::moved;
use super::propose::{observing, propose};
use crate::modules::active_check::ActiveCheck;
use crate::modules::checker::Checker;
use crate::modules::control::two_made_up;
use crate::modules::definition::{Entry, Method, Via};
use crate::modules::judge::Verdict;
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::probe::Response;
use crate::modules::query::Query;
use crate::modules::reason::Reason;
use crate::modules::template::UrlTemplate;
use crate::modules::terms::Terms;

/// The number of answers for each name.
const ANSWERS: usize = 2;
/// The number of times that an address to which an endpoint has moved is followed.
const MAX_MOVES: usize = 3;
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
    /// Learns new rules for an entry from the answers of its site. Everything else of the entry is kept, except for
    /// `verified`, the address of an endpoint that has moved, and renamed members of JSON in the results.
    ///
    /// # Errors
    /// Returns the reason why there are no rules that are proved.
    pub fn learn(&self, entry: &Entry) -> Result<Lesson, NotLearned> {
        let known = &entry.known;
        unsupported(entry).map_or(Ok(()), |what| Err(NotLearned::Unsupported(what)))?;
        let before = entry;
        let mut entry = before.clone();
        let mut evidence = self.observe(&entry, known)?;
        for _ in 0..MAX_MOVES {
            let address = observer(&entry).and_then(|module| moved(&module, &evidence.known));
            let address = address.and_then(|address| UrlTemplate::parse(&address).ok());
            let (Some(address), Some(probe)) = (address, entry.probes.first_mut()) else { break };
            probe.url = address;
            evidence = self.observe(&entry, known)?;
        }
        if entry.hit.is_empty() && is_redirected(&evidence) {
            // The target does not have the name, so that only the site knows it.
            entry.probes.iter_mut().for_each(|probe| probe.follow = true);
            evidence = self.observe(&entry, known)?;
        }
        let proposals = propose(&entry, &evidence);
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
    fn observe(&self, entry: &Entry, known: &[String]) -> Result<Evidence, NotLearned> {
        let module = observer(entry).ok_or(NotLearned::NoName)?;
        let known: Vec<Query> = known
            .iter()
            .take(MAX_KNOWN)
            .filter_map(|name| Query::parse(module.search_type(), name).ok())
            .filter(|query| module.why_refused(query).is_none())
            .collect();
        let base = known.first().ok_or(NotLearned::NoName)?;
        let mut made_up = made_up(&module, base);
        made_up.extend(self::made_up(&module, base).into_iter().take(1));
        made_up.dedup_by(|one, other| one.normal() == other.normal());
        if made_up.len() < 2 {
            return Err(NotLearned::NoName);
        }
        let sample = |query: Query, is_made_up: bool| {
            let responses = (0..ANSWERS).map(|_| self.ask(&module, &query, is_made_up));
            Ok(Sample { responses: responses.collect::<Result<_, _>>()?, query })
        };
        Ok(Evidence {
            known: known.into_iter().map(|query| sample(query, false)).collect::<Result<_, _>>()?,
            made_up: made_up.into_iter().map(|query| sample(query, true)).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the answer to the request of an observing module.
    fn ask(&self, module: &Module, query: &Query, is_made_up: bool) -> Result<Response, NotLearned> {
        let (verdict, response) = self.check(module, query, is_made_up)?;
        let reason = verdict.reason.unwrap_or(Reason::NoAnswer);
        match verdict.outcome {
            Outcome::Blocked | Outcome::RateLimited => Err(NotLearned::Blocked(reason)),
            // These answers were read, and the rule that never holds did not hold.
            Outcome::Error
                if matches!(reason, Reason::Unrecognized | Reason::Truncated | Reason::JsonTooLarge) =>
            {
                response.ok_or(NotLearned::NoAnswer(reason))
            }
            _ => Err(NotLearned::NoAnswer(reason)),
        }
    }

    /// Waits for the least time between two checks of a module.
    fn pause(&self, module: &Module) -> Result<(), NotLearned> {
        let until = Instant::now() + Duration::from_millis(module.entry().every_ms.unwrap_or_default());
        loop {
            if (self.is_stopped)() {
                return Err(NotLearned::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(STOPPED_WITHIN));
        }
    }

    /// Returns the verdict of one check without a control check, and its answer.
    fn check(
        &self,
        module: &Module,
        query: &Query,
        is_made_up: bool,
    ) -> Result<(Verdict, Option<Response>), NotLearned> {
        self.pause(module)?;
        let mut check = ActiveCheck::new(
            self.checker,
            module,
            query,
            is_made_up,
            Terms::from(Instant::now() + self.timeout),
        );
        check.ask();
        let verdict = check.read(|answers| check.verdict(answers));
        let verdict = verdict.map_err(|error| NotLearned::NoAnswer(error.reason()))?;
        let answer = check.answers.first().and_then(Option::as_ref);
        Ok((verdict, answer.and_then(|it| it.answer.own()).cloned()))
    }

    /// Checks the known accounts and further made-up names with a proposed entry. Returns the rules that decided, or
    /// `None` if an outcome was wrong.
    fn prove(&self, entry: &Entry, evidence: &Evidence) -> Result<Option<(String, String)>, NotLearned> {
        let Ok(module) = Module::compile(entry.to_enabled()) else { return Ok(None) };
        let (mut hit, mut miss) = (None, None);
        for sample in &evidence.known {
            let (verdict, _) = self.check(&module, &sample.query, false)?;
            if verdict.outcome != Outcome::Hit {
                return Ok(None);
            }
            hit = hit.or(verdict.matcher);
        }
        for query in evidence.known.first().map(|sample| made_up(&module, &sample.query)).unwrap_or_default()
        {
            let (verdict, _) = self.check(&module, &query, true)?;
            if verdict.outcome != Outcome::Miss {
                return Ok(None);
            }
            miss = miss.or(verdict.matcher);
        }
        Ok(hit.zip(miss))
    }
}

/// Returns whether the known accounts are redirected.
fn is_redirected(evidence: &Evidence) -> bool {
    let mut responses = evidence.known.iter().flat_map(|sample| &sample.responses);
    responses.all(|response| (300..400).contains(&response.status))
}

/// Returns up to two made-up names, other ones with each call.
fn made_up(module: &Module, base: &Query) -> Vec<Query> {
    two_made_up(module, base, RandomState::new().hash_one(module.id()))
}

/// Returns the module that asks for the answers of an entry without judging them.
fn observer(entry: &Entry) -> Option<Module> {
    Module::compile(observing(entry)).ok()
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
