//! Pages of lists, with the addresses of other pages in `Link` (RFC 8288).

use std::fmt::{Display, Write as _};

use serde::{Deserialize, Deserializer, Serialize};
use url::form_urlencoded::Serializer;
use utoipa::IntoParams;
use uuid::Uuid;

use super::context::{Api, Call, json_response};
use super::request;
use crate::http::{Reply, Request};

/// The parameters of lists that the links repeat. Others are unknown or belong to one page.
const KEPT: [&str; 5] = ["limit", "type", "status", "root_run_id", "tag"];

/// The query parameters of a list whose cursor is an id.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParameters {
    /// The most items on one page.
    #[serde(default = "default_limit", deserialize_with = "limit")]
    #[param(required = false, minimum = 1, maximum = 100, default = 20, example = 50)]
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

/// Cuts items, of which one more than `limit` was read, to a page. Returns the last one if there are more.
pub(super) fn cut<T>(items: &mut Vec<T>, limit: usize) -> Option<&T> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    items.last().filter(|_| has_more)
}

impl Api {
    /// Returns a page of a list. `Link` has the address of the first page, and of the next one where `next` is the value
    /// of `cursor` for it.
    pub(super) fn page(&self, call: &Call<'_>, body: &impl Serialize, next: Option<&impl Display>) -> Reply {
        let next = next.map(|next| ("cursor", next.to_string()));
        Reply::Now(json_response(200, body).with_header("Link", self.links(call.request, next)))
    }

    /// Returns the value of `Link` for a page. `next` is the parameter that leads to the next one.
    pub(super) fn links(&self, request: &Request, next: Option<(&str, String)>) -> String {
        let path = format!("{}{}", self.root, request.path.trim_end_matches('/'));
        let mut links = format!("<{}>; rel=\"first\"", address(&path, request, None));
        if let Some((name, value)) = next {
            let next = address(&path, request, Some((name, &value)));
            // Writing to a String does not fail.
            let _ = write!(links, ", <{next}>; rel=\"next\"");
        }
        links
    }
}

/// Returns the address of a page, relative to the server's origin.
fn address(path: &str, request: &Request, place: Option<(&str, &str)>) -> String {
    let kept = request.query_pairs().into_iter().filter(|(name, _)| KEPT.contains(&name.as_str()));
    let query = Serializer::new(String::new()).extend_pairs(kept).extend_pairs(place).finish();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
}
