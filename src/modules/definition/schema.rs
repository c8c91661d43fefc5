//! The JSON Schema (draft 2020-12) of a catalogue file, derived from the entry types.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::entry::Entry;

/// Returns the JSON Schema of a catalogue file, for editors.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Vec<Entry>>();
    schema.insert("title".to_owned(), "Sightline catalogue file".into());
    let mut schema = schema.to_value();
    without_null(&mut schema);
    schema
}

/// Removes null from the schema of every `Option`, because an optional field is left out, not written as null.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(parts) => parts.iter_mut().for_each(without_null),
        Value::Object(keywords) => {
            keywords.values_mut().for_each(without_null);
            if let Some(Value::Array(types)) = keywords.get_mut("type") {
                types.retain(|it| it != "null");
                if let [only] = types.as_slice() {
                    keywords["type"] = only.clone();
                }
            }
            if let Some(Value::Array(words)) = keywords.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            if let Some(Value::Array(branches)) = keywords.get_mut("anyOf") {
                branches.retain(|branch| branch["type"] != "null");
                if let [Value::Object(only)] = branches.as_mut_slice() {
                    let only = std::mem::take(only);
                    keywords.remove("anyOf");
                    only.into_iter().for_each(|(name, value)| {
                        keywords.entry(name).or_insert(value);
                    });
                }
            }
        }
        _ => {}
    }
}
