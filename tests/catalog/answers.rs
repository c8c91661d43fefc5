//! What the built-in modules make of answers as their sources write them: `answers.txt`. The simulated web makes its
//! answers from a module's own rules, so it cannot see a wrong pointer.

use crate::checks::cases::play;

#[test]
fn modules_understand_the_answers_of_their_sources() {
    assert!(play(include_str!("answers.txt")) > 350);
}
