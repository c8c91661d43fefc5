//! The transforms that an extractor can name.

use std::sync::LazyLock;

use jiff::fmt::{rfc2822, strtime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::number::number;
use crate::base::encoding::percent_decode_lossy;
use crate::modules::definition::{MAX_VALUES, Transform, as_text};
use crate::modules::html::fragment_text;
use crate::modules::tables;
use crate::modules::text::{constant, squeeze};

/// Returns the elements of an array, which are transformed one by one, or else the value itself.
pub(super) fn elements(value: Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list.into_iter().take(MAX_VALUES).flat_map(elements).collect(),
        other => vec![other],
    }
}

/// Applies one transform. A value that the transform cannot read stays unchanged. `base` is the address of the page that
/// contains the value.
pub(crate) fn apply(transform: Transform, value: Value, base: Option<&Url>) -> Value {
    let Some(text) = as_text(&value) else { return value };
    let changed = match transform {
        Transform::Trim => Some(squeeze(&text).into()),
        Transform::Lower => Some(text.to_lowercase().into()),
        Transform::AbsoluteUrl => base.and_then(|base| Some(base.join(text.trim()).ok()?.as_str().into())),
        Transform::HtmlText => Some(fragment_text(&text).into()),
        Transform::UrlDecode => Some(percent_decode_lossy(&text).into()),
        Transform::JsonText => serde_json::from_str(&format!("\"{text}\"")).ok(),
        Transform::UrlHost => parse_url(&text).and_then(|url| Some(url.host_str()?.into())),
        Transform::LastPathSegment => last_path_segment(&text).map(Value::from),
        Transform::StripWildcard => text.strip_prefix("*.").map(Value::from),
        Transform::StripDot => text.strip_suffix('.').map(Value::from),
        Transform::StripAt => text.trim_start().strip_prefix('@').map(Value::from),
        Transform::StripMailto => Some(strip_mailto(&text).into()),
        Transform::CloudflareEmail => cloudflare_email(&text).map(Value::from),
        Transform::LastWord => text.split_whitespace().next_back().map(Value::from),
        Transform::UnixTime => unix_time(&text, 1.0),
        Transform::UnixMillis => unix_time(&text, 1000.0),
        Transform::DateTime => date_time(text.trim()).map(Value::from),
        Transform::Number => number(&text, false),
    };
    changed.unwrap_or(value)
}

/// Parses a URL. The scheme may be missing.
fn parse_url(text: &str) -> Option<Url> {
    let text = text.trim();
    // The parser removes line ends and tabs, and would join the names on both sides.
    if text.contains(char::is_control) {
        return None;
    }
    let text = text.strip_prefix("//").unwrap_or(text);
    match Url::parse(text) {
        Ok(url) if url.has_host() => Some(url),
        // `example.org:443` would be parsed as a scheme.
        _ => Url::parse(&format!("https://{text}")).ok(),
    }
}

fn last_path_segment(text: &str) -> Option<String> {
    let url = parse_url(text)?;
    let segment = url.path_segments()?.rfind(|segment| !segment.is_empty())?;
    Some(percent_decode_lossy(segment))
}

fn strip_mailto(text: &str) -> &str {
    let text = text.trim();
    let is_mailto = text.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:"));
    let address = if is_mailto { &text[7..] } else { text };
    address.split('?').next().unwrap_or(address)
}

/// Returns the address in an attribute `data-cfemail`: in hex, a byte and the address, each byte of which is xored with it.
fn cloudflare_email(text: &str) -> Option<String> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    let bytes = (0..text.len()).step_by(2).map(byte).collect::<Option<Vec<u8>>>()?;
    let (key, hidden) = bytes.split_first()?;
    String::from_utf8(hidden.iter().map(|byte| byte ^ key).collect()).ok()
}

/// Returns the time of a Unix timestamp with the given number of units per second.
fn unix_time(text: &str, units: f64) -> Option<Value> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite())?;
    // This is far within the range of i64. jiff rejects times after the year 9999.
    let bounded = (number * (1000.0 / units)).clamp(-1e15, 1e15);
    #[expect(clippy::cast_possible_truncation, reason = "clamped just above")]
    let at = Timestamp::from_millisecond(bounded as i64).ok()?;
    Some(Value::from(at.to_string()))
}

/// The usual forms of dates and times, as `strftime` writes them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Dates {
    zoned: Vec<&'static str>,
    times: Vec<&'static str>,
    days: Vec<&'static str>,
}

static DATES: LazyLock<Dates> = LazyLock::new(|| tables::read(include_str!("../catalog/tables/dates.json")));

/// An ordinal number, such as `18th`.
static ORDINAL: LazyLock<Regex> = LazyLock::new(|| constant(r"\b([0-9]+)(?:st|nd|rd|th)\b"));

