//! Variants: the usernames that a person may have chosen.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::context::{Api, Call, ok_json};
use super::request;
use crate::http::Reply;
use crate::modules::catalog::Catalog;
use crate::modules::query::{Query, SearchType};
use crate::modules::variants::person::Person;
use crate::modules::variants::username::of_username;
use crate::modules::variants::variant::Variant;
use crate::service::refusal::Refusal;

/// The longest name in characters.
const MAX_NAME: usize = 100;
/// The two forms of the body.
const FORMS: &str = "either first and last, or username";

/// The usernames that a person may have chosen.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = VariantList)]
pub struct Variants {
    /// Number of variants.
    #[schema(maximum = 100)]
    pub count: usize,
    /// The variants, the most frequent form first.
    #[schema(max_items = 100)]
    pub variants: Vec<Variant>,
}

/// Either the names of a person (`first` and `last`, in any script), or one of their usernames.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = VariantsRequest)]
pub struct VariantsBody {
    /// First name.
    #[schema(min_length = 1, max_length = 100, examples("Ada"))]
    first: Option<String>,
    /// Last name.
    #[schema(min_length = 1, max_length = 100, examples("Lovelace"))]
    last: Option<String>,
    /// Middle name.
    #[schema(min_length = 1, max_length = 100, examples("King"))]
    middle: Option<String>,
    /// Nickname, which may replace the first name.
    #[schema(min_length = 1, max_length = 100, examples("countess"))]
    nick: Option<String>,
    /// Year that may follow a name, such as the year of birth.
    #[serde(default, deserialize_with = "request::whole::<_, _, 1900, 2099>")]
    #[schema(minimum = 1900, maximum = 2099)]
    year: Option<u16>,
    /// A username.
    #[schema(min_length = 1, max_length = 1024, examples("ada.lovelace"))]
    username: Option<String>,
}

impl VariantsBody {
    fn variants(self, catalog: &Catalog) -> Result<Vec<Variant>, Refusal> {
        let Self { first, last, middle, nick, year, username } = self;
        let Some(username) = username else {
            if first.is_none() && last.is_none() {
                return Err(Refusal::invalid_request("body", "first, last and username are missing", FORMS));
            }
            let (first, last) = (name("first", first)?, name("last", last)?);
            let missing =
                |field: &str| Refusal::invalid_request(field, format!("{field} is missing"), "a string");
            let person = Person {
                first: first.ok_or_else(|| missing("first"))?,
                last: last.ok_or_else(|| missing("last"))?,
                middle: name("middle", middle)?,
                nick: name("nick", nick)?,
                year,
            };
            return Ok(person.variants(catalog));
        };
        for (field, given) in [("first", first), ("last", last)] {
            if given.is_some() {
                let message = format!("{field} is given besides username");
                return Err(Refusal::invalid_request(field, message, FORMS));
            }
        }
        let query = Query::parse(SearchType::Username, &username)
            .map_err(|error| Refusal::invalid_query("username", error))?;
        let name = query.raw().trim();
        Ok(of_username(name.strip_prefix('@').unwrap_or(name), catalog))
    }
}

fn name(field: &str, name: Option<String>) -> Result<Option<String>, Refusal> {
    if name.as_ref().is_none_or(|name| (1..=MAX_NAME).contains(&name.chars().count())) {
        return Ok(name);
    }
    let allowed = format!("1 to {MAX_NAME} characters");
    Err(Refusal::invalid_request(field, format!("{field} does not have {allowed}"), allowed))
}

/// Lists usernames that a person may have chosen.
///
/// The most frequent forms come first, at most 100. Names are written in Latin letters: `ü` becomes both `ue` and `u`,
/// and other scripts are transliterated. Names that no enabled module accepts are left out. Nothing is searched. Costs
/// no credits.
#[utoipa::path(post, path = "/v1/variants",
    request_body(content = VariantsBody, description = "The names or the username.", examples(
        ("names" = (summary = "Names", value = json!({"first": "Jürgen", "last": "Weiß", "year": 1985}))),
        ("username" = (summary = "Username", value = json!({"username": "ada.lovelace"}))))),
    responses((status = 200, description = "The variants.", body = Variants)))]
pub fn list_variants(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let body: VariantsBody = request::json(call.request)?;
    let variants = body.variants(&api.runs.catalog())?;
    Ok(ok_json(&Variants { count: variants.len(), variants }))
}
