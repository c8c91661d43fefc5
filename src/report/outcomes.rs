//! Outcomes in words, for people.

use crate::modules::outcome::Outcome;

/// What it is called.
pub fn title(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Hit => "Hit",
        Outcome::Miss => "Miss",
        Outcome::Blocked => "Blocked",
        Outcome::RateLimited => "Rate limited",
        Outcome::Timeout => "Timed out",
        Outcome::Error => "Failed",
        Outcome::Unreliable => "Unreliable",
        Outcome::Skipped => "Not asked",
    }
}

/// What it means, as a sentence.
pub fn meaning(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Hit => "It was found there.",
        Outcome::Miss => "It was not found there.",
        Outcome::Blocked => "A captcha, a challenge or a login wall stood in the way.",
        Outcome::RateLimited => "The site asked to be left alone for now.",
        Outcome::Timeout => "No answer came in time.",
        Outcome::Error => {
            "No usable answer came: the connection failed, or the answer was not one that is known."
        }
        Outcome::Unreliable => "The site says yes to a made-up name too, so its yes means nothing.",
        Outcome::Skipped => {
            "It could not be asked: the query can be no name there, or a key or a browser is missing."
        }
    }
}
