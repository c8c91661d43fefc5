//! The control check: a module that says yes to a made-up name proves nothing with its yes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::module::Module;
use super::query::{Query, SearchType};
use super::sample::{Random, sample};

/// How long a verdict on a module is believed, unless configured.
pub const DEFAULT_TTL: Duration = Duration::from_secs(3600);
/// An unclear verdict is worth another try sooner.
const UNCLEAR_TTL: Duration = Duration::from_secs(60);
/// The most verdicts kept.
const MAX_ENTRIES: usize = 20_000;
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
}

/// Module id, and the queried domain where that decides which host is asked.
pub(crate) type Key = (Arc<str>, Option<String>);

/// Verdicts by module. Checks that need the same one at the same time share it.
#[derive(Debug)]
pub(crate) struct Controls {
    ttl: Duration,
    slots: Mutex<HashMap<Key, Slot>>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy)]
enum Slot {
    Running,
    Known(ControlVerdict, Instant),
}

impl Controls {
    /// Verdicts are believed for `ttl`; zero: never.
    pub(crate) fn new(ttl: Duration) -> Self {
        Self { ttl, slots: Mutex::default(), changed: Condvar::new() }
    }

    /// The verdict for `key`: a known one, the one that another thread is finding out (until
    /// `deadline`), or what `ask` finds out.
    pub(crate) fn verdict(
        &self,
        key: &Key,
        deadline: Instant,
        ask: impl FnOnce() -> ControlVerdict,
    ) -> ControlVerdict {
        let mut slots = self.slots.lock();
        loop {
            match slots.get(key) {
                Some(Slot::Known(verdict, until)) if *until > Instant::now() => return *verdict,
                Some(Slot::Running) => {
                    if self.changed.wait_until(&mut slots, deadline).timed_out() {
                        return ControlVerdict::Unclear;
                    }
                }
                _ => break,
            }
        }
        slots.insert(key.clone(), Slot::Running);
        drop(slots);
        let turn = Turn { controls: self, key };
        let verdict = ask();
        turn.settle(verdict)
    }

    fn keep(&self, key: &Key, slot: Option<Slot>) {
        let mut slots = self.slots.lock();
        slots.remove(key);
        if let Some(slot) = slot {
            if slots.len() >= MAX_ENTRIES {
                let now = Instant::now();
                slots.retain(|_, slot| {
                    matches!(slot, Slot::Running) || matches!(slot, Slot::Known(_, until) if *until > now)
                });
            }
            if slots.len() < MAX_ENTRIES {
                slots.insert(key.clone(), slot);
            }
        }
        drop(slots);
        self.changed.notify_all();
    }
}

/// Held by the thread that asks: whatever happens to it, nobody waits for it in vain.
struct Turn<'c> {
    controls: &'c Controls,
    key: &'c Key,
}

impl Turn<'_> {
    fn settle(self, verdict: ControlVerdict) -> ControlVerdict {
        let ttl = match verdict {
            ControlVerdict::Unclear => self.controls.ttl.min(UNCLEAR_TTL),
            _ => self.controls.ttl,
        };
        let slot = (!ttl.is_zero()).then(|| Slot::Known(verdict, Instant::now() + ttl));
        self.controls.keep(self.key, slot);
        std::mem::forget(self);
        verdict
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.controls.keep(self.key, None);
    }
}

/// A query that nobody has, yet that the module would take: a long random name, the address of one at
/// the queried domain, or a random name under the queried public suffix.
pub fn made_up(module: &Module, query: &Query, seed: u64) -> Option<Query> {
    let mut random = Random::new(seed);
    let fits = |text: &str| {
        let made = Query::parse(module.search_type(), text).ok()?;
        (made.normal() != query.normal() && module.why_refused(&made).is_none()).then_some(made)
    };
    let wrap = |name: &str| match module.search_type() {
        SearchType::Username => Some(name.to_owned()),
        SearchType::Email => Some(format!("{name}@{}", query.domain()?)),
        SearchType::Domain => Some(format!("{name}.{}", psl::suffix_str(query.domain()?)?)),
    };
    for chars in [13, 11, 9, 15, 19, 8, 7, 6, 24, 30] {
        for form in [Form::LettersThenDigits, Form::Letters, Form::Digits] {
            if let Some(made) = wrap(&form.name(&mut random, chars)).and_then(|text| fits(&text)) {
                return Some(made);
            }
        }
    }
    // A form of its own: texts that the regex matches, the longest first.
    let accepts = module.entry().accepts.as_deref()?;
    let whole = format!(r"\A(?:{accepts})\z");
    let texts = (0..40).filter_map(|_| sample(&whole, random.next()));
    let mut made: Vec<Query> = texts.filter_map(|text| fits(&text)).collect();
    made.sort_by_key(|made| std::cmp::Reverse(made.normal().len()));
    made.into_iter().next().filter(|made| made.normal().chars().count() >= MIN_NAME_CHARS)
}

#[derive(Debug, Clone, Copy)]
enum Form {
    LettersThenDigits,
    Letters,
    Digits,
}

impl Form {
    fn name(self, random: &mut Random, chars: usize) -> String {
        const LETTERS: &[u8] = b"abcdefghjkmnpqrstuvwxyz";
        const DIGITS: &[u8] = b"123456789";
        let letters = match self {
            Self::LettersThenDigits => chars - 3,
            Self::Letters => chars,
            Self::Digits => 0,
        };
        (0..chars).map(|index| random.pick(if index < letters { LETTERS } else { DIGITS })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn key(name: &str) -> Key {
        (name.into(), None)
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn a_verdict_is_asked_for_once_and_shared_by_those_who_wait() {
        let controls = Controls::new(DEFAULT_TTL);
        let asked = AtomicUsize::new(0);
        let all: Vec<ControlVerdict> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        controls.verdict(&key("a"), soon(), || {
                            asked.fetch_add(1, Ordering::SeqCst);
                            ControlVerdict::Hit
                        })
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!((all, asked.into_inner()), (vec![ControlVerdict::Hit; 8], 1));
        assert_eq!(controls.verdict(&key("b"), soon(), || ControlVerdict::Missed), ControlVerdict::Missed);
    }

    #[test]
    fn with_no_time_to_live_every_check_asks() {
        let controls = Controls::new(Duration::ZERO);
        assert_eq!(controls.verdict(&key("a"), soon(), || ControlVerdict::Hit), ControlVerdict::Hit);
        assert_eq!(controls.verdict(&key("a"), soon(), || ControlVerdict::Missed), ControlVerdict::Missed);
    }

    #[test]
    fn a_panic_in_one_check_leaves_the_next_one_its_turn() {
        let controls = Controls::new(DEFAULT_TTL);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            controls.verdict(&key("a"), soon(), || panic!("a defect"))
        }));
        assert!(panicked.is_err());
        assert_eq!(controls.verdict(&key("a"), soon(), || ControlVerdict::Missed), ControlVerdict::Missed);
    }

    #[test]
    fn waiting_ends_at_the_deadline() {
        let controls = Controls::new(DEFAULT_TTL);
        let verdict = controls.verdict(&key("a"), soon(), || {
            // Another check comes while this one is under way, with no time left.
            assert_eq!(
                controls.verdict(&key("a"), Instant::now(), || unreachable!()),
                ControlVerdict::Unclear
            );
            ControlVerdict::Missed
        });
        assert_eq!(verdict, ControlVerdict::Missed);
    }
}
