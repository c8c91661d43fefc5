//! Styles, scripts and the icon. The binary contains them. Their addresses contain a hash of their content.

use std::sync::LazyLock;

use crate::http::{Asset, StaticFile};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

/// All files with their name in templates, content type and text. Each line is one file.
static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let asset = |name, kind, text: &str| Asset::new(name, StaticFile::plain(kind, text.as_bytes()));
    vec![
        asset(
            "app.css",
            STYLE,
            concat!(
                include_str!("../report/html/outcomes.css"),
                include_str!("assets/app.css"),
                include_str!("../report/html/parts.css"),
            ),
        ),
        asset("app.js", SCRIPT, APP),
        asset("icon.svg", PICTURE, include_str!("../api/docs/assets/icon.svg")),
    ]
});

/// The scripts of all pages in one file, to keep the number of requests low. The first applies to every page,
/// the others do nothing on pages that are not theirs. Each has its own scope.
const APP: &str = concat!(
    include_str!("assets/app.js"),
    "{\n",
    include_str!("assets/search.js"),
    "}\n{\n",
    include_str!("assets/live/frames.js"),
    include_str!("assets/live/build.js"),
    include_str!("assets/live/result.js"),
    include_str!("assets/live/notes.js"),
    include_str!("assets/live/results.js"),
    include_str!("assets/live/loader.js"),
    include_str!("assets/live/coverage.js"),
    include_str!("assets/live/chips.js"),
    include_str!("assets/live/leads.js"),
    include_str!("assets/live/page.js"),
    "}\n{\n",
    include_str!("assets/operator.js"),
    "}\n{\n",
    include_str!("assets/graph.js"),
    "}\n{\n",
    include_str!("assets/batch.js"),
    "}\n{\n",
    include_str!("assets/refresh.js"),
    "}\n",
);

/// Returns the last segment of the address of the asset with this name.
pub(super) fn address(name: &str) -> &'static str {
    ASSETS.iter().find(|asset| asset.name == name).map_or("", |asset| &asset.address)
}

/// Returns the asset whose address ends with this segment, or `None` if there is none. One of another version is not
/// found.
pub(super) fn find(segment: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.address == segment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asset_addresses_contain_a_fingerprint() {
        assert!(address("app.css").starts_with("app-") && address("app.css").ends_with(".css"));
        assert_eq!(address("other.css"), "");
    }
}
