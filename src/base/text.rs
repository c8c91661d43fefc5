//! Text from outside, made fit for a terminal, a spreadsheet, a JSON file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

/// What stands in for a character that a terminal would obey.
const REPLACEMENT: char = '\u{fffd}';

/// Whether a terminal obeys the character or shows what follows in another order.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` in one line, without anything that a terminal would obey.
pub fn plain(text: &str) -> Cow<'_, str> {
    if text.contains(is_obeyed) {
        let shown = text.chars().map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if is_obeyed(c) => REPLACEMENT,
            c => c,
        });
        Cow::Owned(shown.collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// What a spreadsheet takes for the begin of a formula. The full-width forms count: some fold them.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '|', '%', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A CSV cell: [`plain`], and neutralised where a spreadsheet would run it. Where the decimal sign is a comma,
/// spreadsheets take `;` for the sign between cells, quoted or not: what follows one is neutralised too.
pub fn cell(text: &str) -> String {
    let text = plain(text);
    let mut shown = String::with_capacity(text.len() + 1);
    for (index, part) in text.split(';').enumerate() {
        if index > 0 {
            shown.push(';');
        }
        // Before the blanks: some spreadsheets drop them. After quotes, too: they end with the cell before.
        if part.trim_start_matches(|c: char| c.is_whitespace() || c == '"').starts_with(FORMULA) {
            shown.push('\'');
        }
        shown.push_str(part);
    }
    shown
}

/// JSON in which what a terminal would obey is written as `\u…`: it can only stand inside strings.
/// (The line ends of a pretty form stay.)
pub fn json(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c != '\n' && is_obeyed(c);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            // All of them lie below U+FFFF.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// One JSON document, indented, with a line end.
///
/// # Errors
/// What `out` says.
pub fn write_json(out: &mut dyn Write, document: &impl serde::Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{}", json(&text))
}

/// One row of CSV (RFC 4180); its cells are fit for a spreadsheet already: see [`cell`].
///
/// # Errors
/// What `out` says.
pub fn write_csv(out: &mut dyn Write, row: &[impl AsRef<[u8]>]) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    writer.write_record(row).map_err(|error| match error.into_kind() {
        // As it was: who reads along may have gone, which is no failure.
        csv::ErrorKind::Io(error) => error,
        // A writer has no others for one row.
        other => io::Error::other(format!("{other:?}")),
    })?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert_eq!(
            plain("a\x1b[31mb\u{9b}c\u{202e}d\ne\u{7f}"),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d e\u{fffd}"
        );
        assert_eq!(json("{\"a\":\"\u{9b}\u{2066}é\"}"), "{\"a\":\"\\u009b\\u2066é\"}");
    }

    #[test]
    fn what_a_spreadsheet_would_run_is_neutralised() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "\u{ff1d}1", "|x", "%0A"] {
            assert!(cell(formula).starts_with('\''), "{formula:?}");
        }
        for harmless in ["", "a=b", "https://a.example/?q=-1", "名前", "a; b", "&amp;x", ";"] {
            assert_eq!(cell(harmless), harmless);
        }
        for (text, want) in [("x;=1", "x;'=1"), ("x; @A;-", "x;' @A;'-"), ("=1;\"+2", "'=1;'\"+2")] {
            assert_eq!(cell(text), want);
        }
    }

    proptest! {
        #[test]
        fn escaped_json_means_the_same_and_obeys_nothing(text in any::<String>()) {
            let plain_json = serde_json::to_string(&text).unwrap();
            let escaped = json(&plain_json);
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text.clone());
            prop_assert!(!escaped.contains(is_obeyed));
            prop_assert!(!cell(&text).contains(is_obeyed));
        }
    }
}
