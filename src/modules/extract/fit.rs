//! Gives metadata values the types that their names have, so that a name has one type in all modules.

use serde_json::Value;

use super::number::{integer, number};
use super::transform::date_time;
use super::valid::{email_address, host_name, web_address};
use crate::modules::definition::as_text;
use crate::modules::definition::{FieldType, field_type};

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
