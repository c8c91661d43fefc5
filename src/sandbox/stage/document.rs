//! Builds JSON documents pointer by pointer.

use serde_json::{Map, Value};

/// No array is padded further than this.
const MAX_INDEX: usize = 64;
/// No `*` gives more elements than this.
const MAX_ELEMENTS: usize = 64;

/// A pointer in parts: `*` means every element or member.
pub(super) fn segments(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect()
}

/// Puts `value` where the pointer leads, building what is missing on the way. Null counts as missing.
/// `false`: something else stands in the way; the document is unchanged then.
pub(super) fn place(document: &mut Value, pointer: &[String], value: &Value) -> bool {
    let Some((first, rest)) = pointer.split_first() else {
        return put(document, value);
    };
    match (first.as_str(), &mut *document) {
        ("*", Value::Object(members)) => place_in_any_member(members, rest, value),
        ("*", Value::Array(elements)) => place_in_any_element(elements, rest, value),
        ("*", Value::Null) => build(document, Value::Array(vec![Value::Null]), pointer, value),
        (key, Value::Object(members)) => place_in_member(members, key, rest, value),
        (key, Value::Array(elements)) => match key.parse::<usize>() {
            Ok(index) if index <= MAX_INDEX => place_at_index(elements, index, rest, value),
            _ => false,
        },
        (key, Value::Null) => {
            let empty = match key.parse::<usize>() {
                Ok(_) => Value::Array(Vec::new()),
                Err(_) => Value::Object(Map::new()),
            };
            build(document, empty, pointer, value)
        }
        _ => false,
    }
}

/// Joins two documents where neither contradicts the other; `None` where one does.
pub(super) fn merged(one: &Value, other: &Value) -> Option<Value> {
    match (one, other) {
        (Value::Null, any) | (any, Value::Null) => Some(any.clone()),
        (Value::Object(one), Value::Object(other)) => {
            let mut joined = one.clone();
            for (key, value) in other {
                let known = joined.get(key).unwrap_or(&Value::Null);
                let value = merged(known, value)?;
                joined.insert(key.clone(), value);
            }
            Some(Value::Object(joined))
        }
        (Value::Array(one), Value::Array(other)) => {
            let length = one.len().max(other.len());
            let at = |list: &[Value], index: usize| list.get(index).cloned().unwrap_or(Value::Null);
            (0..length).map(|n| merged(&at(one, n), &at(other, n))).collect::<Option<_>>().map(Value::Array)
        }
        _ => (one == other).then(|| one.clone()),
    }
}

