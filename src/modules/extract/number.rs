//! Numbers as people write them.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::modules::text::constant;

/// The digit zero of scripts that write numbers from left to right with ten digits in order.
const ZEROS: [u32; 16] = [
    0x660, 0x6f0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50, 0xed0, 0x1040,
    0x17e0, 0xff10,
];

/// Parses a number such as `1,234`, `1 234`, `1,5`, `1.2K` or `3M`, in the digits of any script. Returns `None` if the
/// number is not certain, as is `1.234`, which may be a fraction unless it `is_count`.
pub(super) fn number(text: &str, is_count: bool) -> Option<Value> {
    let text: String = text.trim().chars().map(plain).collect();
    let (unsigned, sign) = text.strip_prefix('-').map_or((text.as_str(), ""), |rest| (rest, "-"));
    let number = unsigned.trim_end_matches(|c: char| !c.is_ascii_digit());
    let (whole, fraction) = split_number(number, is_count)?;
    let factor = match &unsigned[number.len()..] {
        "" => 0,
        // In a shortened number both readings are usual: `1.234K` and `1,234K`.
        _ if fraction.is_empty() && number.contains([',', '.']) => return None,
        "k" | "K" | " k" | " K" => 3,
        "m" | "M" | " m" | " M" => 6,
        // With a space or a comma it may be a thousand in Turkish.
        "b" | "B" if !number.contains(',') => 9,
        _ => return None,
    };
    if factor == 0 && fraction.is_empty() {
        let number = format!("{sign}{whole}");
        return number
            .parse::<i64>()
            .map(Value::from)
            .or_else(|_| number.parse::<u64>().map(Value::from))
            .ok();
    }
    let number: f64 = format!("{sign}{whole}.{fraction}0e{factor}").parse().ok()?;
    match integer(number) {
        Some(whole) => Some(Value::from(whole)),
        None => serde_json::Number::from_f64(number).map(Value::Number),
    }
}

/// Returns a number without a fraction as an integer, if it is exact.
pub(super) fn integer(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "whole and far inside i64")]
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

/// Returns the plain form of a digit, a space or another character of a number.
fn plain(c: char) -> char {
    let code = u32::from(c);
    let digit = ZEROS.iter().find_map(|zero| code.checked_sub(*zero).filter(|digit| *digit < 10));
    match c {
        // The spaces, apostrophes and the Arabic comma that separate thousands.
        _ if c.is_whitespace() => ' ',
        '’' => '\'',
        '٬' => '_',
        'к' | 'К' => 'K',
        'м' | 'М' => 'M',
        _ => digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(c),
    }
}

/// The forms of numbers: the digits before the decimal separator, with one kind of separator of thousands, and those after
/// it. The last form is a number without separators of thousands.
static FORMS: LazyLock<[Regex; 7]> = LazyLock::new(|| {
    [
        r"([1-9]\d{0,2}(?: \d{3})+)(?:[.,](\d+))?",
        r"([1-9]\d{0,2}(?:'\d{3})+)(?:[.,](\d+))?",
        r"([1-9]\d{0,2}(?:_\d{3})+)(?:[.,](\d+))?",
        r"([1-9]\d{0,2}(?:\.\d{3})+)(?:,(\d+))?",
        r"([1-9]\d{0,2}(?:,\d{3})+)(?:\.(\d+))?",
        // Indian numbers have groups of two digits before the last one.
        r"([1-9]\d?(?:,\d{2})+,\d{3})(?:\.(\d+))?",
        r"(\d+)(?:[.,](\d+))?",
    ]
    .map(|form| constant(&format!(r"\A(?-u:{form})\z")))
});

/// Returns the digits before and after the decimal separator, without separators of thousands.
fn split_number(number: &str, is_count: bool) -> Option<(String, &str)> {
    let found = FORMS.iter().find_map(|form| form.captures(number))?;
    let (grouped, fraction) = (&found[1], found.get(2).map_or("", |digits| digits.as_str()));
    let is_uncertain = !is_count && fraction.is_empty() && grouped.matches('.').count() == 1;
    let whole = grouped.chars().filter(char::is_ascii_digit).collect();
    (!is_uncertain).then_some((whole, fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_right_or_left_out() {
        for (text, as_number, as_count) in [
            ("0", Some(0.0), Some(0.0)),
            ("-12", Some(-12.0), Some(-12.0)),
            ("1,234", Some(1234.0), Some(1234.0)),
            ("1.234", None, Some(1234.0)),
            ("0.123", Some(0.123), Some(0.123)),
            ("4,5", Some(4.5), Some(4.5)),
            ("4.50", Some(4.5), Some(4.5)),
            ("1234.567", Some(1234.567), Some(1234.567)),
            ("1,5K", Some(1500.0), Some(1500.0)),
            ("1.2k", Some(1200.0), Some(1200.0)),
            ("1,5 К", Some(1500.0), Some(1500.0)),
            ("2,3M", Some(2_300_000.0), Some(2_300_000.0)),
            ("12K", Some(12_000.0), Some(12_000.0)),
            ("1.234K", None, None),
            ("1,234M", None, None),
            ("1.2B", Some(1.2e9), Some(1.2e9)),
            ("1,2B", None, None),
            ("12 B", None, None),
            ("1,2 Mio.", None, None),
            ("1 234", Some(1234.0), Some(1234.0)),
            ("1\u{a0}234\u{202f}567", Some(1_234_567.0), Some(1_234_567.0)),
            ("1'234’567", Some(1_234_567.0), Some(1_234_567.0)),
            ("1_000", Some(1000.0), Some(1000.0)),
            ("12.345.678", Some(12_345_678.0), Some(12_345_678.0)),
            ("12,34,567", Some(1_234_567.0), Some(1_234_567.0)),
            ("1.234,5", Some(1234.5), Some(1234.5)),
            ("1 234,5", Some(1234.5), Some(1234.5)),
            ("1,234.5", Some(1234.5), Some(1234.5)),
            ("1,234,5", None, None),
            ("1.2.3", None, None),
            ("12 34", None, None),
            ("1, 234", None, None),
            ("1 234.567", Some(1234.567), Some(1234.567)),
            ("٤٢", Some(42.0), Some(42.0)),
            ("۱٬۲۳۴", Some(1234.0), Some(1234.0)),
            ("१,२३४", Some(1234.0), Some(1234.0)),
            ("１２３", Some(123.0), Some(123.0)),
            ("٤٫٥", None, None),
            ("5²", None, None),
            ("1e5", None, None),
            ("12-34", None, None),
            ("", None, None),
            ("K", None, None),
            (".5", None, None),
            ("99999999999999999999999", None, None),
        ] {
            let found = [false, true].map(|is_count| number(text, is_count)?.as_f64());
            assert_eq!(found, [as_number, as_count], "{text}");
        }
    }
}
