//! Validates values by the type of their entity.

use std::net::IpAddr;

use serde_json::Value;
use url::Url;

use super::number::{integer, number};
use super::transform::date_time;
use crate::modules::definition::{FieldType, ResultType, as_text, field_type};
use crate::modules::query::{Query, SearchType};
use crate::modules::text::is_host_name;

/// The maximum number of characters in the name of a person or an account.
const MAX_NAME_CHARS: usize = 200;

/// Returns the value as it is shown, or `None` if it is not a valid entity of this type.
///
/// | type | valid value |
/// |---|---|
/// | `email` | an address that can be searched for, in its normal form |
/// | `domain` | a host name of two labels or more, in lower case, without the trailing dot |
/// | `subdomain` | a host name below the query's registrable domain, if the query has one |
/// | `ip_address` | an IPv4 or IPv6 address in its usual form |
/// | `url` | an absolute `http` or `https` address |
/// | `phone` | digits with separators, or with characters that hide some digits |
/// | `username`, `person_name` | one line of at most 200 characters, without markup or an address |
pub(crate) fn valid(result_type: ResultType, text: &str, query: &Query) -> Option<String> {
    let text = text.trim();
    match result_type {
        ResultType::Email => email_address(text),
        ResultType::Domain => host_name(text),
        ResultType::Subdomain => {
            // Subdomains of the whole registrable domain are valid, even if the query is a host in it.
            let zone = query.registrable().or(query.domain());
            host_name(text).filter(|name| zone.is_none_or(|zone| is_below(name, zone)))
        }
        ResultType::IpAddress => text.parse::<IpAddr>().ok().map(|address| address.to_string()),
        ResultType::Url => web_address(text),
        ResultType::Phone => is_phone(text).then(|| text.to_owned()),
        ResultType::Username => is_name(text).then(|| text.to_owned()),
        ResultType::PersonName => {
            (is_name(text) && text.chars().any(char::is_alphabetic)).then(|| text.to_owned())
        }
        _ => (!text.is_empty()).then(|| text.to_owned()),
    }
}

/// Returns an email address in its normal form.
pub(super) fn email_address(text: &str) -> Option<String> {
    // An address may contain a `*`, but in an address on a site it hides letters.
    if text.contains(['*', '•']) {
        return None;
    }
    Query::parse(SearchType::Email, text).ok().map(|it| it.normal().to_owned())
}

/// Returns a host name in its normal form: labels of letters, digits, hyphens and underscores, encoded with
/// IDNA.
pub(super) fn host_name(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let name = if name.is_ascii() { name.to_ascii_lowercase() } else { idna::domain_to_ascii(name).ok()? };
    let last = name.rsplit('.').next().unwrap_or_default();
    let fits = is_host_name(&name) && name.contains('.') && !last.bytes().all(|b| b.is_ascii_digit());
    fits.then_some(name)
}

fn is_below(name: &str, zone: &str) -> bool {
    name.strip_suffix(zone).is_some_and(|front| front.ends_with('.'))
}

/// Returns an absolute `http` or `https` address.
pub(super) fn web_address(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_web = matches!(&*text.split_once("://")?.0.to_ascii_lowercase(), "http" | "https");
    // The parser encodes characters such as spaces. An address without any of them stays as it was written.
    let is_plain = text.is_ascii() && !text.bytes().any(|b| b <= b' ' || b"<>\"\\^`{|}".contains(&b));
    is_web.then(|| if is_plain { text.to_owned() } else { url.into() })
}

fn is_phone(text: &str) -> bool {
    text.bytes().filter(u8::is_ascii_digit).count() >= 2
        && text.chars().count() <= 40
        && text.chars().all(|c| c.is_ascii_digit() || " +-./()*#xX•·\u{a0}".contains(c))
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.chars().count() <= MAX_NAME_CHARS
        && !text.contains(['\n', '<', '>'])
        && !text.contains("://")
}

/// The beginnings of times that mean "never" where a program had no time to give.
const NEVER: [&str; 2] = ["0001-", "1970-01-01T00:00:00Z"];

