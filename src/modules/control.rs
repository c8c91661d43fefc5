//! The control check: a module that says yes to a made-up name proves nothing with its yes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::extract::portrait::Portrait;
use super::memo::{Bounds, FAIR_TRY, Made, Memo};
use super::module::Module;
use super::query::{Query, SearchType};
use super::sample::{Random, sample};

/// How long a verdict on a module is believed, unless configured.
pub const DEFAULT_TTL: Duration = Duration::from_secs(3600);
/// An unclear verdict is worth another try sooner.
const UNCLEAR_TTL: Duration = Duration::from_secs(60);
/// The most verdicts kept.
const MAX_ENTRIES: usize = 20_000;
/// The most bytes of portraits kept.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Shorter made-up names may well be somebody's.
const MIN_NAME_CHARS: usize = 6;

/// What a module says to a made-up name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ControlVerdict {
    /// It is not there: as it should be.
    Missed,
    /// It is there: the module is unreliable.
    Hit,
    /// No conclusion, or no such name can be made.
    Unclear,
    /// No conclusion in the time that it had.
    OutOfTime,
}

/// A verdict, with what the page of the made-up name said.
#[derive(Debug, Clone)]
pub(crate) struct Controlled {
    pub(crate) verdict: ControlVerdict,
    /// Without the made-up name.
    pub(crate) portrait: Option<Arc<Portrait>>,
}

impl From<ControlVerdict> for Controlled {
    fn from(verdict: ControlVerdict) -> Self {
        Self { verdict, portrait: None }
    }
}

/// Module id, and the queried domain where the verdict is about that domain.
pub(crate) type Key = (Arc<str>, Option<String>);

/// What the verdict on `module` is kept under. A made-up address stands at the queried domain: what a
/// module says of one at a domain that takes any address says nothing of others.
pub(crate) fn key(module: &Module, query: &Query) -> Key {
    let is_at_domain = module.search_type() == SearchType::Email && !is_about_domain(module);
    let domain = query.domain().filter(|_| is_at_domain || module.is_host_queried());
    (module.id().clone(), domain.map(str::to_owned))
}

/// Verdicts by module. Checks that need the same one at the same time share it.
#[derive(Debug)]
pub(crate) struct Controls {
    ttl: Duration,
    memo: Memo<Key, Controlled>,
}

impl Controls {
    /// Verdicts are believed for `ttl`; zero: never.
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { ttl, memo: Memo::new(Bounds { entries: MAX_ENTRIES, weight: MAX_BYTES }) }
    }

    /// Drops what is believed no more.
    pub(crate) fn sweep(&self, now: Instant) {
        self.memo.sweep(now);
    }

    /// The verdict for `key`: a known one, the one that another thread is finding out (until
    /// `deadline`), or what `ask` finds out.
    pub(crate) fn verdict(
        &self,
        key: &Key,
        deadline: Instant,
        ask: impl FnOnce() -> Controlled,
    ) -> Controlled {
        let controlled = self.memo.get(key, deadline, || {
            let began = Instant::now();
            let value = ask();
            let keep = match value.verdict {
                ControlVerdict::OutOfTime if began.elapsed() < FAIR_TRY => Duration::ZERO,
                ControlVerdict::Unclear | ControlVerdict::OutOfTime => self.ttl.min(UNCLEAR_TTL),
                ControlVerdict::Missed | ControlVerdict::Hit => self.ttl,
            };
            let weight = value.portrait.as_ref().map_or(0, |portrait| portrait.bytes());
            Made { value, keep, weight }
        });
        controlled.unwrap_or(ControlVerdict::Unclear.into())
    }
}

/// A query that nobody has, yet that the module would take: a long random name, the address of one at
/// the queried domain, or a random name under the queried public suffix. An address is at such a domain,
/// too, where the module looks at the domain alone.
pub fn made_up(module: &Module, query: &Query, seed: u64) -> Option<Query> {
    let mut maker = Maker { module, query, random: Random::new(seed) };
    maker.in_form(&[Form::LettersThenDigits, Form::Letters, Form::Digits]).or_else(|| maker.sampled())
}

/// Two such queries of different forms, as far as the module takes different ones: a site may know one
/// form of names that it never gave, and not the other.
pub fn two_made_up(module: &Module, query: &Query, seed: u64) -> Vec<Query> {
    let Some(first) = made_up(module, query, seed) else { return Vec::new() };
    let mut maker = Maker { module, query: &first, random: Random::new(seed ^ 1) };
    let forms =
        [Form::Parted('_'), Form::Parted('-'), Form::Parted('.'), Form::Letters, Form::LettersThenDigits];
    let second = maker.in_form(&forms).or_else(|| maker.in_form(&[Form::Digits])).or_else(|| maker.sampled());
    let second = second.filter(|made| made.normal() != query.normal());
    std::iter::once(first.clone()).chain(second).collect()
}

