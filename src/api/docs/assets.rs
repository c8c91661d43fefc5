//! Scripts, styles and images. Those of other projects are written by `scripts/docs-assets`, compressed.

use std::sync::{Arc, LazyLock};

use crate::http::{Asset, StaticFile};

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PICTURE: &str = "image/svg+xml";
const SCREENSHOT: &str = "image/png";

/// The licences of the files of other projects.
pub(super) static LICENSES: LazyLock<Arc<StaticFile>> = LazyLock::new(|| {
    let text = include_bytes!("assets/licenses.txt").as_slice();
    Arc::new(StaticFile::plain("text/plain; charset=utf-8", text))
});

/// The icon of Sightline.
pub(super) static ICON: LazyLock<Arc<StaticFile>> =
    LazyLock::new(|| Arc::new(StaticFile::plain(PICTURE, include_bytes!("assets/icon.svg").as_slice())));

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let plain = |name, kind, body: &[u8]| Asset::new(name, StaticFile::plain(kind, body));
    let gzipped = |name, kind, body: &[u8]| Asset::new(name, StaticFile::gzipped(kind, body));
    let shot = |name, body: &[u8]| plain(name, SCREENSHOT, body);
    vec![
        gzipped("swagger-ui-bundle.js", SCRIPT, include_bytes!("assets/swagger-ui-bundle.js.gz")),
        gzipped("swagger-ui.css", STYLE, include_bytes!("assets/swagger-ui.css.gz")),
        gzipped("redoc.standalone.js", SCRIPT, include_bytes!("assets/redoc.standalone.js.gz")),
        plain("begin-swagger-ui.js", SCRIPT, include_bytes!("assets/begin-swagger-ui.js")),
        plain("begin-redoc.js", SCRIPT, include_bytes!("assets/begin-redoc.js")),
        plain("pages.css", STYLE, include_bytes!("assets/pages.css")),
        plain("manual.css", STYLE, include_bytes!("assets/manual.css")),
        Asset::new("icon.svg", Arc::clone(&ICON)),
        shot("follow-the-leads.png", include_bytes!("../../manual/follow-the-leads.png")),
        shot("follow-the-leads-card.png", include_bytes!("../../manual/follow-the-leads-card.png")),
        shot("follow-the-leads-family.png", include_bytes!("../../manual/follow-the-leads-family.png")),
    ]
});

/// Returns the asset at `/docs/assets/{address}`.
pub(super) fn find(address: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.address == address)
}

/// Returns a page with `{{head}}` replaced by the beginning that all pages share, and each `{{name}}` by the address of
/// the asset with this name, relative to `/`.
pub(super) fn with_addresses(template: &str) -> String {
    ASSETS.iter().fold(template.replace("{{head}}", include_str!("pages/head.html")), |page, asset| {
        page.replace(&format!("{{{{{}}}}}", asset.name), &format!("docs/assets/{}", asset.address))
    })
}

/// Returns a page of the manual with the address of each picture, relative to `root`.
pub(super) fn with_pictures(page: &str, root: &str) -> String {
    ASSETS.iter().fold(page.to_owned(), |page, asset| {
        let address = format!("src=\"{root}docs/assets/{}\"", asset.address);
        page.replace(&format!("src=\"{}\"", asset.name), &address)
    })
}
