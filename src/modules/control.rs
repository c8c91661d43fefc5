//! The control check. It has two directions: a made-up name, which a module must miss, and a known account, which it
//! must hit. If it hits the made-up name, its hits prove nothing. If it misses the known account, its bare misses prove
//! nothing.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::extract::page_profile::PageProfile;
use super::module::Module;
use super::outcome::{ControlVerdict, Direction};
use super::public_suffix::PublicSuffix;
use super::query::{Query, SearchType};
use super::reason::Reason;
use super::sample::{Random, Sampled};
use super::terms::{FAIR_TRY, Terms};
use crate::base::cache::{Bounds, Cache, Computed};

/// The time for which an unclear verdict is cached. It is short, because another attempt may be conclusive. That a
/// module failed is cached for the same time, because another attempt decides whether the module is put in quarantine.
const UNCLEAR_TTL: Duration = Duration::from_secs(60);
/// The most verdicts in the cache.
const MAX_ENTRIES: usize = 20_000;
/// The most bytes of profile data in the cache.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The least length of a made-up name: a shorter one may belong to a real user.
const MIN_NAME_CHARS: usize = 6;

/// A verdict, with the profile data that the page of a made-up name shows.
#[derive(Debug, Clone)]
pub(crate) struct ControlResult {
    pub(crate) verdict: ControlVerdict,
    /// The time before which no request of the control check was sent.
    pub(crate) asked_at: Instant,
    /// The profile data on the page, without the made-up name. It is `None` for a known account.
    pub(crate) page_profile: Option<Arc<PageProfile>>,
}

impl ControlResult {
    /// Returns whether it no longer counts for a check that was begun at `since`.
    fn is_before(&self, since: Instant) -> bool {
        self.verdict == ControlVerdict::Passed && self.asked_at < since
    }
}

impl From<ControlVerdict> for ControlResult {
    fn from(verdict: ControlVerdict) -> Self {
        Self { verdict, asked_at: Instant::now(), page_profile: None }
    }
}

/// The key of a verdict: the direction, the module's id, the number of its source, and the queried domain if the verdict
/// depends on that domain. One source proves nothing about the answers of another one.
pub(crate) type Key = (Direction, Arc<str>, usize, Option<String>);

/// Returns whether a verdict is about the module with every query, and not only about the queried domain.
pub(crate) fn is_about_module(key: &Key) -> bool {
    key.3.is_none()
}

impl Direction {
    /// Returns whether a check of `module` needs a control check of this direction.
    pub(crate) fn is_needed(self, module: &Module) -> bool {
        match self {
            Self::MadeUp => module.is_controlled(),
            Self::Known => {
                // The answer of another host proves nothing, and a request with a key may cost the operator money.
                !module.is_host_queried() && module.entry().needs.is_empty() && known(module).is_some()
            }
        }
    }

    /// Returns the key under which the verdict on a source of `module` is cached.
    ///
    /// A made-up address has the queried domain. A domain that accepts every address makes the module hit all of
    /// them, which says nothing about other domains.
    pub(crate) fn key(self, module: &Module, source: usize, query: &Query) -> Key {
        let is_at_domain = module.search_type() == SearchType::Email && !module.is_about_domain();
        let depends = self == Self::MadeUp && (is_at_domain || module.is_host_queried());
        let domain = query.domain().filter(|_| depends);
        (self, module.id().clone(), source, domain.map(str::to_owned))
    }

    /// Returns the name that the control check asks for, if there is one.
    pub(crate) fn name(self, module: &Module, query: &Query) -> Option<Query> {
        match self {
            Self::MadeUp => made_up(module, query, RandomState::new().hash_one(module.id())),
            Self::Known => known(module),
        }
    }

    /// Returns whether a miss of `query` fails the control check without a request, because it is the known account.
    pub(crate) fn is_disproved_by_miss_of(self, module: &Module, query: &Query) -> bool {
        self == Self::Known && known(module).is_some_and(|known| known.normal() == query.normal())
    }

    /// Returns the reason of a check whose control check failed.
    pub(crate) fn failure(self) -> Reason {
        match self {
            Self::MadeUp => Reason::ControlHit,
            Self::Known => Reason::KnownMissed,
        }
    }
}

/// The verdicts by module. Concurrent checks that need the same verdict share it.
#[derive(Debug)]
pub(crate) struct Controls {
    ttl: Duration,
    pub(super) cache: Cache<Key, ControlResult>,
}

impl Controls {
    /// Creates a cache that keeps verdicts for `ttl`; none are kept if it is zero.
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { ttl, cache: Cache::new(Bounds { entries: MAX_ENTRIES, weight: MAX_BYTES }) }
    }

    /// Returns the verdict for `key`: a cached one, the one that another check is obtaining (waiting until the deadline at
    /// most, and lending what this check holds), or the result of `ask`.
    ///
    /// With `since`, a control check that passed counts only if it was made after that time: a site may begin to
    /// report every name as found at any moment.
    pub(crate) fn verdict(
        &self,
        key: &Key,
        since: Option<Instant>,
        terms: Terms<'_>,
        mut ask: impl FnMut() -> ControlResult,
    ) -> ControlResult {
        let is_old = |known: &ControlResult| since.is_some_and(|since| known.is_before(since));
        loop {
            self.cache.remove_if(key, is_old);
            let found = self.cache.get_or_compute(key, Instant::now(), || {
                let asked_at = Instant::now();
                let value = ControlResult { asked_at, ..ask() };
                let ttl = match value.verdict {
                    ControlVerdict::OutOfTime if asked_at.elapsed() < FAIR_TRY => Duration::ZERO,
                    ControlVerdict::NotAsked => Duration::ZERO,
                    ControlVerdict::Unclear | ControlVerdict::OutOfTime => self.ttl.min(UNCLEAR_TTL),
                    ControlVerdict::Failed if is_about_module(key) => self.ttl.min(UNCLEAR_TTL),
                    ControlVerdict::Passed | ControlVerdict::Failed => self.ttl,
                };
                let weight = value.page_profile.as_ref().map_or(0, |page_profile| page_profile.bytes());
                Computed { value, ttl, weight }
            });
            match found {
                // Another check may have begun its control check before `since`.
                Some(found) if is_old(&found) => {}
                Some(found) => return found,
                None if Instant::now() >= terms.deadline => return ControlVerdict::Unclear.into(),
                None => terms.hosts.lend(&mut || self.cache.wait(key, terms.deadline)),
            }
        }
    }
}

