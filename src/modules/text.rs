//! Functions for text from outside.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Regex, bytes};

/// The most characters of one extracted value.
pub(crate) const MAX_VALUE_CHARS: usize = 2_000;

/// Compiles a regex of this program. All of them are constant, and the tests compile each.
pub(crate) fn constant(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a valid pattern")
}

/// Returns whether a text is a host name in ASCII: labels of letters, digits, hyphens and underscores, with their limits
/// (RFC 1035).
pub(crate) fn is_host_name(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Returns the first `chars` characters, followed by an ellipsis if there are more.
pub(crate) fn truncate(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// Removes white space at both ends and makes each run of it inside one space.
pub(crate) fn squeeze(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text.trim());
    // This is done for each page. Most white space is single spaces, and what is between other white space is copied at
    // once, which takes a third of the time that it takes word by word.
    while let Some(end) = find_irregular_space(rest) {
        out.push_str(rest[..end].trim_end());
        out.push(' ');
        rest = rest[end..].trim_start();
    }
    out.push_str(rest);
    out
}

/// Returns the place of the first white space that is not a single space.
fn find_irregular_space(text: &str) -> Option<usize> {
    let mut follows_space = false;
    let found = text.char_indices().find(|(_, c)| {
        let is_irregular = c.is_whitespace() && (*c != ' ' || follows_space);
        follows_space = *c == ' ';
        is_irregular
    });
    found.map(|(at, _)| at)
}

/// Returns the part of a text that may be shown and stored. Control characters except line ends and
/// invisible direction marks are removed, and tabs become spaces. The text is trimmed to at most
/// [`MAX_VALUE_CHARS`] characters.
pub(crate) fn clean(text: &str) -> String {
    let kept = text.chars().filter_map(|c| match c {
        '\n' => Some('\n'),
        '\t' | '\u{2028}' | '\u{2029}' => Some(' '),
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{FEFF}' => None,
        c if c.is_control() => None,
        c => Some(c),
    });
    // Twice the limit is kept before trimming, so that leading white space does not use up the limit.
    let text: String = kept.take(MAX_VALUE_CHARS * 2).collect();
    let text = text.trim();
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => text[..end].trim_end().to_owned(),
    }
}

/// Returns the text of a TXT record. `"v=spf1 " "-all"` is one string in two pieces; `\"` and `\059` are
/// escapes (RFC 1035).
pub(crate) fn unquote_txt(text: &str) -> String {
    static PIECES: LazyLock<bytes::Regex> =
        LazyLock::new(|| bytes::Regex::new(r#"(?s)"((?:[^"\\]|\\.)*)"?"#).expect("a valid regex"));
    static ESCAPES: LazyLock<bytes::Regex> =
        LazyLock::new(|| bytes::Regex::new(r"(?s)\\([0-9]{3}|.)").expect("a valid regex"));
    if !text.starts_with('"') {
        return text.to_owned();
    }
    let plain = |escape: &bytes::Captures<'_>| match std::str::from_utf8(&escape[1])
        .unwrap_or_default()
        .parse::<u8>()
    {
        Ok(code) if escape[1].len() == 3 => vec![code],
        _ => escape[1].to_vec(),
    };
    let pieces = PIECES.captures_iter(text.as_bytes());
    let bytes: Vec<u8> =
        pieces.flat_map(|piece| ESCAPES.replace_all(&piece[1], plain).into_owned()).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns whether two texts are the same name, regardless of case.
pub(crate) fn same_name(one: &str, other: &str) -> bool {
    one == other || one.eq_ignore_ascii_case(other) || one.to_lowercase() == other.to_lowercase()
}

/// Returns whether `name` is in `text` as a whole word, in any case. Letters, digits, `-` and `_` next to it
/// make it part of another name. So does a `.` before it, but not a `.` behind it, which may end a sentence.
pub(crate) fn holds_name(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    holds_word(text, name, |c, is_before| is_part(c) || (is_before && c == '.'))
}

/// Returns whether `word` is in `text`, in any case, without a character next to it for which `is_part` returns `true`.
/// The second argument of `is_part` is whether the character is before the word.
pub(crate) fn holds_word(text: &str, word: &str, is_part: impl Fn(char, bool) -> bool) -> bool {
    let (text, word) = (text.to_lowercase(), word.to_lowercase());
    let is_whole = |(start, found): (usize, &str)| {
        let before = text[..start].chars().next_back();
        let behind = text[start + found.len()..].chars().next();
        !before.is_some_and(|c| is_part(c, true)) && !behind.is_some_and(|c| is_part(c, false))
    };
    !word.is_empty() && text.match_indices(&word).any(is_whole)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_and_direction_marks_are_removed() {
        assert_eq!(clean(" a\u{0}b\r\nc\td\u{202E}e\u{1b}[0m "), "ab\nc de[0m");
        assert_eq!(squeeze(" a \n\t b "), "a b");
        assert_eq!(clean(&"x".repeat(5000)).len(), MAX_VALUE_CHARS);
    }

    #[test]
    fn the_strings_of_a_txt_record_are_joined() {
        assert_eq!(unquote_txt("\"v=spf1 \" \"a\\\"b\\059\""), "v=spf1 a\"b;");
        assert_eq!(unquote_txt("plain"), "plain");
    }

    #[test]
    fn a_name_is_found_only_as_a_whole_word() {
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
        fn white_space_is_squeezed_as_by_words(text in "[a ü \n\t\u{a0}\u{2003}]{0,20}") {
            prop_assert_eq!(squeeze(&text), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }

        #[test]
        fn cleaning_is_idempotent(text in any::<String>()) {
            let once = clean(&text);
            prop_assert_eq!(clean(&once), once.clone());
            prop_assert!(!once.contains('\0'));
        }
    }
}
