//! The bodies of requests about watches, and their schemas.

use std::borrow::Cow;

use serde_json::json;
use utoipa::openapi::schema::{
    ArrayBuilder, Discriminator, KnownFormat, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaFormat,
    SchemaType, Type,
};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use super::context::{Api, Call};
use super::decode::{self, SearchBody};
use super::error::ApiError;
use super::members::{Members, object};
use super::search_schema;
use crate::base::ids::{WatchId, WebhookId};
use crate::http::Request;
use crate::model::interval::Interval;
use crate::model::search::Search;
use crate::model::watch::{ChangeKind, NewWatch, WatchState, WatchUpdate};
use crate::modules::query::SearchType;
use crate::watches::registry::kinds;

/// What an interval looks like. The range is checked, too.
const EVERY: &str = "^(([6-9][0-9]|[1-9][0-9]{2,3}|[1-3][0-9]{4}|4[0-2][0-9]{3}|43[01][0-9]{2}|43200)m|([1-9][0-9]?|[1-6][0-9]{2}|7[01][0-9]|720)h|([1-9]|[12][0-9]|30)d)$";

/// The validated body of `POST /v1/watches`.
#[derive(Debug)]
pub struct WatchBody {
    /// The search that is repeated.
    pub search: SearchBody,
    /// The watch.
    pub watch: NewWatch,
}

impl WatchBody {
    /// Parses the body.
    ///
    /// # Errors
    /// Returns 415 for another content type, 400 for any other mistake.
    pub(super) fn read(api: &Api, call: &Call<'_>) -> Result<Self, ApiError> {
        decode::require_json(call.request)?;
        let members = object(&call.request.body)?;
        let search = SearchBody::from_members(&members)?;
        let names = members.names("notify_on", 1)?;
        let notify_on = if names.is_empty() {
            ChangeKind::ALL.to_vec()
        } else {
            kinds(names.iter().map(String::as_str))?
        };
        let watch = NewWatch {
            id: WatchId::new(),
            account: call.caller()?.account.id,
            simulated: api.config.sandbox,
            search: Search { follow: None, purpose: None, ..search.search() },
            every: every(members.text("every")?)?,
            notify_on,
            webhook: webhook(&members)?,
            idempotency: None,
        };
        Ok(Self { search, watch })
    }
}

/// The changes of a watch. What is not given stays as it is.
#[derive(Debug, ToSchema)]
pub struct WatchChangeBody {
    /// New time between two runs: a number of minutes (`m`), hours (`h`) or days (`d`), from 1 hour to 30 days.
    #[schema(schema_with = new_interval)]
    pub every: Option<String>,
    /// New kinds of changes that webhooks get.
    #[schema(min_items = 1)]
    pub notify_on: Option<Vec<ChangeKind>>,
    /// Webhook that gets the events from now on. `null` stands for all webhooks that have subscribed to `watch.changed`.
    #[schema(value_type = Option<uuid::Uuid>, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ac"))]
    pub webhook_id: Option<WebhookId>,
    /// `paused` starts no further runs; `active` starts them again. A run that was due meanwhile then starts at once.
    pub state: Option<WatchState>,
}

impl WatchChangeBody {
    pub(super) fn read(request: &Request) -> Result<WatchUpdate, ApiError> {
        decode::require_json(request)?;
        let members = object(&request.body)?;
        let names = members.optional("notify_on", |members, field| members.names(field, 1))?;
        let notify_on = names.map(|names| kinds(names.iter().map(String::as_str)));
        Ok(WatchUpdate {
            every: members.optional("every", Members::text)?.map(every).transpose()?,
            notify_on: notify_on.transpose()?,
            webhook: members.get("webhook_id").map(|_| webhook(&members)).transpose()?,
            state: members.optional("state", Members::text)?.map(state).transpose()?,
            is_due: false,
        })
    }
}

fn every(text: &str) -> Result<Interval, ApiError> {
    text.parse().map_err(|error| {
        let allowed = format!("{} to {}, such as 12h", Interval::SHORTEST, Interval::LONGEST);
        let message = ToString::to_string(&error);
        ApiError::invalid_request("every", message, allowed)
    })
}

fn webhook(members: &Members) -> Result<Option<WebhookId>, ApiError> {
    let id = members.optional("webhook_id", Members::text)?.map(str::parse).transpose();
    id.map_err(|_| ApiError::invalid_request("webhook_id", "invalid id", "the hyphenated form of a UUID"))
}

fn state(text: &str) -> Result<WatchState, ApiError> {
    WatchState::from_name(text).ok_or_else(|| {
        ApiError::invalid_request(
            "state",
            "the state is unknown",
            &WatchState::ALL.map(WatchState::as_str)[..],
        )
    })
}

impl ToSchema for WatchBody {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("WatchRequest")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.extend(SearchType::ALL.map(|of| (schema_name(of).to_owned(), of_type(of))));
    }
}

impl PartialSchema for WatchBody {
    fn schema() -> RefOr<Schema> {
        let mut any = OneOfBuilder::new().description(Some(
            "The search that is repeated, with its options, and how often. Unknown members are ignored, and so are those of \
             a single search (`wait`, `stream`, `follow`, `purpose`); an optional one that is null counts as not given.",
        ));
        let mut mapping = Vec::new();
        for search_type in SearchType::ALL {
            let reference = Ref::from_schema_name(schema_name(search_type));
            mapping.push((search_type.as_str(), reference.ref_location.clone()));
            any = any.item(reference);
        }
        any.discriminator(Some(Discriminator::with_mapping("type", mapping))).into()
    }
}

fn schema_name(search_type: SearchType) -> &'static str {
    match search_type {
        SearchType::Domain => "DomainWatch",
        SearchType::Email => "EmailWatch",
        SearchType::Username => "UsernameWatch",
    }
}

/// Returns the schema of the member `every`. Its description begins with `begin`.
fn interval(begin: &str) -> ObjectBuilder {
    let range = "a number of minutes (`m`), hours (`h`) or days (`d`), from 1 hour to 30 days";
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(format!("{begin} between two runs: {range}.")))
        .pattern(Some(EVERY))
}

fn new_interval() -> Object {
    interval("New time")
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .examples([json!("12h")])
        .build()
}

fn of_type(search_type: SearchType) -> RefOr<Schema> {
    let every = interval("Time").examples([json!("1d")]);
    let kind = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(ChangeKind::ALL.map(ChangeKind::as_str)));
    let notify_on = ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .description(Some("Kinds of changes that webhooks get; all if it is not given."))
        .items(kind)
        .min_items(Some(1))
        .examples([json!(["added", "removed"])]);
    let webhook = ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Uuid)))
        .description(Some(
            "Webhook that gets the events, whatever it has subscribed to. If it is not given, all webhooks get them that \
             have subscribed to `watch.changed`.",
        ))
        .examples([json!("018f4a7e-5c1d-7b3a-9e2f-0123456789ac")]);
    search_schema::choice_of_type(search_type)
        .description(Some(format!("A watch for {}.", search_type.allowed())))
        .property("every", every)
        .property("notify_on", notify_on)
        .property("webhook_id", webhook)
        .required("every")
        .into()
}
