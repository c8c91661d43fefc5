//! Compiles regexes within limits of size and cost, and explains mistakes in them.

use regex::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;

use super::cost::{self, NEST_LIMIT};
use crate::modules::text::truncate;

/// The maximum size of a compiled regex, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles a regex that is searched in a text, and estimates its cost for each byte.
pub(super) fn search(pattern: &str) -> Result<(Regex, usize), String> {
    let cost = cost::check(pattern)?;
    let regex = build(pattern, true).map_err(|error| explain(pattern, &error))?;
    Ok((regex, cost))
}

/// Compiles a regex that must match a whole text.
pub(crate) fn whole(pattern: &str) -> Result<Regex, String> {
    is_closed(pattern)?;
    build(&format!(r"\A(?:{pattern})\z"), false).map_err(|error| explain(pattern, &error))
}

/// Compiles a regex that must match a whole ASCII text. Classes such as `\w` are small then. With the
/// letters of all scripts, `\w{3,64}` alone would be too large.
pub(super) fn whole_ascii(pattern: &str) -> Result<Regex, String> {
    is_closed(pattern)?;
    let whole = format!(r"\A(?:{pattern})\z");
    // A pattern that can match other characters, such as `.` or `[^a]`, is compiled with Unicode support.
    let ascii = builder(&whole, false).unicode(false).build();
    ascii.or_else(|_| build(&whole, false)).map_err(|error| explain(pattern, &error))
}

/// Refuses a pattern such as `a)|(b`, which would leave the group around it. It is only parsed, since
/// compiling is slow.
fn is_closed(pattern: &str) -> Result<(), String> {
    let read = ParserBuilder::new().nest_limit(NEST_LIMIT).build().parse(pattern);
    // If the pattern is invalid, it is compiled to get the compiler's error message.
    if read.is_ok() {
        cost::check(pattern).map(drop)
    } else {
        build(pattern, false).map(|_| ()).map_err(|error| explain(pattern, &error))
    }
}

fn build(pattern: &str, multi_line: bool) -> Result<Regex, regex::Error> {
    builder(pattern, multi_line).build()
}

fn builder(pattern: &str, multi_line: bool) -> RegexBuilder {
    let mut builder = RegexBuilder::new(pattern);
    builder.multi_line(multi_line).size_limit(SIZE_LIMIT).dfa_size_limit(SIZE_LIMIT).nest_limit(NEST_LIMIT);
    builder
}

/// Returns the message for an error on one line, since the library's message draws the pattern over several
/// lines.
fn explain(pattern: &str, error: &regex::Error) -> String {
    let shown = truncate(pattern, 60);
    match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the regex `{shown}` is too large; make its repetitions smaller")
        }
        other => {
            let text = other.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            let variable = ["{query", "{local}", "{domain", "{value}", "{saved.", "{config."]
                .iter()
                .any(|variable| pattern.contains(variable));
            let hint = if variable { "; variables are not filled in at this place" } else { "" };
            format!("the regex `{shown}` is not valid: {reason}{hint}")
        }
    }
}
