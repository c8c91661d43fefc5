//! Thumbnails of profile pictures.

use std::sync::Arc;

use super::context::{Api, Call};
use super::decode::IfNoneMatch;
use super::error::ApiError;
use crate::http::{Reply, Response, StaticFile};

/// Gets the profile picture of a result.
///
/// A search with `avatars` fetches the pictures of the accounts that it finds. A result whose picture was fetched has
/// `metadata.avatar`: `sha256` of the file, and `phash`, a perceptual hash of 64 bits, unless the picture has only one or
/// two colours. The service keeps a small copy of 64 by 64 pixels, which it has drawn itself, until the run is deleted.
/// Costs no credits.
#[utoipa::path(
    get,
    path = "/v1/searches/{run_id}/thumbnails/{result_id}",
    operation_id = "getThumbnail",
    tag = "Searches",
    params(
        ("result_id" = u32, Path, minimum = 1, example = 1,
            description = "The number of the result in its run. 404 if it has no picture."),
        IfNoneMatch,
    ),
    responses(
        (status = 200, description = "The picture.", content((String = "image/png")),
            headers(("ETag" = String), ("Content-Security-Policy" = String))),
        (status = 304, description = "The caller's copy is current.",
            headers(("ETag" = String), ("Content-Security-Policy" = String))),
    )
)]
pub fn thumbnail(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let found = api.find(call)?;
    let result = call.segments.get("result_id").and_then(|id| id.parse().ok());
    let png = result.map(|result| api.runs.reader.thumbnail(found.id(), result)).transpose()?.flatten();
    let png = png.ok_or_else(|| ApiError::not_found("this result has no picture"))?;
    let file = Arc::new(StaticFile::plain("image/png", png));
    let response = Response::of_file(&file, call.request)
        .with_header("Cache-Control", "private, max-age=86400, immutable")
        .with_header("Content-Security-Policy", "default-src 'none'");
    Ok(Reply::Now(response))
}
