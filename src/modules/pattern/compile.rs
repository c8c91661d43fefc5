//! Compiles regexes within limits of size and cost, and explains mistakes in them.
//!
//! If the engine's fast automata give up, the engine follows all states of a search in parallel. The number of those states
//! is at most the number of positions in the pattern, with its repetitions written out. In the worst cases that were
//! measured, one position takes 20 to 45 ns per byte on common hardware.

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use crate::modules::text::truncate;

/// The maximum size of a compiled regex, in bytes.
const SIZE_LIMIT: usize = 1 << 20;
/// The maximum depth of nested groups.
const NEST_LIMIT: u32 = 50;
/// The maximum cost of a regex for each byte of the searched text. The most expensive one of the built-in catalogue costs 600.
const MAX_COST: usize = 1_000;

/// The text in which a regex is to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    /// Any part of a text. `^` and `$` also match at the ends of lines.
    Part,
    /// A whole text.
    Whole,
    /// A whole ASCII text. Classes such as `\w` are small then. With the letters of all scripts, `\w{3,64}` alone would
    /// be too large.
    WholeAscii,
}

/// Compiles a regex, and estimates its cost for each byte.
pub(super) fn compile(pattern: &str, subject: Subject) -> Result<(Regex, usize), String> {
    let shown = truncate(pattern, 60);
    let parsed = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern);
    let cost = parsed.as_ref().map_or(0, positions);
    if cost > MAX_COST {
        return Err(format!(
            "the regex `{shown}` is too costly: with its repetitions written out it has {cost} positions, allowed \
             are {MAX_COST}"
        ));
    }
    // An invalid pattern such as `a)|(b`, which would leave the group around it, is compiled for the error message.
    let is_whole = subject != Subject::Part && parsed.is_ok();
    let text = if is_whole { format!(r"\A(?:{pattern})\z") } else { pattern.to_owned() };
    let build = |is_unicode: bool| {
        let mut builder = RegexBuilder::new(&text);
        builder.unicode(is_unicode).multi_line(!is_whole).nest_limit(NEST_LIMIT);
        builder.size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).build()
    };
    // A pattern that can match other characters, such as `.` or `[^a]`, is compiled with Unicode support.
    let ascii = if subject == Subject::WholeAscii { build(false).ok() } else { None };
    let regex = ascii.map_or_else(|| build(true), Ok).map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the regex `{shown}` is too large; make its repetitions smaller")
        }
        other => {
            // The library's message draws the pattern over several lines.
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let variables = ["{query", "{local}", "{domain", "{value}", "{saved.", "{config."];
            let has_variable = variables.iter().any(|variable| pattern.contains(variable));
            let hint = if has_variable { "; variables are not filled in at this place" } else { "" };
            format!("the regex `{shown}` is not valid: {reason}{hint}")
        }
    })?;
    Ok((regex, cost))
}

/// Returns the number of positions in a pattern, with its repetitions written out. The recursion is limited by
/// [`NEST_LIMIT`].
fn positions(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Capture(capture) => 1 + positions(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, usize::saturating_add)
        }
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or_else(|| repetition.min.saturating_add(1)).max(1);
            positions(&repetition.sub).saturating_mul(times as usize)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_expanded_in_the_cost() {
        let cost = |pattern| compile(pattern, Subject::Part).map(|(_, cost)| cost);
        for (pattern, want) in [
            ("abc", 3),
            ("a|bc", 3),
            ("[a-z]+@", 3),
            (".{0,100}x", 101),
            ("(a{2,3}){4}", 16),
            ("a{1000}", 1000),
        ] {
            assert_eq!(cost(pattern), Ok(want), "{pattern}");
        }
        let huge = "(?:(?:(?:(?:(?:a{1000}){1000}){1000}){1000}){1000}){1000}";
        for pattern in [huge, "a{1001}", "(?:a{1,100}){1,100}b"] {
            assert!(cost(pattern).is_err_and(|why| why.contains("allowed are 1000")), "{pattern}");
        }
    }

    #[test]
    fn unicode_classes_are_small_for_ascii_texts() {
        let whole = |pattern, subject| compile(pattern, subject).map(|(regex, _)| regex);
        let wide = r"[\w.-]{3,64}";
        assert!(whole(wide, Subject::Whole).is_err_and(|error| error.contains("too large")));
        let ascii = whole(wide, Subject::WholeAscii).unwrap();
        assert!(ascii.is_match("bob.1-x") && !ascii.is_match("bo") && !ascii.is_match("bob 1"));
        for pattern in ["[^/]+", ".{2,5}", r"\p{L}+", "(?i)[a-k]+", "a|bc"] {
            let forms = [Subject::WholeAscii, Subject::Whole].map(|subject| whole(pattern, subject).unwrap());
            for text in ["a", "bc", "ab", "K", "a/b", "abcdef", "", "a\nb"] {
                assert_eq!(forms[0].is_match(text), forms[1].is_match(text), "{pattern} {text:?}");
            }
        }
        for pattern in ["a)|(b", "(", "[a", "a{2000000}"] {
            let error = whole(pattern, Subject::Whole).unwrap_err();
            assert_eq!(whole(pattern, Subject::WholeAscii).unwrap_err(), error);
        }
    }
}
