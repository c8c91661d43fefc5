use super::table::{RESULT_TYPE, TRANSFORM};
use super::*;
use crate::modules::definition::{Entry, ResultType, Transform};
use proptest::prelude::*;
use serde_json::json;

/// Shapes may hold themselves: from this depth on objects have their required fields alone.
const DEPTH: usize = 9;

/// Values of a shape, with every optional field now there and now not.
fn values(shape: &'static Shape, depth: usize) -> BoxedStrategy<Value> {
    match shape {
        Shape::Signed => any::<i32>().prop_map(Value::from).boxed(),
        Shape::See(shape) => values(shape, depth + 1),
        Shape::Text => "[a-z]{1,4}".prop_map(Value::from).boxed(),
        Shape::Flag => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Whole(most) => (0..=*most).prop_map(Value::from).boxed(),
        Shape::Number => (-5..5i32).prop_map(Value::from).boxed(),
        Shape::Any => prop_oneof![Just(json!({"a": [1]})), Just(json!("x")), Just(json!(2))].boxed(),
        Shape::Word(words) => prop::sample::select(*words).prop_map(Value::from).boxed(),
        Shape::List(shape) => {
            prop::collection::vec(values(shape, depth + 1), 1..3).prop_map(Value::from).boxed()
        }
        Shape::Pair => Just(json!(["a", "b"])).boxed(),
        Shape::Map(shape) => values(shape, depth + 1).prop_map(|value| json!({"name": value})).boxed(),
        Shape::Either(one, other) => prop_oneof![values(one, depth + 1), values(other, depth + 1)].boxed(),
        Shape::Object(fields) => {
            let mut all = Just(Map::new()).boxed();
            for field in *fields {
                if depth > DEPTH && !field.is_required {
                    continue;
                }
                let value = values(&field.shape, depth + 1);
                let is_there =
                    if field.is_required { Just(true).boxed() } else { prop::bool::weighted(0.7).boxed() };
                all = (all, is_there, value)
                    .prop_map(|(mut object, is_there, value)| {
                        if is_there {
                            object.insert(field.name.to_owned(), value);
                        }
                        object
                    })
                    .boxed();
            }
            all.prop_map(Value::Object).boxed()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_has_the_shape_is_an_entry_and_back(value in values(&ENTRY, 0)) {
        let mut mistakes = Mistakes::default();
        check(&value, &mut mistakes);
        prop_assert_eq!(mistakes.count(), 0);
        let entry: Entry = serde_json::from_value(value).unwrap();
        let mut mistakes = Mistakes::default();
        check(&serde_json::to_value(&entry).unwrap(), &mut mistakes);
        prop_assert_eq!(mistakes.into_list(), vec![]);
    }
}

#[test]
fn word_lists_are_complete() {
    // Serde names what it would take when it refuses a word.
    let expected = |error: serde_json::Error| error.to_string();
    let transforms = expected(serde_json::from_str::<Transform>("\"?\"").unwrap_err());
    let types = expected(serde_json::from_str::<ResultType>("\"?\"").unwrap_err());
    for (shape, error) in [(&TRANSFORM, transforms), (&RESULT_TYPE, types)] {
        let Shape::Word(words) = shape else { panic!() };
        assert_eq!(error.matches('`').count() / 2 - 1, words.len(), "{error}");
    }
}
