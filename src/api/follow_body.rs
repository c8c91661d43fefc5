//! The members of a search that ask to follow its leads, and say why it is made.

use serde_json::{Value, json};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};

use super::error::ApiError;
use super::members::{Members, whole};
use crate::model::follow::{Class, FollowOrder, MAX_DEPTH, MAX_SEARCHES};
use crate::modules::catalog::Choice;

/// A text without control characters that is not only white space (Unicode's `White_Space`).
const PURPOSE: &str = concat!(
    r"^[^\x00-\x1f\x7f-\x9f]*",
    r"[^\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]",
    r"[^\x00-\x1f\x7f-\x9f]*$"
);
/// The longest purpose of a search in characters.
const MAX_PURPOSE: usize = 200;

/// Returns how leads are followed, `None` if the member is missing or null. The choice of modules is not in it.
pub(super) fn follow(members: &Members) -> Result<Option<FollowOrder>, ApiError> {
    let object = match members.given("follow") {
        None => return Ok(None),
        Some(Value::Object(object)) => object,
        Some(_) => {
            let allowed = "an object with the optional members depth, max_searches and links";
            return Err(ApiError::invalid_request("follow", "follow is not an object", allowed));
        }
    };
    let number = |name: &str, from: u8, to: u8, default: u8| {
        let Some(value) = object.get(name).filter(|value| !value.is_null()) else { return Ok(default) };
        let field = format!("follow.{name}");
        whole(value, from.into()..=to.into()).map(|number| number as u8).ok_or_else(|| {
            let allowed = format!("a whole number from {from} to {to}");
            ApiError::invalid_request(&field, format!("{field} is not {allowed}"), allowed)
        })
    };
    let links = match object.get("links") {
        None | Some(Value::Null) => Class::Stated,
        Some(value) => value.as_str().and_then(Class::from_name).ok_or_else(|| {
            let allowed = Class::ALL.map(Class::as_str);
            ApiError::invalid_request("follow.links", "follow.links is unknown", &allowed[..])
        })?,
    };
    Ok(Some(FollowOrder {
        depth: number("depth", 1, MAX_DEPTH, 1)?,
        max_searches: number("max_searches", 0, MAX_SEARCHES, FollowOrder::DEFAULT_SEARCHES)?,
        links,
        choice: Choice::default(),
    }))
}

/// Returns the purpose of a search.
pub(super) fn purpose(members: &Members, field: &str) -> Result<String, ApiError> {
    let text = members.get(field).and_then(Value::as_str).map(str::trim).filter(|text| {
        (1..=MAX_PURPOSE).contains(&text.chars().count()) && !text.chars().any(char::is_control)
    });
    text.map(str::to_owned).ok_or_else(|| {
        let allowed = format!("a text of 1 to {MAX_PURPOSE} characters without control characters");
        ApiError::invalid_request(field, format!("{field} is not {allowed}"), allowed)
    })
}

/// Returns the schema of the member `follow`.
pub(super) fn follow_schema() -> ObjectBuilder {
    let number = |text: &str, from: u8, to: u8, default: u8| {
        ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
            .description(Some(format!("{text} {default} if it is not given.")))
            .minimum(Some(from))
            .maximum(Some(to))
            .examples([json!(default)])
    };
    let links = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some("The weakest class of leads that are followed: `stated` if it is not given."))
        .enum_values(Some([json!("verified"), json!("stated"), Value::Null]))
        .examples([json!("verified")]);
    let searches = FollowOrder::DEFAULT_SEARCHES;
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Object, Type::Null]))
        .description(Some(
            "Follow the leads of the results: accounts are looked up without a charge, at most 100 in each search, and \
             other leads start searches of their own, charged 1 credit each.",
        ))
        .property("depth", number("Most leads between this search and another one.", 1, MAX_DEPTH, 1))
        .property("max_searches", number("Most searches that leads start.", 0, MAX_SEARCHES, searches))
        .property("links", links)
        .examples([json!({"depth": 1, "max_searches": 10, "links": "stated"})])
}

/// Returns the schema of the member `purpose`.
pub(super) fn purpose_schema() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some(
            "Why you search, for the audit log of the operator. It is in no answer, report or export, and it stays in \
             the log after the search is deleted. White space around it is ignored.",
        ))
        .min_length(Some(1))
        .max_length(Some(MAX_PURPOSE))
        .pattern(Some(PURPOSE))
        .examples([json!("ticket 4711: takeover of a customer account")])
}