/// Returns the value as the type of its name, or `None` if it is not one. A name without a type keeps its value.
///
/// If a list is given for a name that has one value, it is the first that fits.
pub(super) fn fit(name: &str, value: Value) -> Option<Value> {
    let Some((field_type, is_list)) = field_type(name) else { return Some(value) };
    let elements = match value {
        Value::Array(elements) => elements,
        one => vec![one],
    };
    let mut fitting = elements.into_iter().filter_map(|element| one(field_type, element));
    if !is_list {
        return fitting.next();
    }
    let mut list = Vec::new();
    for value in fitting {
        if !list.contains(&value) {
            list.push(value);
        }
    }
    (!list.is_empty()).then_some(Value::Array(list))
}

fn one(field_type: FieldType, value: Value) -> Option<Value> {
    let text = as_text(&value)?;
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    match field_type {
        FieldType::Text => Some(Value::from(text)),
        FieldType::Id => (!value.is_boolean()).then_some(value),
        FieldType::Handle => {
            let handle = text.trim_start_matches('@');
            (!handle.is_empty() && !handle.contains(char::is_whitespace)).then(|| Value::from(handle))
        }
        FieldType::Email => email_address(text).map(Value::from),
        FieldType::Digest => {
            let is_digest = matches!(text.len(), 32 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
            is_digest.then(|| Value::from(text.to_ascii_lowercase()))
        }
        FieldType::Url => address(text).map(Value::from),
        FieldType::Date => {
            let date = date_time(text).filter(|_| !value.is_number())?;
            (!NEVER.iter().any(|never| date.starts_with(never))).then(|| Value::from(date))
        }
        FieldType::Count => count(&value),
        FieldType::Number => {
            if value.is_number() { Some(value) } else { number(text, false) }.filter(Value::is_number)
        }
        FieldType::Flag => flag(text).map(Value::from),
    }
}

/// Returns an absolute address. `//host/path` and `host.example/path` are completed with `https`.
fn address(text: &str) -> Option<String> {
    web_address(text).or_else(|| {
        let bare = text.strip_prefix("//").unwrap_or(text);
        let host = bare.split(['/', '?', '#']).next()?;
        host_name(host)?;
        web_address(&format!("https://{bare}"))
    })
}

fn count(value: &Value) -> Option<Value> {
    match value {
        Value::Number(given) => {
            let count = given.as_u64().or_else(|| integer(given.as_f64()?)?.try_into().ok());
            count.map(Value::from)
        }
        Value::String(text) => number(text, true).and_then(|number| count(&number)),
        _ => None,
    }
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_validated_by_type() {
        let query = Query::parse(SearchType::Domain, "example.com").unwrap();
        let long = format!("{}.example.com", "a".repeat(64));
        for (result_type, text, want) in [
            (ResultType::Email, "b***@example.org", None),
            (ResultType::Domain, "NS1.Example.NET.", Some("ns1.example.net")),
            (ResultType::Domain, "_spf.example.net", Some("_spf.example.net")),
            (ResultType::Domain, "bücher.example", Some("xn--bcher-kva.example")),
            (ResultType::Domain, "localhost", None),
            (ResultType::Domain, "192.0.2.1", None),
            (ResultType::Domain, "a b.example", None),
            (ResultType::Domain, "https://a.example/", None),
            (ResultType::Subdomain, "a._b.example.com", Some("a._b.example.com")),
            (ResultType::Subdomain, "notexample.com", None),
            (ResultType::Subdomain, "example.com.evil.net", None),
            (ResultType::Subdomain, "-a.example.com", None),
            (ResultType::Subdomain, long.as_str(), None),
            (ResultType::IpAddress, "192.0.2.256", None),
            (ResultType::IpAddress, "192.0.2.1:80", None),
            (ResultType::Url, "http://a.example/é b", Some("http://a.example/%C3%A9%20b")),
            (ResultType::Url, "javascript:alert(1)", None),
            (ResultType::Url, "ftp://a.example/", None),
            (ResultType::Phone, "+1 (202) 555-0101", Some("+1 (202) 555-0101")),
            (ResultType::Phone, "+1 •••-••-01", Some("+1 •••-••-01")),
            (ResultType::Phone, "call me", None),
            (ResultType::PersonName, " Ana Rivera ", Some("Ana Rivera")),
            (ResultType::PersonName, "<b>Ana</b>", None),
            (ResultType::PersonName, "12345", None),
            (ResultType::Username, "https://a.example/bob", None),
            (ResultType::Username, "bob 1", Some("bob 1")),
            (ResultType::Breach, "  ", None),
        ] {
            assert_eq!(valid(result_type, text, &query).as_deref(), want, "{result_type:?} {text}");
        }
        let host = Query::parse(SearchType::Domain, "www.example.co.uk").unwrap();
        assert!(valid(ResultType::Subdomain, "mail.example.co.uk", &host).is_some(), "of the same zone");
        assert!(valid(ResultType::Subdomain, "example.co.uk", &host).is_none());
        let person = Query::parse(SearchType::Username, "bob").unwrap();
        assert!(valid(ResultType::Subdomain, "a.example.net", &person).is_some(), "below what, nobody knows");
    }

    #[test]
    fn values_get_the_type_of_their_name() {
        for (name, value, want) in [
            ("display_name", json!(1234), json!("1234")),
            ("display_name", json!({"first": "Ana"}), Value::Null),
            ("display_name", json!(["", " Ana "]), json!("Ana")),
            ("languages", json!("en"), json!(["en"])),
            ("languages", json!(["en", null, "de", "en"]), json!(["en", "de"])),
            ("languages", json!([]), Value::Null),
            ("user_id", json!(7), json!(7)),
            ("user_id", json!("7"), json!("7")),
            ("user_id", json!(true), Value::Null),
            ("twitter", json!("@bob"), json!("bob")),
            ("twitter", json!("https://x.com/bob"), json!("https://x.com/bob")),
            ("twitter", json!("ask me"), Value::Null),
            ("email", json!("Bob@Example.org"), json!("Bob@example.org")),
            ("email", json!("b***@example.org"), Value::Null),
            ("emails", json!(["bob", "a@example.org"]), json!(["a@example.org"])),
            (
                "email_md5",
                json!("D41D8CD98F00B204E9800998ECF8427E"),
                json!("d41d8cd98f00b204e9800998ecf8427e"),
            ),
            ("email_md5", json!("d41d8"), Value::Null),
            ("website", json!("https://a.example/?q=1"), json!("https://a.example/?q=1")),
            ("website", json!("a.example/b"), json!("https://a.example/b")),
            ("website", json!("//a.example"), json!("https://a.example")),
            ("website", json!("none"), Value::Null),
            ("website", json!("me@a.example"), Value::Null),
            ("website", json!("javascript:alert(1)"), Value::Null),
            ("avatar_url", json!("/a.png"), Value::Null),
            ("screenshot_url", json!("i.example/a.png"), json!("https://i.example/a.png")),
            ("links", json!("https://a.example/"), json!(["https://a.example/"])),
            ("links", json!(["she/her", "a.example", 3]), json!(["https://a.example"])),
            ("created_at", json!("2020-01-02T03:04:05+02:00"), json!("2020-01-02T01:04:05Z")),
            ("created_at", json!("Jan 2, 2020"), json!("2020-01-02")),
            ("created_at", json!("last week"), Value::Null),
            ("created_at", json!("0001-01-01T00:00:00Z"), Value::Null),
            ("last_seen_at", json!("1970-01-01T00:00:00Z"), Value::Null),
            ("scanned_at", json!("2020-01-02"), json!("2020-01-02")),
            ("single_sign_on", json!(["Corp"]), json!(["Corp"])),
            ("created_at", json!(20_200_102), Value::Null),
            ("followers", json!("1,234"), json!(1234)),
            ("followers", json!("1.2K"), json!(1200)),
            ("followers", json!(3.0), json!(3)),
            ("followers", json!(3.5), Value::Null),
            ("followers", json!(-1), Value::Null),
            ("followers", json!("many"), Value::Null),
            ("followers", json!(true), Value::Null),
            ("karma", json!(-5), json!(-5)),
            ("rating", json!("4.5"), json!(4.5)),
            ("rating", json!("good"), Value::Null),
            ("verified", json!(1), json!(true)),
            ("verified", json!("False"), json!(false)),
            ("verified", json!("2020"), Value::Null),
            ("anything", json!({"a": [1]}), json!({"a": [1]})),
        ] {
            assert_eq!(fit(name, value.clone()).unwrap_or_default(), want, "{name} {value}");
        }
    }
}
