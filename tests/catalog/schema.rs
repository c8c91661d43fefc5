//! The JSON Schema of catalogue files, tested with an independent validator.

use boon::{Compiler, SchemaIndex, Schemas};
use sightline::modules::catalog::json_schema;

use super::loading::sites;
use super::*;
use crate::cli::ran;

struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// Compiling the validator checks the schema against its meta-schema.
    fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let name = "https://sightline.example/catalogue.json";
        compiler.add_resource(name, json_schema()).unwrap();
        let index = compiler.compile(name, &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
        Self { schemas, index }
    }

    fn refuses(&self, file: &Value) -> Option<String> {
        self.schemas.validate(file, self.index).err().map(|error| format!("{error:#}"))
    }
}

#[test]
fn every_built_in_file_fits_the_schema() {
    let schema = Schema::new();
    for path in sites() {
        let file: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let refused = schema.refuses(&file);
        assert!(refused.is_none(), "{}: {}", path.display(), refused.unwrap_or_default());
    }
    assert!(schema.refuses(&json!({})).is_some() && schema.refuses(&json!([])).is_none());
}

#[test]
fn the_command_prints_the_schema() {
    let printed: Value = serde_json::from_str(&ran(&["catalog", "schema"], &[]).code_is(0).out).unwrap();
    assert_eq!(printed, json_schema());
    assert_eq!(printed["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn the_schema_refuses_invalid_files() {
    let schema = Schema::new();
    let refused: Vec<Value> =
        mistakes::mistakes().into_iter().filter(|case| case.2).map(|(changes, ..)| changes).collect();
    assert!(refused.len() > 50, "{}", refused.len());
    for changes in refused {
        assert!(schema.refuses(&changed(&changes)).is_some(), "the schema takes {changes}");
    }
    for field in ["id", "type", "category", "probes", "hit"] {
        let mut entry = entry();
        entry.as_object_mut().unwrap().remove(field).unwrap();
        assert!(schema.refuses(&json!([entry])).is_some(), "the schema takes an entry without {field}");
    }
    let is_null = changed(&json!({"hit": [{"json": [{"at": "/a", "type": "null"}]}]}));
    assert_eq!(schema.refuses(&is_null), None);
}

/// Returns the pointers of all values in a document.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Array(elements) => {
            elements.iter().enumerate().for_each(|(index, it)| places(it, &format!("{at}/{index}"), found));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, it)| {
                places(it, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            });
        }
        _ => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-2..700_i64).prop_map(Value::from),
        Just(json!(0.5)),
        "[a-zA-Z0-9:/ .{}_-]{0,9}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([{"status": [200]}])),
        Just(json!({"from": ["title:"]})),
    ]
}

#[test]
fn the_loader_refuses_what_the_schema_refuses() {
    let schema = Schema::new();
    let entries: Vec<Value> = sites()
        .iter()
        .flat_map(|path| {
            let file: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            file.into_iter().step_by(7)
        })
        .collect();
    assert!(entries.len() > 20);
    let change = (any::<prop::sample::Index>(), any::<prop::sample::Index>(), any_value());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(1500));
    let told = std::cell::Cell::new(0);
    let result = runner.run(&change, |(which, place, value)| {
        let mut file = json!([which.get(&entries).clone()]);
        let mut all = Vec::new();
        places(&file[0], "/0", &mut all);
        let place: &String = place.get(&all);
        *file.pointer_mut(place).unwrap() = value;
        if let Some(why) = schema.refuses(&file) {
            told.set(told.get() + 1);
            prop_assert!(
                Catalog::from_text("f.json", &file.to_string()).is_err(),
                "the loader takes what the schema refuses: {}",
                why
            );
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    assert!(told.get() > 200, "only {} changes were mistakes", told.get());
}