struct Maker<'a> {
    module: &'a Module,
    /// What is not to be made again.
    query: &'a Query,
    random: Random,
}

impl Maker<'_> {
    fn in_form(&mut self, forms: &[Form]) -> Option<Query> {
        for chars in [13, 11, 9, 15, 19, 8, 7, 6, 24, 30] {
            for form in forms {
                let name = form.name(&mut self.random, chars);
                if let Some(made) = self.wrap(&name).and_then(|text| self.fits(&text)) {
                    return Some(made);
                }
            }
        }
        None
    }

    fn wrap(&self, name: &str) -> Option<String> {
        match self.module.search_type() {
            SearchType::Username => Some(name.to_owned()),
            SearchType::Email if is_about_domain(self.module) => {
                Some(format!("{name}@{name}.{}", self.suffix()?))
            }
            SearchType::Email => Some(format!("{name}@{}", self.query.domain()?)),
            SearchType::Domain => Some(format!("{name}.{}", self.suffix()?)),
        }
    }

    fn suffix(&self) -> Option<&str> {
        psl::suffix_str(self.query.domain()?)
    }

    fn fits(&self, text: &str) -> Option<Query> {
        let made = Query::parse(self.module.search_type(), text).ok()?;
        let is_other = made.normal() != self.query.normal();
        (is_other && self.module.why_refused(&made).is_none()).then_some(made)
    }

    /// A form of its own: texts that the regex matches, the longest first.
    fn sampled(&mut self) -> Option<Query> {
        let accepts = self.module.entry().accepts.as_deref()?;
        let whole = format!(r"\A(?:{accepts})\z");
        let texts: Vec<String> = (0..40).filter_map(|_| sample(&whole, self.random.next())).collect();
        let mut made: Vec<Query> = texts.iter().filter_map(|text| self.fits(text)).collect();
        made.sort_by_key(|made| std::cmp::Reverse(made.normal().len()));
        made.into_iter().next().filter(|made| made.normal().chars().count() >= MIN_NAME_CHARS)
    }
}

/// Whether neither the requests nor what makes a hit speak of more than the query's domain.
fn is_about_domain(module: &Module) -> bool {
    let entry = module.entry();
    if !entry.domain_in.is_empty() {
        return false;
    }
    let text = serde_json::to_string(&(&entry.probes, &entry.hit)).unwrap_or_default();
    !["{query", "{local", "equals_query"].iter().any(|word| text.contains(word))
}

#[derive(Debug, Clone, Copy)]
enum Form {
    LettersThenDigits,
    Letters,
    Digits,
    /// Letters in two parts.
    Parted(char),
}

impl Form {
    fn name(self, random: &mut Random, chars: usize) -> String {
        const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz";
        const DIGITS: &[u8] = b"123456789";
        let letters = match self {
            Self::LettersThenDigits => chars - 3,
            Self::Letters | Self::Parted(_) => chars,
            Self::Digits => 0,
        };
        let name = (0..chars).map(|index| match self {
            Self::Parted(between) if index == chars / 2 => between,
            _ => random.pick(if index < letters { LETTERS } else { DIGITS }),
        });
        name.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        (name.into(), None)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_verdict_is_believed_for_its_time() {
        let verdict = |controls: &Controls, verdict: ControlVerdict| {
            controls.verdict(&key("a"), soon(), || verdict.into()).verdict
        };
        let controls = Controls::new(DEFAULT_TTL);
        assert_eq!(verdict(&controls, ControlVerdict::Hit), ControlVerdict::Hit);
        assert_eq!(verdict(&controls, ControlVerdict::Missed), ControlVerdict::Hit);
        let controls = Controls::new(Duration::ZERO);
        assert_eq!(verdict(&controls, ControlVerdict::Hit), ControlVerdict::Hit);
        assert_eq!(verdict(&controls, ControlVerdict::Missed), ControlVerdict::Missed);
    }

    #[test]
    fn who_had_no_time_proves_nothing_to_others() {
        let controls = Controls::new(DEFAULT_TTL);
        let verdict = |found: ControlVerdict| controls.verdict(&key("a"), soon(), || found.into()).verdict;
        assert_eq!(verdict(ControlVerdict::OutOfTime), ControlVerdict::OutOfTime);
        assert_eq!(verdict(ControlVerdict::Unclear), ControlVerdict::Unclear);
        assert_eq!(verdict(ControlVerdict::Hit), ControlVerdict::Unclear, "for a minute");
    }

    #[test]
    fn waiting_ends_at_the_deadline() {
        let controls = Controls::new(DEFAULT_TTL);
        let verdict = controls.verdict(&key("a"), soon(), || {
            // Another check comes while this one is under way, with no time left.
            assert_eq!(
                controls.verdict(&key("a"), Instant::now(), || unreachable!()).verdict,
                ControlVerdict::Unclear
            );
            ControlVerdict::Missed.into()
        });
        assert_eq!(verdict.verdict, ControlVerdict::Missed);
    }
}
