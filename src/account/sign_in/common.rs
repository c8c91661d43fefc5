//! Common passwords, which are the first that somebody tries.

use std::collections::HashSet;
use std::sync::LazyLock;

static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lines = include_str!("common_passwords.txt").lines();
    lines.filter(|line| !line.starts_with('#')).collect()
});

/// Returns whether a password is a common one, a common word with digits and signs around it, such as `P@ssw0rd12345`, or
/// nothing but digits and signs.
pub(super) fn is_common(password: &str) -> bool {
    let lower = password.to_lowercase();
    if WORDS.contains(lower.as_str()) {
        return true;
    }
    let letters = |text: &str| -> String { text.chars().map(letter).collect() };
    let is_sign = |c: char| !c.is_alphabetic();
    // Digits at the ends are no letters, but those inside a word are.
    let bare = lower.trim_matches(is_sign);
    bare.is_empty()
        || is_word(bare)
        || is_word(&letters(bare))
        || is_word(letters(&lower).trim_matches(is_sign))
}

/// Returns whether a text is a common word, or one that is repeated.
fn is_word(text: &str) -> bool {
    (1..=3).filter(|times| text.len().is_multiple_of(*times)).any(|times| {
        let word = text.get(..text.len() / times);
        word.is_some_and(|word| word.repeat(times) == text && WORDS.contains(word))
    })
}

/// Returns the letter for which a digit or a sign often stands.
fn letter(c: char) -> char {
    match c {
        '@' | '4' => 'a',
        '0' => 'o',
        '1' | '!' => 'i',
        '3' => 'e',
        '$' | '5' => 's',
        '7' => 't',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_passwords_are_recognized_in_their_usual_disguises() {
        for common in [
            "password12345",
            "Password!2024",
            "P@ssw0rd12345",
            "1234567890123",
            "passwordpassword",
            "qwertyuiop123",
            "1q2w3e4r5t6y",
            "sunshine_2025!",
            "iloveyou12345",
            "!!!Dragon!!!!",
        ] {
            assert!(is_common(common), "{common}");
        }
        for uncommon in [
            "correct horse battery",
            "sunshine over 14 hills",
            "grün-Ofen 7 Töpfe",
            "xk3!mmT0q-vv9",
            "пароль из слов",
        ] {
            assert!(!is_common(uncommon), "{uncommon}");
        }
    }
}
