//! `/openapi.json`.

use std::sync::Arc;

use serde_json::json;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Object, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::context::{Api, Call};
use super::decode::IfNoneMatch;
use super::error::ApiError;
use crate::http::{Reply, Response};

/// The schema of the document itself: any object.
pub struct AnyDocument;

impl ToSchema for AnyDocument {}

impl PartialSchema for AnyDocument {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .description(Some("An OpenAPI document."))
            .property("openapi", Object::with_type(Type::String))
            .required("openapi")
            .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(true)))
            .examples([json!({"openapi": "3.1.0"})])
            .into()
    }
}

/// Gets the OpenAPI 3.1 document.
///
/// Needs no key and is not counted. It changes with each release, so a copy can be used for some minutes.
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "getOpenApi",
    tag = "Service",
    params(IfNoneMatch),
    responses(
        (status = 200, description = "The OpenAPI document.", body = inline(AnyDocument), headers(("ETag" = String))),
        (status = 304, description = "The document has not changed since the caller's copy.", headers(("ETag" = String))),
    )
)]
pub fn openapi(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(
        Response::of_file(&api.openapi, call.request).with_header("Cache-Control", "public, max-age=300"),
    ))
}
