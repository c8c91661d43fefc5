//! The words of what the service says of itself.

use serde_json::json;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder};

use super::doc::{Answer, Doc, Tag};
use super::parameters;
use crate::api::wire::service::{Capabilities, Health, ModuleList};

/// `GET /v1/health`.
pub fn health() -> Doc {
    Doc::new("getHealth", Tag::Service, "Ask how the service does")
        .text("Needs no key and is not counted. Answers 200 also where the database does not answer: see `status`.")
        .answer(Answer::new(200, "How the service does.").body::<Health>("application/json"))
}

/// `GET /v1/capabilities`.
pub fn capabilities() -> Doc {
    Doc::new("getCapabilities", Tag::Service, "Ask what the service can do")
        .text("Needs no key and is not counted.")
        .answer(Answer::new(200, "What the service can do.").body::<Capabilities<'_>>("application/json"))
}

/// `GET /v1/modules`.
pub fn modules() -> Doc {
    Doc::new("listModules", Tag::Service, "List the catalogue's modules")
        .text("All modules, those that are switched off too, with their health. Costs no credits.")
        .answer(Answer::new(200, "The catalogue.").body::<ModuleList<'_>>("application/json"))
}

/// `GET /openapi.json`.
pub fn openapi() -> Doc {
    let schema = ObjectBuilder::new()
        .description(Some("An OpenAPI 3.1 document."))
        .property("openapi", utoipa::openapi::Object::with_type(utoipa::openapi::Type::String))
        .required("openapi")
        .additional_properties(Some(AdditionalProperties::<utoipa::openapi::Schema>::FreeForm(true)))
        .examples([json!({"openapi": "3.1.0"})]);
    let tagged = ["ETag"];
    Doc::new("getOpenApi", Tag::Service, "Get this description")
        .text("Needs no key and is not counted.")
        .parameter(parameters::if_none_match())
        .answer(
            Answer::new(200, "This description.")
                .schema("application/json", schema.into(), Vec::new())
                .always(&tagged),
        )
        .answer(Answer::new(304, "It is what the caller has.").always(&tagged))
}
