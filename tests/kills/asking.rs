//! Checks which sites were queried again after a kill, and whether that was necessary.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::lives::Deaths;
use super::site::Question;

/// The driver writes a checkpoint every second. After this time, without the time in which the machine was stalled, an
/// answer is usually in one; not always, since a busy database delays checkpoints.
const IN_A_CHECKPOINT_AFTER: Duration = Duration::from_secs(3);
/// At most one of so many answers that are older than that may be queried again.
const RARELY: usize = 10;

/// The result of the check.
#[derive(Debug, Default)]
pub(super) struct AskedAgain {
    pub(super) questions: usize,
    pub(super) again: usize,
    /// The number that may have been queried again: in progress at a kill, or answered so shortly before it that no
    /// checkpoint needs to have the answer.
    pub(super) at_most: usize,
    /// The number of answers that should have been in a checkpoint, and how many of them were queried again.
    pub(super) old: usize,
    pub(super) old_again: usize,
    /// The number of kills during a request.
    pub(super) felt: usize,
    /// The longest time between an answer that was queried again and the kill.
    pub(super) oldest: Duration,
    /// The number of searches with requests from several processes, and the most processes of one search.
    pub(super) moved: usize,
    pub(super) most_lives: usize,
}

/// Fails where a site was queried again for an answer in a checkpoint, or often for one that should have been in one.
pub(super) fn asked_again(book: &[Question], deaths: &Deaths) -> AskedAgain {
    let mut found = AskedAgain { questions: book.len(), ..AskedAgain::default() };
    let ages = book.iter().filter_map(|question| age_at_death(question, deaths));
    (found.at_most, found.old) = ages
        .fold((0, 0), |(young, old), age| if age.is_young() { (young + 1, old) } else { (young, old + 1) });
    let mut same: HashMap<(&str, &str), Vec<&Question>> = HashMap::new();
    let mut lives: HashMap<&str, BTreeSet<usize>> = HashMap::new();
    for question in book {
        same.entry((&question.name, &question.module)).or_default().push(question);
        lives.entry(&question.name).or_default().insert(question.life);
    }
    for questions in same.values_mut() {
        questions.sort_by_key(|question| question.life);
        questions.windows(2).for_each(|pair| found.take(pair[0], pair[1], deaths));
    }
    for (life, name, module) in &deaths.checkpointed {
        let later = same.get(&(name.as_str(), module.as_str())).and_then(|questions| questions.last());
        assert!(
            later.is_none_or(|question| question.life <= *life),
            "{module} was asked again for {name}, and life {life} had left its answer in a checkpoint"
        );
    }
    let is_under_way =
        |question: &&Question| age_at_death(question, deaths).is_some_and(|age| age.whole == Duration::ZERO);
    let under_way = book.iter().filter(is_under_way);
    found.felt = under_way.map(|question| question.life).collect::<BTreeSet<_>>().len();
    found.moved = lives.values().filter(|lives| lives.len() > 1).count();
    found.most_lives = lives.values().map(BTreeSet::len).max().unwrap_or(0);
    assert!(found.old > 0 && found.old_again * RARELY <= found.old, "checkpoints come too late: {found:?}");
    found
}

impl AskedAgain {
    fn take(&mut self, first: &Question, second: &Question, deaths: &Deaths) {
        assert!(first.life < second.life, "asked twice in one life: {first:?}, {second:?}");
        let age = age_at_death(first, deaths).unwrap();
        self.again += 1;
        self.old_again += usize::from(!age.is_young());
        self.oldest = self.oldest.max(age.whole);
    }
}

/// The time between an event and the end of a process.
#[derive(Debug, Clone, Copy, Default)]
struct Age {
    whole: Duration,
    /// The part of that time in which the machine was stalled.
    stalled: Duration,
}

impl Age {
    fn is_young(self) -> bool {
        self.whole.saturating_sub(self.stalled) <= IN_A_CHECKPOINT_AFTER
    }
}

/// Returns how long before the end of the process a request was answered: zero if it was not. `None`: that process
/// still runs.
fn age_at_death(question: &Question, deaths: &Deaths) -> Option<Age> {
    let death = *deaths.at.get(question.life)?;
    let Some(answered) = question.answered else { return Some(Age::default()) };
    let whole = death.saturating_duration_since(answered);
    Some(Age { whole, stalled: deaths.stalls.between(answered, death) })
}
