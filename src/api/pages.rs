//! Pages of lists.

use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;
use uuid::Uuid;

use super::request;

/// The query parameters of a list whose cursor is an id.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParameters {
    /// The most items on one page.
    #[serde(default = "default_limit", deserialize_with = "limit")]
    #[param(required = false, minimum = 1, maximum = 100, default = 20)]
    pub(super) limit: usize,
    /// Start of the page: the `next_cursor` of an earlier answer.
    #[serde(default, deserialize_with = "request::cursor")]
    #[param(example = "018f4a7e-5c1d-7b3a-9e2f-0123456789ad")]
    pub(super) cursor: Option<Uuid>,
}

/// The most items on one page (`src/manual/api.md`).
pub(super) fn default_limit() -> usize {
    20
}

pub(super) fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
    let limit = request::whole::<_, u8, 1, 100>(deserializer)?;
    Ok(limit.map_or_else(default_limit, usize::from))
}

/// Declares the page of a list: its name, the name and the type of its items, and the type of its cursor with an example.
macro_rules! page_of {
    ($(#[$attribute:meta])* $name:ident $(<$lifetime:lifetime>)? { $items:ident: [$($item:tt)+], $cursor:ident: $example:literal }) => {
        $(#[$attribute])*
        #[derive(Debug, serde::Serialize, utoipa::ToSchema)]
        pub struct $name $(<$lifetime>)? {
            /// Items of this page.
            pub $items: Vec<$($item)+>,
            /// Number of items on this page.
            pub count: usize,
            /// Requested maximum of items on a page.
            pub limit: usize,
            /// Whether there are older items.
            pub has_more: bool,
            /// Value of `cursor` for the next page; null on the last one.
            #[schema(required, value_type = Option<$cursor>, examples($example))]
            pub next_cursor: Option<String>,
        }

        impl $(<$lifetime>)? $name $(<$lifetime>)? {
            /// Answers with a page. `next` is the cursor of the next one.
            pub(super) fn reply(
                $items: Vec<$($item)+>,
                limit: usize,
                next: Option<impl ToString>,
            ) -> crate::http::Reply {
                let next_cursor = next.map(|next| next.to_string());
                let (count, has_more) = ($items.len(), next_cursor.is_some());
                crate::api::context::ok_json(&Self { $items, count, limit, has_more, next_cursor })
            }
        }
    };
}

pub(super) use page_of;
