//! Styles, scripts and the icon: in the binary, each at an address of its own content.

use std::sync::{Arc, LazyLock};

use super::error::WebError;
use super::service::Web;
use super::visit::Visit;
use crate::http::{Reply, StaticFile};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// Every file there is: its name in templates, its type, its text. To add one, add a line.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    vec![
        Asset::new("app.css", STYLE, include_str!("assets/app.css")),
        Asset::new("app.js", SCRIPT, APP),
        Asset::new("icon.svg", PICTURE, include_str!("assets/icon.svg")),
    ]
});

/// One file, since every page may make few requests: what each page does, then the scripts of single pages, which do
/// nothing elsewhere. Each keeps its names to itself.
const APP: &str = concat!(
    include_str!("assets/app.js"),
    "{\n",
    include_str!("assets/search.js"),
    "}\n{\n",
    include_str!("assets/live/frames.js"),
    include_str!("assets/live/build.js"),
    include_str!("assets/live/result.js"),
    include_str!("assets/live/results.js"),
    include_str!("assets/live/coverage.js"),
    include_str!("assets/live/page.js"),
    "}\n{\n",
    include_str!("assets/operator.js"),
    "}\n",
);

struct Asset {
    /// What templates call it.
    name: &'static str,
    /// The last segment of its address.
    address: String,
    file: Arc<StaticFile>,
}

impl Asset {
    fn new(name: &'static str, kind: &'static str, text: &str) -> Self {
        let file = Arc::new(StaticFile::plain(kind, text.as_bytes()));
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let address = format!("{stem}-{}.{extension}", file.fingerprint());
        Self { name, address, file }
    }
}

/// The last segment of the address of the asset of that name.
pub(super) fn address(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or("", |asset| &asset.address)
}

/// `GET /app/assets/{file}`: the file of this name for ever, since the name holds its fingerprint.
///
/// # Errors
/// 404, also for a file of another version.
#[expect(clippy::needless_pass_by_value, reason = "the route table's form")]
pub(super) fn asset(_: &Arc<Web>, visit: Visit) -> Result<Reply, WebError> {
    let asset = ASSETS.iter().find(|asset| Some(asset.address.as_str()) == visit.segment());
    let response = asset.ok_or_else(WebError::no_such_page)?.file.answer(&visit.request);
    Ok(Reply::Now(response.with_header("Cache-Control", "public, max-age=31536000, immutable")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_a_fingerprint() {
        assert!(address("app.css").starts_with("app-") && address("app.css").ends_with(".css"));
        assert_eq!(address("other.css"), "");
    }
}
