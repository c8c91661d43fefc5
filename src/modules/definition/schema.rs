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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_schema_has_every_field_and_refuses_null() {
        let schema = json_schema();
        let required = json!(["id", "platform", "type", "category", "probes", "hit"]);
        let items = &schema["items"];
        assert_eq!(items["required"], required);
        assert_eq!(items["additionalProperties"], json!(false));
        assert_eq!(items["properties"]["miss"]["items"], json!({"$ref": "#/$defs/matcher"}));
        assert_eq!(items["properties"]["rank"]["type"], "integer");
        assert_eq!(
            schema["$defs"]["long_extractor"]["properties"]["inner"]["$ref"],
            "#/$defs/long_extractor"
        );
        let kinds = &schema["$defs"]["json_rule"]["properties"]["type"]["enum"];
        assert_eq!(kinds, &json!(["string", "number", "boolean", "array", "object", "null"]));
    }
}
