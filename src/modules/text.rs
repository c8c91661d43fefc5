//! Small things about text that comes from outside.

use std::borrow::Cow;

/// The most characters of one extracted value.
pub(crate) const MAX_VALUE_CHARS: usize = 2_000;

/// The first `chars` characters, with an ellipsis where there was more.
pub(crate) fn cut(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// White space off both ends, runs of it inside made one space.
pub(crate) fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(MAX_VALUE_CHARS * 4));
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// What may be shown and stored: no control characters but line ends (tabs become spaces), no invisible
/// direction marks, trimmed, at most [`MAX_VALUE_CHARS`] characters.
pub(crate) fn clean(text: &str) -> String {
    let kept = text.chars().filter_map(|c| match c {
        '\n' => Some('\n'),
        '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        c if c.is_control() || is_direction_mark(c) => None,
        c => Some(c),
    });
    // Twice the limit before trimming: leading white space must not eat the value.
    let text: String = kept.take(MAX_VALUE_CHARS * 2).collect();
    let text = text.trim();
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].trim_end().to_owned(),
    }
}

fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}')
}

/// Whether two texts are the same name: case does not count.
pub(crate) fn same_name(one: &str, other: &str) -> bool {
    one == other || one.eq_ignore_ascii_case(other) || one.to_lowercase() == other.to_lowercase()
}

/// Whether `name` stands in `text` as a whole word, in any case: no letter or digit touches it, nor what
/// names are joined with (`-`, `_`; `.` in front of it only, for a sentence may end behind it).
pub(crate) fn holds_name(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    if name.is_empty() {
        return false;
    }
    let is_ascii_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(&name).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let behind = text[start + found.len()..].chars().next();
        !before.is_some_and(|c| is_ascii_word(c) || c == '.') && !behind.is_some_and(is_ascii_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_and_direction_marks_do_not_survive() {
        assert_eq!(clean(" a\u{0}b\r\nc\td\u{202E}e\u{1b}[0m "), "ab\nc de[0m");
        assert_eq!(squeeze(" a \n\t b "), "a b");
        assert_eq!(clean(&"x".repeat(5000)).len(), MAX_VALUE_CHARS);
    }

    #[test]
    fn a_name_stands_alone_or_not_at_all() {
        for text in ["bob", "(@Bob)", "https://a.example/u/bob", "bob.a.example", "Seite von BOB.", "bob님"]
        {
            assert!(holds_name(text, "Bob"), "{text}");
        }
        for text in ["", "bobby", "jim.bob", "bob-smith", "the_bob", "b ob", "/u/bob1"] {
            assert!(!holds_name(text, "bob"), "{text}");
        }
        assert!(
            !holds_name("anything", "") && holds_name("x bobbob bob", "bob") && holds_name("İ ç-ş", "ç-ş")
        );
    }

    proptest! {
        #[test]
        fn cleaning_twice_changes_nothing(text in any::<String>()) {
            let once = clean(&text);
            prop_assert_eq!(clean(&once), once.clone());
            prop_assert!(!once.contains('\0'));
        }
    }
}
