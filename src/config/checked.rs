//! Value parsers for clap whose errors name the option and its variable, and never repeat a secret.

use std::ffi::OsStr;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};

use crate::base::address::without_credentials;

/// The most characters of a refused value that a message repeats.
const SHOWN_CHARS: usize = 80;

/// A value parser around a function whose error says what was expected.
#[derive(Clone)]
pub(crate) struct Checked<F> {
    parse: F,
    secret: bool,
}

/// Returns a parser for a value that messages may repeat.
pub(crate) fn checked<F>(parse: F) -> Checked<F> {
    Checked { parse, secret: false }
}

/// Returns a parser for a secret value, which messages never repeat. The errors of `parse` must not contain
/// it.
pub(crate) fn secret<F>(parse: F) -> Checked<F> {
    Checked { parse, secret: true }
}

impl<F, T, E> TypedValueParser for Checked<F>
where
    F: Fn(&str) -> Result<T, E> + Clone + Send + Sync + 'static,
    T: Clone + Send + Sync + 'static,
    E: Into<String>,
{
    type Value = T;

    fn parse_ref(&self, cmd: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let parsed = match value.to_str() {
            Some(text) => (self.parse)(text).map_err(Into::into),
            None => Err("not valid UTF-8".to_owned()),
        };
        parsed.map_err(|reason| {
            let given = if self.secret { None } else { Some(value.to_string_lossy()) };
            // clap prints a raw message unchanged, so the line end is added here.
            let message = refusal(&option_name(arg), given.as_deref(), &reason) + "\n";
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(cmd)
        })
    }
}

/// Returns the name of an option for messages, such as `--listen <ADDRESS> (SIGHTLINE_LISTEN)`.
fn option_name(arg: Option<&Arg>) -> String {
    let Some(arg) = arg else { return "an option".to_owned() };
    match arg.get_env().and_then(OsStr::to_str) {
        Some(variable) => format!("{arg} ({variable})"),
        None => arg.to_string(),
    }
}

/// Returns the message for a refused value. Secrets pass `None` for `given`.
pub(crate) fn refusal(option: &str, given: Option<&str>, reason: &str) -> String {
    let given = given.map(without_credentials).map_or_else(String::new, |given| {
        // The debug form escapes control characters, which a terminal would interpret.
        let shown: String = given.chars().take(SHOWN_CHARS).collect();
        let rest = if shown.len() < given.len() { "…" } else { "" };
        format!("{shown:?}{rest} ")
    });
    format!("invalid value {given}for {option}: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_escapes_and_cuts_what_was_given() {
        assert_eq!(refusal("--x", Some("a\x1b[2J"), "no"), "invalid value \"a\\u{1b}[2J\" for --x: no");
        let long = "é".repeat(SHOWN_CHARS + 1);
        assert!(refusal("--x", Some(&long), "no").contains("é\"… for"));
        assert_eq!(refusal("--x", None, "no"), "invalid value for --x: no");
        let address = "https://u:p@ss@h.example/";
        assert!(refusal("--x", Some(address), "no").contains("\"https://…@h.example/\" for"));
    }
}
