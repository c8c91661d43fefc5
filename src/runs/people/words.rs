//! Full names and sentences, as they are compared.

use crate::model::entity::folded;

/// The fewest letters of a full name.
const MIN_NAME_LETTERS: usize = 6;
/// The most words of a full name. A longer text is a slogan.
const MAX_NAME_WORDS: usize = 5;
/// The fewest words and characters of a distinctive sentence.
const MIN_SENTENCE: (usize, usize) = (6, 30);
/// The most sentences of one bio that are compared.
const MAX_SENTENCES: usize = 5;
/// The most characters of a bio that are read.
const MAX_BIO_CHARS: usize = 4096;

/// Returns the words of a full name in lower case, or `None` for a text that is not one: a single word, which may be
/// the username, or a text with digits.
pub(super) fn full_name(text: &str) -> Option<String> {
    if text.contains(|c: char| c.is_numeric() || "@/|:".contains(c)) {
        return None;
    }
    let is_inner = |c: char| c.is_alphabetic() || "-'’".contains(c);
    let folded = folded(text);
    let words = folded.split(|c: char| !is_inner(c)).filter(|word| word.chars().count() > 1);
    let words: Vec<&str> = words.collect();
    let letters: usize = words.iter().map(|word| word.chars().count()).sum();
    let is_full = (2..=MAX_NAME_WORDS).contains(&words.len()) && letters >= MIN_NAME_LETTERS;
    is_full.then(|| words.join(" "))
}

/// Returns whether two full names have no word in common. Names in different scripts may be the same, so names with
/// other than ASCII letters never contradict.
pub(super) fn contradict(one: &str, other: &str) -> bool {
    let has = |word: &str| other.split(' ').any(|it| it == word);
    one.is_ascii() && other.is_ascii() && !one.split(' ').any(has)
}

/// Returns the distinctive sentences of a bio in lower case.
pub(super) fn sentences(bio: &str) -> Vec<String> {
    let bio: String = bio.chars().take(MAX_BIO_CHARS).collect();
    let (words, chars) = MIN_SENTENCE;
    let is_distinctive = |text: &String| text.split(' ').count() >= words && text.chars().count() >= chars;
    let all = bio.split(['.', '!', '?', ';', '|', '•', '\n', '\r']).map(folded);
    all.filter(is_distinctive).take(MAX_SENTENCES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_names_have_two_words_and_no_digits() {
        assert_eq!(full_name(" Jane  Q. DOE 🦀").as_deref(), Some("jane doe"));
        assert_eq!(full_name("Анна Петрова").as_deref(), Some("анна петрова"));
        for text in ["octocat", "Jane", "Jo Li", "jane doe 42", "a@b c@d", "One Two Three Four Five Six"] {
            assert_eq!(full_name(text), None, "{text}");
        }
        assert!(contradict("jane doe", "bob lee"));
        assert!(!contradict("jane doe", "doe janet"));
        assert!(!contradict("anna petrova", "анна петрова"));
    }

    #[test]
    fn only_long_sentences_are_distinctive() {
        let bio = "Rust. I paint owls on very old bicycles in Oslo! Coffee | dad";
        assert_eq!(sentences(bio), ["i paint owls on very old bicycles in oslo"]);
    }
}
