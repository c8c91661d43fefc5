//! Reads an entry of a list: its members by name, each with the expected type.

use serde_json::{Map, Value};

/// The reason why an entry, or a part of it, is not imported.
pub(super) type Reason = String;

/// The members of one entry. A `null` counts as a missing member.
#[derive(Clone, Copy)]
pub(super) struct Fields<'v>(pub(super) &'v Map<String, Value>);

impl<'v> Fields<'v> {
    /// Returns the members of an entry.
    pub(super) fn of(value: &'v Value) -> Result<Self, Reason> {
        match value {
            Value::Object(members) => Ok(Self(members)),
            other => Err(format!("the entry is {}; expected an object", type_name(other))),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'v Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'v str>, Reason> {
        self.read(name, "a text", Value::as_str)
    }

    /// Returns a text that must exist and not be empty.
    pub(super) fn need(&self, name: &str) -> Result<&'v str, Reason> {
        match self.text(name)?.map(str::trim) {
            Some("") => Err(format!("`{name}` is empty")),
            Some(text) => Ok(text),
            None => Err(format!("`{name}` is missing")),
        }
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Reason> {
        Ok(self.read(name, "true or false", Value::as_bool)?.unwrap_or_default())
    }

    pub(super) fn map(&self, name: &str) -> Result<Option<&'v Map<String, Value>>, Reason> {
        self.read(name, "an object", Value::as_object)
    }

    /// Returns a text or a list of texts, without empty ones. A missing member gives no texts.
    pub(super) fn texts(&self, name: &str) -> Result<Vec<&'v str>, Reason> {
        let text = |value: &'v Value| match value {
            Value::String(text) => Ok(text.as_str()),
            other => Err(format!("`{name}` contains {}; expected texts", type_name(other))),
        };
        let mut texts: Vec<&str> = match self.get(name) {
            None => Vec::new(),
            Some(Value::Array(list)) => list.iter().map(text).collect::<Result<_, _>>()?,
            Some(one) => vec![text(one)?],
        };
        texts.retain(|text| !text.is_empty());
        Ok(texts)
    }

    /// Returns a status code or a list of them. A missing member gives no codes.
    pub(super) fn statuses(&self, name: &str) -> Result<Vec<u16>, Reason> {
        let status = |value: &Value| {
            let code = value.as_u64().and_then(|code| u16::try_from(code).ok());
            code.filter(|code| (100..=599).contains(code)).ok_or_else(|| {
                format!("`{name}` contains {}; expected status codes (100 to 599)", shown(value))
            })
        };
        match self.get(name) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => list.iter().map(status).collect(),
            Some(one) => Ok(vec![status(one)?]),
        }
    }

    fn read<T>(
        &self,
        name: &str,
        due: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>, Reason> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(it) => Ok(Some(it)),
                None => Err(format!("`{name}` is {}; expected {due}", type_name(value))),
            },
        }
    }
}

/// Returns the names and values of headers.
pub(super) fn pairs<'v>(name: &str, map: &'v Map<String, Value>) -> Result<Vec<(&'v str, String)>, Reason> {
    let pair = |(key, value): (&'v String, &'v Value)| match value {
        Value::String(text) => Ok((key.as_str(), text.clone())),
        Value::Number(number) => Ok((key.as_str(), number.to_string())),
        other => Err(format!("`{name}.{key}` is {}; expected a text", type_name(other))),
    };
    map.iter().map(pair).collect()
}

pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        other => type_name(other).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_wrong_type_is_reported_with_the_expected_one() {
        let value = json!({
            "n": 7, "t": "x", "l": ["a", "", 1], "o": {}, "z": null, "e": " ", "c": [200, 1000], "d": "200", "k": [404]
        });
        let fields = Fields::of(&value).unwrap();
        assert_eq!(fields.text("t"), Ok(Some("x")));
        assert_eq!(fields.text("z"), Ok(None));
        assert_eq!(fields.text("n"), Err("`n` is a number; expected a text".into()));
        assert_eq!(fields.need("missing"), Err("`missing` is missing".into()));
        assert_eq!(fields.need("e"), Err("`e` is empty".into()));
        assert_eq!(fields.flag("t"), Err("`t` is a text; expected true or false".into()));
        assert_eq!(fields.texts("t"), Ok(vec!["x"]));
        assert_eq!(fields.texts("l"), Err("`l` contains a number; expected texts".into()));
        assert_eq!(fields.map("t").unwrap_err(), "`t` is a text; expected an object");
        assert_eq!(fields.statuses("k"), Ok(vec![404]));
        assert_eq!(fields.statuses("c"), Err("`c` contains 1000; expected status codes (100 to 599)".into()));
        assert_eq!(
            fields.statuses("d"),
            Err("`d` contains a text; expected status codes (100 to 599)".into())
        );
        assert_eq!(Fields::of(&json!([])).err(), Some("the entry is an array; expected an object".into()));
    }
}
