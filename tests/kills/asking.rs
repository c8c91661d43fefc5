//! What sites were asked again after a kill, and whether they had to be.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::lives::Deaths;
use super::site::Question;

/// A driver checkpoints every second; this much later an answer is in one, not counting the time in which nothing on
/// the machine got its turn.
const IN_A_CHECKPOINT_AFTER: Duration = Duration::from_secs(3);

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct AskedAgain {
    pub(super) questions: usize,
    pub(super) again: usize,
    /// How many might have been: under way at a kill, or answered so shortly before it that no checkpoint
    /// needs to have them.
    pub(super) at_most: usize,
    /// Kills while questions were under way.
    pub(super) felt: usize,
    /// How long before a kill the oldest answer that was asked for again had come.
    pub(super) oldest: Duration,
    /// Searches whose questions come from several lives, and the most lives.
    pub(super) moved: usize,
    pub(super) most_lives: usize,
}

/// Fails where a site was asked again for an answer that had been in a checkpoint, or should have been.
pub(super) fn asked_again(book: &[Question], deaths: &Deaths) -> AskedAgain {
    let mut found = AskedAgain { questions: book.len(), ..AskedAgain::default() };
    found.at_most =
        book.iter().filter(|question| age_at_death(question, deaths).is_some_and(Age::is_young)).count();
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
    found
}

impl AskedAgain {
    fn take(&mut self, first: &Question, second: &Question, deaths: &Deaths) {
        assert!(first.life < second.life, "asked twice in one life: {first:?}, {second:?}");
        let age = age_at_death(first, deaths).unwrap();
        assert!(age.is_young(), "answered so long before the kill and in no checkpoint: {age:?}, {first:?}");
        self.again += 1;
        self.oldest = self.oldest.max(age.whole);
    }
}

/// How long before the end of a life something had happened.
#[derive(Debug, Clone, Copy, Default)]
struct Age {
    whole: Duration,
    /// How much of that nobody got his turn.
    stalled: Duration,
}

impl Age {
    fn is_young(self) -> bool {
        self.whole.saturating_sub(self.stalled) <= IN_A_CHECKPOINT_AFTER
    }
}

/// How long before the end of the life in which it was asked a question had been answered: zero where it was not.
/// `None`: that life goes on.
fn age_at_death(question: &Question, deaths: &Deaths) -> Option<Age> {
    let death = *deaths.at.get(question.life)?;
    let Some(answered) = question.answered else { return Some(Age::default()) };
    let whole = death.saturating_duration_since(answered);
    Some(Age { whole, stalled: deaths.stalls.between(answered, death) })
}
