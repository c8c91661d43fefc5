//! Python's regexes and format strings.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Look;

use crate::modules::pattern::SearchRegex;
use crate::modules::text::{constant, truncate};

/// What Python's regexes write in another way: classes, escapes, and repetitions without a minimum.
static SYNTAX: LazyLock<Regex> =
    LazyLock::new(|| constant(r"(?s)\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\{,[0-9]*\}"));
/// The escapes in a class.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| constant(r"(?s)\\."));

/// Returns the `accepts` for a regex that the list's tool *searches* in a name.
/// Unlike that regex, `accepts` must match the whole name.
///
/// # Errors
/// Returns an error if the regex has no linear-time form (look-around, back references), is invalid, or is
/// too large.
pub(super) fn accepts(python: &str) -> Result<SearchRegex, String> {
    let compiled = |is_ascii| {
        let regex = SearchRegex::whole(&anchored(&translated(python, is_ascii))?, false);
        regex.check().map(|()| regex)
    };
    // Classes with the letters of all scripts make large regexes. Most modules are used for ASCII names only.
    compiled(false).or_else(|reason| compiled(true).map_err(|_| reason))
}

/// Rewrites what Python writes in another way. With `is_ascii`, `\w` and `\d` match ASCII only.
fn translated(python: &str, is_ascii: bool) -> Cow<'_, str> {
    let escape = |found: &Captures<'_>| match &found[0] {
        r"\w" if is_ascii => "[0-9A-Za-z_]".to_owned(),
        r"\d" if is_ascii => "[0-9]".to_owned(),
        other => other.to_owned(),
    };
    SYNTAX.replace_all(python, |found: &Captures<'_>| match &found[0] {
        r"\Z" => r"\z".to_owned(),
        repeated if repeated.starts_with('{') => repeated.replace("{,", "{0,"),
        other => ESCAPES.replace_all(other, escape).into_owned(),
    })
}

/// Extends a regex that is not anchored at the start or the end, so that it may match anywhere.
fn anchored(text: &str) -> Result<String, String> {
    let hir = ParserBuilder::new().nest_limit(50).build().parse(text).map_err(|error| {
        // The last line says what is wrong, after the regex itself.
        error.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
    })?;
    let properties = hir.properties();
    let before = if properties.look_set_prefix().contains(Look::Start) { "" } else { "(?s:.*)" };
    let after = if properties.look_set_suffix().contains(Look::End) { "" } else { "(?s:.*)" };
    let is_whole = before.is_empty() && after.is_empty();
    Ok(if is_whole { text.to_owned() } else { format!("{before}(?:{text}){after}") })
}

/// What is written in braces, or a brace without its partner.
static BRACES: LazyLock<Regex> = LazyLock::new(|| constant(r"\{\{|\}\}|\{([^{}]*)\}|[{}]"));

/// Returns a text with its fields replaced, as Python's `format` does. Doubled braces become single ones.
///
/// # Errors
/// Returns an error if a brace has no partner, or a field is none of `fields`.
pub(super) fn python_format(text: &str, fields: &[(&str, &str)]) -> Result<String, String> {
    let mut is_wrong = false;
    let filled = BRACES.replace_all(text, |found: &Captures<'_>| match &found[0] {
        "{{" => "{",
        "}}" => "}",
        _ => {
            let name = found.get(1).map(|name| name.as_str());
            let field = fields.iter().find(|(known, _)| Some(*known) == name);
            is_wrong |= field.is_none();
            field.map_or("", |(_, value)| value)
        }
    });
    match is_wrong {
        true => Err(format!("an unknown variable or an unmatched brace in `{}`", truncate(text, 80))),
        false => Ok(filled.into_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn takes(python: &str, name: &str) -> bool {
        accepts(python).unwrap().regex().is_match(name)
    }

    #[test]
    fn a_python_search_becomes_a_full_match() {
        for (python, ours) in
            [("^[a-z]{3,5}$", "^[a-z]{3,5}$"), (r"\A\w+\Z", r"\A\w+\z"), (r"^a\\Z$", r"^a\\Z$")]
        {
            assert_eq!(&*accepts(python).unwrap(), ours);
        }
        for (python, name, is_taken) in [
            ("[a-z]{4}", "..abcd..", true),
            ("[a-z]{4}", "ABCD", false),
            ("^[a-z]", "a99", true),
            ("^[a-z]", "9a", false),
            ("[0-9]$", "a9", true),
            ("[0-9]$", "9a", false),
            ("^a$|b", "xbx", true),
            ("^a$|b", "xax", false),
            ("^[a-z][a-z-_.]{3,15}", "ab-c_d", true),
            // With the letters of all scripts, these would be too large.
            (r"^[\w.]{2,30}$", "a.b_9", true),
            (r"^[\w.]{2,30}$", "a-b", false),
            (r"\w{4,300}", "abcd", true),
            (r"^[\w-]{,3}$", "a-b", true),
            (r"^[\w-]{,3}$", "a-bc", false),
            (r"^.[^/]\w{4,300}$", "é-abcd", true),
            (r"^.[^/]\w{4,300}$", "é/abcd", false),
            (r"^[]\d{,]\w{4,300}$", ",abcd", true),
            (r"^[^\d]{,2}\w{4,300}$", "--abcd", true),
            ("^[{,]$", "0", false),
        ] {
            assert_eq!(takes(python, name), is_taken, "{python} {name}");
        }
    }

    #[test]
    fn a_regex_that_is_not_supported_is_refused_with_a_reason() {
        for (python, why) in [
            ("^(?!-)[a-z]+$", "look-around"),
            (r"^[a-z]+(?<!\.)$", "look-around"),
            (r"(a)\1", "backreferences are not supported"),
            ("(", "unclosed group"),
            ("(?:a{1000}){1000}", "too costly"),
        ] {
            let reason = accepts(python).unwrap_err();
            assert!(reason.contains(why), "{python}: {reason}");
        }
    }

    #[test]
    fn python_fields_are_converted_and_doubled_braces_unescaped() {
        let format = |text| python_format(text, &[("x", "VALUE")]);
        assert_eq!(format("{{ a({x}) }}").unwrap(), "{ a(VALUE) }");
        assert_eq!(format("{{{x}}}").unwrap(), "{VALUE}");
        for bad in ["{", "a}", "{x", "{{}", "{y}"] {
            assert!(format(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_converted_regex_matches_the_same_texts(
            python in r"\^?(\[a-c\]|b|\.|\\d|\(a\|c\)){1,4}[+*?]?\$?",
            name in "[a-d1]{1,6}",
        ) {
            let found = regex::Regex::new(&python).unwrap().is_match(&name);
            prop_assert_eq!(takes(&python, &name), found);
        }
    }
}
