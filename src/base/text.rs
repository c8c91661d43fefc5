//! Text from outside, made safe for a terminal, a spreadsheet or a JSON file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The replacement for a control character.
const REPLACEMENT: char = '\u{fffd}';

/// Returns whether a terminal interprets the character, or shows what follows in another order.
fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}')
}

/// Returns `text` with some of its characters replaced.
fn replaced(
    text: &str,
    is_replaced: impl Fn(char) -> bool + Copy,
    by: impl Fn(char) -> char,
) -> Cow<'_, str> {
    if !text.contains(is_replaced) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|c| if is_replaced(c) { by(c) } else { c }).collect())
}

/// Returns `text` in one line, with every character replaced that a terminal would interpret.
pub fn plain(text: &str) -> Cow<'_, str> {
    replaced(text, is_obeyed, |c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { REPLACEMENT })
}

/// Returns `text` with every character replaced that a person does not see and a program reads: control characters
/// except line ends and tabs, marks that change the order of text, tags and further variation selectors, and two characters
/// that XML does not have.
pub fn visible(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| {
        is_obeyed(c) && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e01ef}')
    };
    replaced(text, is_hidden, |_| REPLACEMENT)
}

/// The most characters without their own width (combining marks, joiners, variation selectors) that may follow one
/// with a width. It is enough for every living script, and too few to write over neighbouring lines.
const MOST_ZERO_WIDTH: usize = 4;

/// Returns [`plain`] text for one line of a terminal. At most four characters without their own width follow one
/// with a width, and none begins the text; the others are left out.
pub fn line(text: &str) -> String {
    let (text, mut zero_width_left) = (plain(text), 0);
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.width() != Some(0) {
            zero_width_left = MOST_ZERO_WIDTH;
        } else if zero_width_left > 0 {
            zero_width_left -= 1;
        } else {
            continue;
        }
        shown.push(c);
    }
    shown
}

/// Returns [`line()`], padded with spaces to a number of columns.
pub fn padded(text: &str, columns: usize) -> String {
    let shown = line(text);
    let blanks = columns.saturating_sub(shown.width());
    shown + &" ".repeat(blanks)
}

/// Returns the number of columns that [`line()`] takes in a terminal.
pub fn columns(text: &str) -> usize {
    line(text).width()
}

/// Returns [`line()`], cut to a number of columns. A text that is cut ends with `…`.
pub fn cut(text: &str, columns: usize) -> String {
    let shown = line(text);
    if shown.width() <= columns {
        return shown;
    }
    let (mut kept, mut left) = (String::new(), columns.saturating_sub(1));
    for c in shown.chars() {
        let width = c.width().unwrap_or_default();
        if width > left {
            break;
        }
        left -= width;
        kept.push(c);
    }
    if columns > 0 { format!("{}…", kept.trim_end()) } else { kept }
}

/// Characters with which a formula of a spreadsheet can begin. The full-width forms count because some spreadsheets
/// fold them.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '|', '%', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Returns a CSV cell: [`plain`] text, neutralised where a spreadsheet would run it. Where the decimal sign is a comma,
/// spreadsheets separate cells at `;`, quoted or not, so the text after a `;` is neutralised too.
pub fn cell(text: &str) -> String {
    let neutralised = |part: &str| {
        // Leading spaces are ignored because some spreadsheets drop them, and quotes because they end with the cell
        // before.
        let begins = part.trim_start_matches(|c: char| c.is_whitespace() || c == '"');
        if begins.starts_with(FORMULA) { format!("'{part}") } else { part.to_owned() }
    };
    plain(text).split(';').map(neutralised).collect::<Vec<_>>().join(";")
}

/// The number of bytes in which [`json`] looks for the beginning of a character at once.
const CHUNK: usize = 64;

