//! `/openapi.json` and `/openapi-3.2.json`.

use std::sync::Arc;

use serde_json::json;
use utoipa::openapi::schema::{AdditionalProperties, ObjectBuilder, Schema, Type};
use utoipa::openapi::{Object, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::context::{Api, Call};
use super::error::ApiError;
use super::openapi::parameters::IfNoneMatch;
use crate::http::{Reply, Response, StaticFile};

/// The schema of the documents themselves: any object.
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
    Ok(answer(&api.openapi, call))
}

/// Gets the OpenAPI 3.2 document.
///
/// It says the same as the document in OpenAPI 3.1, and describes streams by the `itemSchema` of their events. Needs no key
/// and is not counted.
#[utoipa::path(
    get,
    path = "/openapi-3.2.json",
    operation_id = "getOpenApi32",
    tag = "Service",
    params(IfNoneMatch),
    responses(
        (status = 200, description = "The OpenAPI document.", body = inline(AnyDocument), headers(("ETag" = String))),
        (status = 304, description = "The document has not changed since the caller's copy.", headers(("ETag" = String))),
    )
)]
pub fn openapi_3_2(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(answer(&api.openapi_3_2, call))
}

fn answer(document: &Arc<StaticFile>, call: &Call<'_>) -> Reply {
    Reply::Now(Response::of_file(document, call.request).with_header("Cache-Control", "public, max-age=300"))
}