/// The values that a pointer selects.
pub(super) fn select<'a>(document: &'a Value, pointer: &[String]) -> Vec<&'a Value> {
    let Some((first, rest)) = pointer.split_first() else { return vec![document] };
    let inner: Vec<&Value> = match (first.as_str(), document) {
        ("*", Value::Object(members)) => members.values().collect(),
        ("*", Value::Array(elements)) => elements.iter().collect(),
        (key, Value::Object(members)) => members.get(key).into_iter().collect(),
        (key, Value::Array(elements)) => {
            key.parse::<usize>().ok().and_then(|n| elements.get(n)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    inner.into_iter().flat_map(|value| select(value, rest)).collect()
}

/// The one value where a pointer without `*` leads.
pub(super) fn leaf<'a>(document: &'a mut Value, pointer: &[String]) -> Option<&'a mut Value> {
    pointer.iter().try_fold(document, |value, segment| match value {
        Value::Object(members) => members.get_mut(segment),
        Value::Array(elements) => elements.get_mut(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

/// Makes the array or object where the pointer leads have at least `length` elements or members.
pub(super) fn stretch(document: &mut Value, pointer: &[String], length: usize) {
    let Some((first, rest)) = pointer.split_first() else {
        return match document {
            Value::Array(elements) => {
                let model = elements.last().cloned().unwrap_or_else(|| Value::from("sample"));
                elements.resize(elements.len().max(length), model);
            }
            Value::Object(members) => {
                for number in members.len()..length {
                    members.insert(format!("sample{number}"), Value::from("sample"));
                }
            }
            _ => {}
        };
    };
    match document {
        Value::Object(members) if first == "*" => members.values_mut().for_each(|v| stretch(v, rest, length)),
        Value::Array(elements) if first == "*" => elements.iter_mut().for_each(|v| stretch(v, rest, length)),
        Value::Object(members) => {
            if let Some(value) = members.get_mut(first) {
                stretch(value, rest, length);
            }
        }
        Value::Array(elements) => {
            if let Some(value) = first.parse::<usize>().ok().and_then(|n| elements.get_mut(n)) {
                stretch(value, rest, length);
            }
        }
        _ => {}
    }
}

fn put(document: &mut Value, value: &Value) -> bool {
    match merged(document, value) {
        Some(joined) => {
            *document = joined;
            true
        }
        None => false,
    }
}

fn build(document: &mut Value, empty: Value, pointer: &[String], value: &Value) -> bool {
    let mut built = empty;
    let placed = place(&mut built, pointer, value);
    if placed {
        *document = built;
    }
    placed
}

fn place_in_member(members: &mut Map<String, Value>, key: &str, rest: &[String], value: &Value) -> bool {
    let mut member = members.get(key).cloned().unwrap_or(Value::Null);
    let placed = place(&mut member, rest, value);
    if placed {
        members.insert(key.to_owned(), member);
    }
    placed
}

fn place_in_any_member(members: &mut Map<String, Value>, rest: &[String], value: &Value) -> bool {
    members.values_mut().any(|member| place(member, rest, value)) || {
        let fresh = format!("sample{}", members.len());
        members.len() < MAX_ELEMENTS && place_in_member(members, &fresh, rest, value)
    }
}

fn place_in_any_element(elements: &mut Vec<Value>, rest: &[String], value: &Value) -> bool {
    if elements.iter_mut().any(|element| place(element, rest, value)) {
        return true;
    }
    let mut fresh = Value::Null;
    let placed = elements.len() < MAX_ELEMENTS && place(&mut fresh, rest, value);
    if placed {
        elements.push(fresh);
    }
    placed
}

fn place_at_index(elements: &mut Vec<Value>, index: usize, rest: &[String], value: &Value) -> bool {
    let mut element = elements.get(index).cloned().unwrap_or(Value::Null);
    let placed = place(&mut element, rest, value);
    if placed {
        if elements.len() <= index {
            elements.resize(index + 1, Value::Null);
        }
        elements[index] = element;
    }
    placed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn built(parts: &[(&str, Value)]) -> Value {
        let mut document = Value::Null;
        for (pointer, value) in parts {
            assert!(place(&mut document, &segments(pointer), value), "{pointer} in {document}");
        }
        document
    }

    #[test]
    fn pointers_build_what_they_lead_to() {
        assert_eq!(built(&[("", json!(5))]), json!(5));
        assert_eq!(built(&[("/a/b", json!(1)), ("/a/c", json!(2))]), json!({"a": {"b": 1, "c": 2}}));
        assert_eq!(built(&[("/0/3", json!("x"))]), json!([[null, null, null, "x"]]));
        assert_eq!(built(&[("/a~1b/m~0n", json!(1))]), json!({"a/b": {"m~n": 1}}));
        assert_eq!(built(&[("/a", json!({})), ("/a/*/b", json!(1))]), json!({"a": {"sample0": {"b": 1}}}));
    }

    #[test]
    fn a_star_takes_the_first_element_that_agrees_or_a_new_one() {
        let events = built(&[
            ("/events/*", json!({"action": "registration"})),
            ("/events/*", json!({"action": "registration", "date": "2009"})),
            ("/events/*", json!({"action": "expiration"})),
        ]);
        let expected =
            json!({"events": [{"action": "registration", "date": "2009"}, {"action": "expiration"}]});
        assert_eq!(events, expected);
        assert_eq!(built(&[("/t/*", json!("x")), ("/t/*", json!("y"))]), json!({"t": ["x", "y"]}));
    }

    #[test]
    fn what_stands_in_the_way_stays() {
        let mut document = json!({"a": 1});
        assert!(!place(&mut document, &segments("/a"), &json!(2)));
        assert!(!place(&mut document, &segments("/a/b"), &json!(2)));
        assert!(!place(&mut json!([]), &segments("/99999999"), &json!(2)));
        assert_eq!(document, json!({"a": 1}));
    }

    #[test]
    fn lists_are_stretched_to_a_length() {
        let mut document = json!({"a": [{"b": 1}], "c": {}});
        stretch(&mut document, &segments("/a"), 3);
        stretch(&mut document, &segments("/c"), 1);
        assert_eq!(document, json!({"a": [{"b": 1}, {"b": 1}, {"b": 1}], "c": {"sample0": "sample"}}));
        assert_eq!(select(&document, &segments("/a/*/b")).len(), 3);
    }
}
