//! The document in OpenAPI 3.2, made from the one in 3.1.

use serde_json::Value;
use utoipa::openapi::OpenApi;

/// The media type whose schema describes one item of a stream.
const STREAM: &str = "text/event-stream";

/// Returns the document in OpenAPI 3.2. It differs from the one in 3.1 in its version, and in streams: the schema of one
/// event is their `itemSchema` (OpenAPI 3.2, "Media Type Object").
pub fn in_version_3_2(document: &OpenApi) -> Value {
    // Cannot fail: the types have only string keys and finite numbers.
    let mut document = serde_json::to_value(document).unwrap_or_default();
    document["openapi"] = "3.2.0".into();
    let paths = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    let operations = paths.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut());
    for operation in operations {
        let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
        for response in responses.into_iter().flat_map(|responses| responses.values_mut()) {
            describe_items(response);
        }
    }
    document
}

/// Renames the schema of a streamed response.
fn describe_items(response: &mut Value) {
    let Some(stream) = response.pointer_mut("/content").and_then(|content| content.get_mut(STREAM)) else {
        return;
    };
    if let Some(stream) = stream.as_object_mut()
        && let Some(schema) = stream.shift_remove("schema")
    {
        stream.insert("itemSchema".to_owned(), schema);
    }
}