/// Escapes the characters of a JSON text that a terminal would interpret. They can only stand inside strings. The line
/// ends of an indented document stay.
pub fn json(text: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c != '\n' && is_obeyed(c);
    // All begin with one of these bytes. It is faster to look for them, many at once, and most documents have few.
    let may_begin = |byte: u8| byte < b' ' && byte != b'\n' || matches!(byte, 0x7f | 0xc2 | 0xd8 | 0xe2);
    let begins = |at: usize| may_begin(text.as_bytes()[at]) && text[at..].starts_with(is_escaped);
    let mut chunks = text.as_bytes().chunks(CHUNK).enumerate();
    let is_escaped_in = |(index, chunk): (usize, &[u8])| {
        chunk.iter().fold(false, |found, byte| found | may_begin(*byte))
            && (index * CHUNK..index * CHUNK + chunk.len()).any(begins)
    };
    if !chunks.any(is_escaped_in) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_escaped(c) {
            // All of these characters lie below U+FFFF.
            let _ = write!(escaped, "\\u{:04x}", u32::from(c));
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Writes one JSON document, indented, with a line end.
///
/// # Errors
/// The failure of `out`.
pub fn write_json(out: &mut dyn Write, document: &impl serde::Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(document)?;
    writeln!(out, "{}", json(&text))
}

/// Writes one row of CSV (RFC 4180) whose cells were made with [`cell`].
///
/// # Errors
/// The failure of `out`.
pub fn write_csv(out: &mut dyn Write, row: &[impl AsRef<[u8]>]) -> io::Result<()> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    writer.write_record(row).map_err(|error| match error.into_kind() {
        // Kept as it is: a reader that closed its end is not a failure, and callers tell by the kind.
        csv::ErrorKind::Io(error) => error,
        // Writing a row has no other failures.
        other => io::Error::other(format!("{other:?}")),
    })?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(
            plain("a\x1b[31mb\u{9b}c\u{202e}d\ne\u{7f}"),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d e\u{fffd}"
        );
        assert_eq!(json("{\"a\":\"\u{9b}\u{2066}é\"}"), "{\"a\":\"\\u009b\\u2066é\"}");
        let mut obeyed = ('\0'..=char::MAX).filter(|c| *c != '\n' && is_obeyed(*c));
        assert!(obeyed.all(|c| {
            (0..2 * CHUNK).all(|at| matches!(json(&format!("{}{c} é", " ".repeat(at))), Cow::Owned(_)))
        }));
    }

    #[test]
    fn marks_and_joiners_are_limited_in_a_line() {
        let zalgo = format!("a{}b", "\u{0301}\u{0489}".repeat(50));
        assert_eq!(line(&zalgo), "a\u{0301}\u{0489}\u{0301}\u{0489}b");
        assert_eq!(line(&"\u{0301}".repeat(9)), "", "nothing to stand on");
        assert_eq!(line(&format!("x{}", "\u{200d}\u{200b}\u{feff}".repeat(1000))).chars().count(), 5);
        assert_eq!(line("a\u{202e}b\u{206a}c"), "a\u{fffd}b\u{fffd}c");
        // Vietnamese, Hindi, Persian, Thai, a family of three and a decomposed Hangul syllable stay unchanged.
        for text in ["Ta\u{0302}\u{0301}t", "क्षि", "می\u{200c}خواهم", "ที่", "👨\u{200d}👩\u{200d}👧", "각"]
        {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn a_padded_text_has_its_columns_in_every_script() {
        for text in ["plain", "名前", "e\u{0301}", "", "\u{0301}\u{0301}"] {
            assert_eq!(padded(text, 12).width(), 12, "{text:?}");
        }
        assert_eq!((padded("名前", 6).as_str(), columns("名前")), ("名前  ", 4));
        assert_eq!(padded("longer", 3), "longer");
    }

    #[test]
    fn a_cut_text_fits_its_columns_in_every_script() {
        for text in [
            "plain text",
            "名前名前名前",
            "e\u{0301}e\u{0301}e\u{0301}e\u{0301}e\u{0301}e\u{0301}",
            "👨\u{200d}👩\u{200d}👧 family",
        ] {
            for columns in 0..8 {
                assert!(cut(text, columns).width() <= columns, "{text:?} {columns}");
            }
        }
        assert_eq!((cut("plain text", 7), cut("plain", 5)), ("plain…".to_owned(), "plain".to_owned()));
    }

    #[test]
    fn formulas_are_neutralised() {
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
        fn escaped_json_is_equal_and_has_no_control_characters(text in any::<String>()) {
            let plain_json = serde_json::to_string(&text).unwrap();
            let escaped = json(&plain_json);
            prop_assert_eq!(serde_json::from_str::<String>(&escaped).unwrap(), text.clone());
            prop_assert!(!escaped.contains(is_obeyed));
            prop_assert!(!cell(&text).contains(is_obeyed));
            prop_assert!(!line(&text).contains(is_obeyed));
        }
    }
}