/// Returns a time as RFC 3339 in UTC, or a date if no time is given.
pub(super) fn date_time(text: &str) -> Option<String> {
    let exact: Option<Timestamp> = text.parse().ok();
    let mailed = || Some(rfc2822::parse(text).ok()?.timestamp());
    let zoned = |form: &&str| strtime::parse(form, text).and_then(|parsed| parsed.to_timestamp()).ok();
    if let Some(at) = exact.or_else(mailed).or_else(|| DATES.zoned.iter().find_map(zoned)) {
        return Some(at.to_string());
    }
    let text = ORDINAL.replace_all(text, "$1");
    let bare = text.trim_end_matches(" UTC").trim_end_matches(" GMT").trim();
    let time =
        |form: &&str| civil::DateTime::strptime(form, bare).and_then(|at| at.to_zoned(TimeZone::UTC)).ok();
    if let Some(at) = DATES.times.iter().find_map(time) {
        return Some(at.timestamp().to_string());
    }
    let day = |form: &&str| civil::Date::strptime(form, bare).ok();
    DATES.days.iter().find_map(day).map(|day| day.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use Transform::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn each_transform_changes_its_value() {
        let base = Url::parse("https://site.example/u/bob").unwrap();
        for (transform, value, want) in [
            (Trim, json!(" a \n b "), json!("a b")),
            (Lower, json!("ÄB"), json!("äb")),
            (AbsoluteUrl, json!("/a.png"), json!("https://site.example/a.png")),
            (AbsoluteUrl, json!("b?c"), json!("https://site.example/u/b?c")),
            (AbsoluteUrl, json!("//cdn.example/x"), json!("https://cdn.example/x")),
            (AbsoluteUrl, json!("http://o.example"), json!("http://o.example/")),
            (AbsoluteUrl, json!("https://["), json!("https://[")),
            (HtmlText, json!("<p>a &amp; <b>b</b></p>"), json!("a & b")),
            (UrlDecode, json!("a%20b%zz%4"), json!("a b%zz%4")),
            (UrlHost, json!("HTTPS://Ex.org:8/a"), json!("ex.org")),
            (UrlHost, json!("matrix.ex.org:443"), json!("matrix.ex.org")),
            (UrlHost, json!("//ex.org/x"), json!("ex.org")),
            (LastPathSegment, json!("https://ex.org/u/b%C3%A9/?q"), json!("bé")),
            (StripWildcard, json!("*.a.b"), json!("a.b")),
            (StripDot, json!("a.b."), json!("a.b")),
            (StripAt, json!("@bob"), json!("bob")),
            (StripMailto, json!("MAILTO:a@b.c?subject=x"), json!("a@b.c")),
            (CloudflareEmail, json!("422302206c21"), json!("a@b.c")),
            (CloudflareEmail, json!("422302206c2"), json!("422302206c2")),
            (CloudflareEmail, json!("bü"), json!("bü")),
            (LastWord, json!("10 mx.example."), json!("mx.example.")),
            (JsonText, json!("b\\u00fc\\nc"), json!("bü\nc")),
            (JsonText, json!("\\x \", \""), json!("\\x \", \"")),
            (UrlHost, json!("http://a\nb.example/"), json!("http://a\nb.example/")),
            (UnixTime, json!(1_700_000_000), json!("2023-11-14T22:13:20Z")),
            (UnixTime, json!("1700000000.5"), json!("2023-11-14T22:13:20.5Z")),
            (UnixTime, json!(1e300), json!(1e300)),
            (UnixMillis, json!(1_700_000_000_123_i64), json!("2023-11-14T22:13:20.123Z")),
            (UnixTime, json!("soon"), json!("soon")),
            (Number, json!("many"), json!("many")),
            (Number, json!(1.234), json!(1.234)),
            (Lower, json!({"a": 1}), json!({"a": 1})),
        ] {
            assert_eq!(apply(transform, value.clone(), Some(&base)), want, "{transform:?} {value}");
        }
        assert_eq!(elements(json!(["a", ["b"]])), [json!("a"), json!("b")]);
    }

    #[test]
    fn common_date_formats_become_rfc_3339() {
        for (text, want) in [
            ("2020-01-02T03:04:05+02:00", "2020-01-02T01:04:05Z"),
            ("Thu, 02 Jan 2020 03:04:05 GMT", "2020-01-02T03:04:05Z"),
            ("Thu Jan 02 03:04:05 +0000 2020", "2020-01-02T03:04:05Z"),
            ("2020-01-02 03:04:05", "2020-01-02T03:04:05Z"),
            ("2020-01-02 03:04:05 UTC", "2020-01-02T03:04:05Z"),
            ("2020-01-02T03:04:05.123", "2020-01-02T03:04:05.123Z"),
            ("2020-01-02", "2020-01-02"),
            ("20200102", "2020-01-02"),
            ("January 2, 2020", "2020-01-02"),
            ("2 Jan 2020", "2020-01-02"),
            ("January 2nd, 2020", "2020-01-02"),
            ("22nd January 2020", "2020-01-22"),
            ("02.01.2020", "2020-01-02"),
            // WHOIS texts of .pl, .ie, .is and .be.
            ("2020.01.02 03:04:05", "2020-01-02T03:04:05Z"),
            ("02-January-2020", "2020-01-02"),
            ("January 2 2020", "2020-01-02"),
            ("Thu Jan 2 2020", "2020-01-02"),
        ] {
            assert_eq!(date_time(text).as_deref(), Some(want), "{text}");
        }
        assert_eq!(date_time("last week"), None);
    }

    proptest! {
        #[test]
        fn no_transform_panics(text in any::<String>()) {
            for transform in [Trim, Lower, AbsoluteUrl, HtmlText, UrlDecode, JsonText, UrlHost, LastPathSegment, StripWildcard,
                StripDot, StripAt, StripMailto, CloudflareEmail, LastWord, UnixTime, UnixMillis, DateTime, Number] {
                let _ = apply(transform, Value::from(text.as_str()), Url::parse(&text).ok().as_ref());
            }
        }

    }
}
