//! Pages of lists, with the addresses of other pages in `Link` (RFC 8288).

use std::fmt::{Display, Write as _};
use std::str::FromStr;

use serde::Serialize;
use url::form_urlencoded::Serializer;
use utoipa::IntoParams;

use super::context::{Api, Call, json_response};
use super::decode;
use super::error::ApiError;
use crate::http::{Reply, Request};

/// The parameters of lists that the links repeat. Others are unknown or belong to one page.
const KEPT: [&str; 5] = ["limit", "type", "status", "root_run_id", "tag"];

/// The query parameters of a list whose cursor is an id.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageParameters {
    /// The most items on one page.
    #[param(required = false, value_type = usize, minimum = 1, maximum = 100, default = 20, example = 50)]
    pub(super) limit: usize,
    /// Start of the page: the `next_cursor` of an earlier answer.
    #[param(value_type = Option<uuid::Uuid>, example = "018f4a7e-5c1d-7b3a-9e2f-0123456789ad")]
    cursor: Option<String>,
}

impl PageParameters {
    pub(super) fn read(request: &Request) -> Result<Self, ApiError> {
        Ok(Self { limit: limit(request)?, cursor: decode::parameter(request, "cursor")? })
    }

    pub(super) fn cursor<C: FromStr>(&self) -> Result<Option<C>, ApiError> {
        self.cursor.as_deref().map(parse_cursor).transpose()
    }
}

/// Returns `limit`: the most items on one page (`src/manual/api.md`).
pub(super) fn limit(request: &Request) -> Result<usize, ApiError> {
    decode::number_parameter(request, "limit", (1, 100, 20)).map(|limit| limit as usize)
}

/// Returns `cursor`: where the page begins.
pub(super) fn cursor<C: FromStr>(request: &Request) -> Result<Option<C>, ApiError> {
    decode::parameter(request, "cursor")?.as_deref().map(parse_cursor).transpose()
}

fn parse_cursor<C: FromStr>(text: &str) -> Result<C, ApiError> {
    let allowed = "the next_cursor of an earlier answer";
    text.parse().map_err(|_| ApiError::invalid_request("cursor", "invalid cursor", allowed))
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
