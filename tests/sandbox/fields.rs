//! The metadata that the built-in modules read from the simulated web have the types that the manual states.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use sightline::modules::definition::{FieldType, field_type};
use sightline::modules::module::Module;
use sightline::modules::outcome::Outcome;
use sightline::modules::query::Query;
use sightline::sandbox::SandboxOptions;
use url::Url;

use super::lab::Lab;
use crate::support::modules::builtin;

fn is_rfc_3339(text: &str) -> bool {
    let is_time = text.ends_with('Z') && text.contains('T') && text.parse::<jiff::Timestamp>().is_ok();
    is_time || (text.len() == "2020-01-02".len() && text.parse::<jiff::civil::Date>().is_ok())
}

fn is_of_type(value: &Value, field_type: FieldType) -> bool {
    let is_text =
        |holds: fn(&str) -> bool| value.as_str().is_some_and(|text| !text.is_empty() && holds(text));
    match field_type {
        FieldType::Text => is_text(|_| true),
        FieldType::Id => is_text(|_| true) || value.is_number(),
        FieldType::Handle => is_text(|text| !text.starts_with('@')),
        FieldType::Email => is_text(|text| text.contains('@')),
        FieldType::Digest => is_text(|text| text.bytes().all(|b| b.is_ascii_hexdigit())),
        FieldType::Url => is_text(|text| Url::parse(text).is_ok_and(|url| url.scheme().starts_with("http"))),
        FieldType::Date => is_text(is_rfc_3339),
        FieldType::Count => value.is_u64(),
        FieldType::Number => value.is_number(),
        FieldType::Flag => value.is_boolean(),
    }
}

#[test]
fn metadata_have_the_types_of_their_names() {
    let catalog = builtin();
    let is_asked = |module: &&Arc<Module>| module.entry().enabled && !module.is_premium();
    let modules: Vec<Arc<Module>> = catalog.modules().iter().filter(is_asked).cloned().collect();
    let lab = Lab::new(modules, SandboxOptions::perfect());
    let seen = Mutex::new(Vec::new());
    let wrong = lab.complaints(8, |module| {
        let names = module.entry().known.iter().map(String::as_str);
        let mut queries =
            names.chain(["everybody"]).filter_map(|it| Query::parse(module.search_type(), it).ok());
        let report = lab.check(module, &queries.next()?);
        let findings = report.findings.iter().filter(|_| report.outcome == Outcome::Hit);
        let mut wrong = Vec::new();
        for (name, value) in findings.flat_map(|finding| &finding.metadata) {
            let Some((field_type, is_list)) = field_type(name) else { continue };
            seen.lock().push(field_type);
            let is_right = match value {
                Value::Array(elements) => is_list && elements.iter().all(|it| is_of_type(it, field_type)),
                one => !is_list && is_of_type(one, field_type),
            };
            wrong.extend((!is_right).then(|| format!("{name}: {value}")));
        }
        (!wrong.is_empty()).then(|| wrong.join(", "))
    });
    assert!(wrong.is_empty(), "{wrong:#?}");
    let seen = seen.into_inner();
    for (field_type, least) in [
        (FieldType::Date, 200),
        (FieldType::Count, 150),
        (FieldType::Url, 150),
        (FieldType::Text, 300),
        (FieldType::Flag, 20),
    ] {
        let count = seen.iter().filter(|it| **it == field_type).count();
        assert!(count >= least, "{count} of {field_type:?}");
    }
}
