//! Compares values with the closed schemas of the document: an undocumented member is a mistake.
//!
//! The document leaves objects open, since members may be added. Here each object is closed.

use std::cell::RefCell;

use boon::{Compiler, Format, SchemaIndex};
use serde_json::{Map, Value};

use super::{DOCUMENT, resolve};

const URL: &str = "http://document.example/closed.json";

/// The schemas of the document, compiled on first use.
pub(super) struct Schemas {
    compiler: RefCell<Compiler>,
    compiled: RefCell<boon::Schemas>,
}

impl Schemas {
    pub(super) fn new() -> Self {
        let mut closed = DOCUMENT.clone();
        for (name, schema) in closed["components"]["schemas"].as_object_mut().unwrap() {
            // Requests may have unknown members.
            if !name.ends_with("Request") {
                close_children(schema, false);
            }
        }
        for response in closed["components"]["responses"].as_object_mut().unwrap().values_mut() {
            close_contents(response);
        }
        for item in closed["paths"].as_object_mut().unwrap().values_mut() {
            for operation in item.as_object_mut().unwrap().values_mut().filter(|item| item.is_object()) {
                operation["responses"].as_object_mut().unwrap().values_mut().for_each(close_contents);
            }
        }
        let mut compiler = Compiler::new();
        compiler.set_default_draft(boon::Draft::V2020_12);
        compiler.enable_format_assertions();
        // An address with white space around it, or with an international domain, is accepted too.
        compiler.register_format(Format { name: "email", func: |_| Ok(()) });
        compiler.add_resource(URL, closed).unwrap();
        Self { compiler: RefCell::new(compiler), compiled: RefCell::new(boon::Schemas::new()) }
    }

    fn index(&self, pointer: &str) -> SchemaIndex {
        // A pointer in an address is percent-encoded.
        let pointer = pointer.replace('{', "%7B").replace('}', "%7D");
        let mut compiler = self.compiler.borrow_mut();
        compiler
            .compile(&format!("{URL}#{pointer}"), &mut self.compiled.borrow_mut())
            .unwrap_or_else(|error| panic!("{pointer}: {error:#}"))
    }

    /// Returns the mistake in a value, if there is one.
    pub(super) fn mistake(&self, pointer: &str, value: &Value) -> Option<String> {
        let index = self.index(pointer);
        let compiled = self.compiled.borrow();
        compiled.validate(value, index).err().map(|error| format!("{error:#}"))
    }

    #[track_caller]
    pub(super) fn check(&self, pointer: &str, value: &Value) {
        if let Some(mistake) = self.mistake(pointer, value) {
            let shown: String = format!("{value:#}").chars().take(2000).collect();
            panic!("{pointer}: {mistake}\n{shown}");
        }
    }
}

fn close_contents(response: &mut Value) {
    for content in response["content"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        if !content["schema"].is_null() {
            close(&mut content["schema"], false);
        }
    }
}

/// Closes a schema, unless it is a part of another one.
fn close(schema: &mut Value, is_part: bool) {
    close_children(schema, is_part);
    let is_object = |schema: &Value| schema["properties"].is_object() || schema["allOf"].is_array();
    let closes = is_object(schema) || (schema["$ref"].is_string() && is_object(resolve(schema)));
    if let Some(members) = schema.as_object_mut().filter(|_| closes && !is_part) {
        members.insert("unevaluatedProperties".to_owned(), false.into());
    }
}

fn close_children(schema: &mut Value, is_part: bool) {
    let Some(members) = schema.as_object_mut() else { return };
    for (word, value) in members {
        match (word.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|property| close(property, is_part));
            }
            // A referenced part is closed as a part of this whole.
            ("allOf", Value::Array(parts)) => {
                parts.iter_mut().filter(|part| !part["$ref"].is_string()).for_each(close_members);
            }
            ("oneOf" | "anyOf", Value::Array(parts)) => {
                parts.iter_mut().for_each(|part| close(part, is_part));
            }
            ("items", value) => close(value, false),
            ("additionalProperties", value @ Value::Object(_)) => close(value, false),
            _ => {}
        }
    }
}

/// Closes the properties of a part, each of which is a whole.
fn close_members(part: &mut Value) {
    for property in part["properties"].as_object_mut().into_iter().flat_map(Map::values_mut) {
        close(property, false);
    }
}
