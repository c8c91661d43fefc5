//! Pages of lists, with the addresses of other pages in `Link` (RFC 8288).

use std::fmt::{Display, Write as _};

use serde::Serialize;
use url::form_urlencoded::Serializer;

use super::context::{Api, Call, json_response};
use crate::http::{Reply, Request};

/// The parameters of lists that the links repeat. Others are unknown or belong to one page.
const KEPT: [&str; 4] = ["limit", "type", "status", "root_run_id"];

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
