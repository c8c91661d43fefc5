//! Scripts, styles and images. Those of other projects are written by `scripts/docs-assets`, compressed.

use std::sync::{Arc, LazyLock};

use crate::http::{Asset, Assets, StaticFile};

/// The licences of the files of other projects.
pub(super) static LICENSES: LazyLock<Arc<StaticFile>> = LazyLock::new(|| {
    let text = include_bytes!("assets/licenses.txt").as_slice();
    Arc::new(StaticFile::plain("text/plain; charset=utf-8", text))
});

/// The icon of Sightline.
pub(super) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::plain("icon.svg", include_bytes!("assets/icon.svg")));

/// All files. Each has the name by which templates and pages of the manual refer to it.
pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets(vec![
        Asset::gzipped("swagger-ui-bundle.js", include_bytes!("assets/swagger-ui-bundle.js.gz")),
        Asset::gzipped("swagger-ui.css", include_bytes!("assets/swagger-ui.css.gz")),
        Asset::gzipped("redoc.standalone.js", include_bytes!("assets/redoc.standalone.js.gz")),
        Asset::plain("begin-swagger-ui.js", include_bytes!("assets/begin-swagger-ui.js")),
        Asset::plain("begin-redoc.js", include_bytes!("assets/begin-redoc.js")),
        Asset::plain("pages.css", include_bytes!("assets/pages.css")),
        Asset::plain("manual.css", include_bytes!("assets/manual.css")),
        ICON.clone(),
        Asset::plain("follow-the-leads.png", include_bytes!("../../manual/follow-the-leads.png")),
        Asset::plain("follow-the-leads-card.png", include_bytes!("../../manual/follow-the-leads-card.png")),
        Asset::plain(
            "follow-the-leads-family.png",
            include_bytes!("../../manual/follow-the-leads-family.png"),
        ),
    ])
});
