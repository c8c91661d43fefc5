//! Variants: the usernames that a person may have chosen.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::context::{Api, Call, ok_json};
use super::decode;
use super::error::ApiError;
use super::members::{Members, object, whole};
use super::search_schema;
use crate::http::Reply;
use crate::modules::query::{Query, SearchType};
use crate::modules::variants::person::Person;
use crate::modules::variants::username::of_username;
use crate::modules::variants::variant::Variant;

/// The longest name in characters.
const MAX_NAME: usize = 100;
/// The first and the last year.
const YEARS: [u16; 2] = [1900, 2099];

/// The usernames that a person may have chosen.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VariantList)]
pub struct Variants {
    /// Number of variants.
    #[schema(maximum = 100, examples(1))]
    pub count: usize,
    /// The variants, the most frequent form first.
    #[schema(max_items = 100)]
    pub variants: Vec<Variant>,
}

/// The names of a person, or one of their usernames.
#[derive(Debug)]
pub enum VariantsBody {
    /// The names.
    Person(Person),
    /// The username.
    Username(String),
}

impl VariantsBody {
    fn read(body: &[u8]) -> Result<Self, ApiError> {
        let members = object(body)?;
        let of_person = ["first", "last"].into_iter().find(|name| members.given(name).is_some());
        if members.given("username").is_some() {
            if let Some(field) = of_person {
                let message = format!("{field} is given besides username");
                return Err(ApiError::invalid_request(field, message, "either first and last, or username"));
            }
            let query = Query::parse(SearchType::Username, members.text("username")?)
                .map_err(|error| ApiError::invalid_request("username", error.message, error.allowed))?;
            let name = query.raw().trim();
            return Ok(Self::Username(name.strip_prefix('@').unwrap_or(name).to_owned()));
        }
        if of_person.is_none() {
            let message = "first, last and username are missing";
            return Err(ApiError::invalid_request("body", message, "either first and last, or username"));
        }
        Ok(Self::Person(Person {
            first: name(&members, "first")?,
            last: name(&members, "last")?,
            middle: members.optional("middle", name)?,
            nick: members.optional("nick", name)?,
            year: members.optional("year", year)?,
        }))
    }
}

fn name(members: &Members, field: &str) -> Result<String, ApiError> {
    let name = members.text(field)?;
    if (1..=MAX_NAME).contains(&name.chars().count()) {
        return Ok(name.to_owned());
    }
    let allowed = format!("1 to {MAX_NAME} characters");
    Err(ApiError::invalid_request(field, format!("{field} does not have {allowed}"), allowed))
}

fn year(members: &Members, field: &str) -> Result<u16, ApiError> {
    let [first, last] = YEARS;
    members.get(field).and_then(|year| whole(year, first..=last)).ok_or_else(|| {
        let allowed = format!("a whole number from {first} to {last}");
        ApiError::invalid_request(field, format!("{field} is not {allowed}"), allowed)
    })
}

impl ToSchema for VariantsBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("VariantsRequest")
    }
}

impl PartialSchema for VariantsBody {
    fn schema() -> RefOr<Schema> {
        let text = |kinds: &[Type], example: &str, about: &str| {
            ObjectBuilder::new()
                .schema_type(SchemaType::from_iter(kinds.iter().cloned()))
                .description(Some(about))
                .min_length(Some(1))
                .max_length(Some(MAX_NAME))
                .examples([json!(example)])
        };
        let required = |example: &str, about: &str| text(&[Type::String], example, about);
        let optional = |example: &str, about: &str| text(&[Type::String, Type::Null], example, about);
        let year = ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::Integer, Type::Null]))
            .description(Some("Year that may follow a name, such as the year of birth."))
            .minimum(Some(YEARS[0]))
            .maximum(Some(YEARS[1]))
            .examples([json!(1985)]);
        let person = ObjectBuilder::new()
            .title(Some("names"))
            .description(Some("The names of a person, in any script."))
            .property("first", required("Ada", "First name."))
            .property("last", required("Lovelace", "Last name."))
            .property("middle", optional("King", "Middle name."))
            .property("nick", optional("countess", "Nickname, which may replace the first name."))
            .property("year", year)
            .required("first")
            .required("last");
        let username = ObjectBuilder::new()
            .title(Some("username"))
            .description(Some("A username."))
            .property("username", search_schema::query(SearchType::Username))
            .required("username");
        OneOfBuilder::new()
            .description(Some("Either the names of a person, or one of their usernames."))
            .item(person)
            .item(username)
            .into()
    }
}

/// Lists usernames that a person may have chosen.
///
/// The most frequent forms come first, at most 100. Names are written in Latin letters: `ü` becomes both `ue` and `u`,
/// and other scripts are transliterated. Names that no enabled module accepts are left out. Nothing is searched. Costs
/// no credits.
#[utoipa::path(
    post,
    path = "/v1/variants",
    operation_id = "listVariants",
    tag = "Searches",
    request_body(content = VariantsBody, description = "The names or the username.", examples(
        ("names" = (summary = "Names", value = json!({"first": "Jürgen", "last": "Weiß", "year": 1985}))),
        ("username" = (summary = "Username", value = json!({"username": "ada.lovelace"}))))),
    responses(
        (status = 200, description = "The variants.", body = Variants),
        (status = 415, description = "unsupported_media_type"),
    )
)]
pub fn list(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    decode::require_json(call.request)?;
    let catalog = api.runs.catalog();
    let variants = match VariantsBody::read(&call.request.body)? {
        VariantsBody::Person(person) => person.variants(&catalog),
        VariantsBody::Username(name) => of_username(&name, &catalog),
    };
    Ok(ok_json(&Variants { count: variants.len(), variants }))
}
