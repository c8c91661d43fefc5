//! The structure of the document, as lines of text.

use serde_json::Value;

/// What only people read: `everything_has_a_description_and_an_example` proves that it exists.
const TEXTS: [&str; 4] = ["description", "summary", "example", "examples"];
/// Keywords of a schema whose values are schemas.
const NESTED: [&str; 7] =
    ["items", "additionalProperties", "contentSchema", "not", "oneOf", "anyOf", "allOf"];

/// Returns the outline. What has no form of its own is written as JSON, so that no change of the structure is unseen.
pub(super) fn outline(document: &Value) -> String {
    let mut out = Outline(String::new());
    out.line("document", document, &["info", "servers", "tags", "paths", "components"]);
    out.line("info", &document["info"], &[]);
    for key in ["servers", "tags"] {
        document[key].as_array().unwrap().iter().for_each(|item| out.line(key, item, &[]));
    }
    for (path, item) in members(&document["paths"]) {
        for (method, operation) in members(item).filter(|(name, _)| !TEXTS.contains(name)) {
            out.operation(&format!("{} {path}", method.to_uppercase()), operation);
        }
    }
    for (kind, components) in members(&document["components"]) {
        for (name, component) in members(components) {
            let head = format!("{kind} {name}");
            match kind {
                "schemas" => out.schema(&head, component),
                "responses" => out.message(&head, component),
                _ => out.with_schema(&head, component),
            }
        }
    }
    out.0
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), value))
}

/// Returns the members of a part of the document on one line, without texts and `elsewhere`.
fn words(value: &Value, elsewhere: &[&str]) -> String {
    if !value.is_object() {
        return format!(" {value}");
    }
    let own = members(value).filter(|(key, _)| !TEXTS.contains(key) && !elsewhere.contains(key));
    own.map(|(key, value)| match (key, value.as_str()) {
        ("$ref", Some(target)) => format!(" {}", target.trim_start_matches("#/components/")),
        _ => format!(" {key}={value}"),
    })
    .collect()
}

/// Returns the indentation of what belongs to a line.
fn indent(head: &str) -> String {
    " ".repeat(head.len() - head.trim_start().len() + 2)
}

struct Outline(String);

impl Outline {
    fn line(&mut self, head: &str, value: &Value, elsewhere: &[&str]) {
        self.0 += &format!("{head}{}\n", words(value, elsewhere));
    }

    fn operation(&mut self, head: &str, operation: &Value) {
        self.line(head, operation, &["parameters", "requestBody", "responses"]);
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            self.with_schema("  parameter", parameter);
        }
        if let Some(body) = operation.get("requestBody") {
            self.message("  body", body);
        }
        let mut shared = String::new();
        for (status, response) in members(&operation["responses"]) {
            match response.get("$ref") {
                Some(_) => shared += &format!(" {status}:{}", words(response, &[])),
                None => self.message(&format!("  {status}"), response),
            }
        }
        self.0 += &format!("  shared{shared}\n");
    }

    /// A body or a response.
    fn message(&mut self, head: &str, message: &Value) {
        self.line(head, message, &["headers", "content", "links"]);
        let indent = indent(head);
        for kind in ["headers", "links"] {
            let all = members(&message[kind]).map(|(name, part)| {
                let text = words(part, &[]);
                let is_own =
                    |target: &&str| *target == name || target.strip_prefix(name) == Some(".optional");
                let short = text.strip_prefix(" headers/").filter(is_own);
                short.map_or_else(|| format!(" {name}:{text}"), |target| format!(" {target}"))
            });
            let all: String = all.collect();
            if !all.is_empty() {
                self.0 += &format!("{indent}{kind}{all}\n");
            }
        }
        for (media_type, content) in members(&message["content"]) {
            self.with_schema(&format!("{indent}{media_type}"), content);
        }
    }

    /// A parameter, a header, or the content of a message.
    fn with_schema(&mut self, head: &str, value: &Value) {
        match value.get("schema") {
            Some(schema) => self.schema(&format!("{head}{}", words(value, &["schema"])), schema),
            None => self.line(head, value, &[]),
        }
    }

    /// A schema, and those in it on lines of their own. A required member has an asterisk.
    fn schema(&mut self, head: &str, schema: &Value) {
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        let is_member = |name: &Value| schema["properties"].get(name.as_str().unwrap()).is_some();
        let elsewhere = if required.iter().all(is_member) { "required" } else { "" };
        self.line(head, schema, &[&["properties", elsewhere], &NESTED[..]].concat());
        let indent = indent(head);
        for (name, member) in members(&schema["properties"]) {
            let asterisk = if required.iter().any(|it| it == name) { "*" } else { "" };
            self.schema(&format!("{indent}{name}{asterisk}"), member);
        }
        for keyword in NESTED {
            match &schema[keyword] {
                Value::Array(parts) => {
                    for part in parts {
                        self.schema(&format!("{indent}{keyword}"), part);
                    }
                }
                Value::Null => {}
                nested @ Value::Object(_) => self.schema(&format!("{indent}{keyword}"), nested),
                other => self.0 += &format!("{indent}{keyword}={other}\n"),
            }
        }
    }
}