/// Returns the first known account of the module.
fn known(module: &Module) -> Option<Query> {
    Query::parse(module.search_type(), module.entry().known.first()?).ok()
}

/// Returns a query that belongs to nobody but that the module accepts. It is a long random name, the address
/// of such a name at the queried domain, or a random name under the queried public suffix. If an email
/// module uses only the domain of an address, the domain is made up too.
pub fn made_up(module: &Module, query: &Query, seed: u64) -> Option<Query> {
    NameGenerator { module, query, random: Random::new(seed) }.name(&[LETTERS_THEN_DIGITS, LETTERS, DIGITS])
}

/// Returns two made-up queries of different forms, if the module accepts several. A site may
/// hit all names of one form, even those that nobody has, and not those of another.
pub fn two_made_up(module: &Module, query: &Query, seed: u64) -> Vec<Query> {
    let Some(first) = made_up(module, query, seed) else { return Vec::new() };
    let mut generator = NameGenerator { module, query: &first, random: Random::new(seed ^ 1) };
    let second = generator.name(&OTHERS).filter(|made| made.normal() != query.normal());
    std::iter::once(first.clone()).chain(second).collect()
}

struct NameGenerator<'a> {
    module: &'a Module,
    /// The query whose name must not be generated.
    query: &'a Query,
    random: Random,
}

impl NameGenerator<'_> {
    /// Returns a name of one of these forms that the module accepts, or else a text that its own regex matches.
    fn name(&mut self, forms: &[Form]) -> Option<Query> {
        let lengths = [13, 11, 9, 15, 19, 8, 7, 6, 24, 30];
        let mut all = lengths.iter().flat_map(|chars| forms.iter().map(move |form| form(*chars)));
        let made = all.find_map(|form| {
            let name = self.filled(&form);
            self.fits(&self.wrap(&name)?)
        });
        made.or_else(|| self.sampled())
    }

    /// Returns a random name of this form.
    fn filled(&mut self, form: &str) -> String {
        let random = |sign| {
            let from: &[u8] = match sign {
                b'a' => b"abcdefghjkmnpqrstuvwxyz",
                b'1' => b"123456789",
                _ => &[sign],
            };
            self.random.pick(from).copied().map(char::from)
        };
        form.bytes().filter_map(random).collect()
    }

    fn wrap(&self, name: &str) -> Option<String> {
        match self.module.search_type() {
            SearchType::Username => Some(name.to_owned()),
            SearchType::Email if self.module.is_about_domain() => {
                Some(format!("{name}@{name}.{}", self.suffix()?))
            }
            SearchType::Email => Some(format!("{name}@{}", self.query.domain()?)),
            SearchType::Domain => Some(format!("{name}.{}", self.suffix()?)),
        }
    }

    fn suffix(&self) -> Option<&str> {
        PublicSuffix::of(self.query.domain()?).map(|suffix| suffix.name)
    }

    fn fits(&self, text: &str) -> Option<Query> {
        let made = Query::parse(self.module.search_type(), text).ok()?;
        let is_other = made.normal() != self.query.normal();
        (is_other && self.module.why_refused(&made).is_none()).then_some(made)
    }

    /// Returns the longest of several texts that the module's regex matches, if it is long enough.
    fn sampled(&mut self) -> Option<Query> {
        let accepts = self.module.entry().accepts.as_deref()?;
        let whole = Sampled::new(&format!(r"\A(?:{accepts})\z"))?;
        let texts: Vec<String> = (0..40).filter_map(|_| whole.text(self.random.next())).collect();
        let mut made: Vec<Query> = texts.iter().filter_map(|text| self.fits(text)).collect();
        made.sort_by_key(|made| std::cmp::Reverse(made.normal().len()));
        made.into_iter().next().filter(|made| made.normal().chars().count() >= MIN_NAME_CHARS)
    }
}

/// The form of names of a length: `a` is any letter, `1` is any digit, and anything else is itself.
type Form = fn(usize) -> String;

const LETTERS_THEN_DIGITS: Form = |chars| LETTERS(chars - 3) + "111";
const LETTERS: Form = |chars| "a".repeat(chars);
const DIGITS: Form = |chars| "1".repeat(chars);
/// Letters in two parts, with a sign between them, before the forms above.
const OTHERS: [Form; 6] = [
    |chars| parted(chars, "_"),
    |chars| parted(chars, "-"),
    |chars| parted(chars, "."),
    LETTERS,
    LETTERS_THEN_DIGITS,
    DIGITS,
];

fn parted(chars: usize, sign: &str) -> String {
    LETTERS(chars / 2) + sign + &LETTERS(chars.div_ceil(2) - 1)
}
