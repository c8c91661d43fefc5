//! Styles, scripts and the icon. The binary contains them. Their addresses contain a hash of their content.

use std::sync::LazyLock;

use crate::http::{Asset, Assets};

/// All files. Each has the name by which templates refer to it.
pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets(vec![
        Asset::plain("app.css", STYLES.as_bytes()),
        Asset::plain("app.js", SCRIPTS.as_bytes()),
        Asset::plain("icon.svg", include_bytes!("../api/docs/assets/icon.svg")),
    ])
});

/// The styles of all pages. Reports share the colours of outcomes, and some parts.
const STYLES: &str = concat!(
    include_str!("../report/html/outcomes.css"),
    include_str!("assets/app.css"),
    include_str!("../report/html/parts.css"),
);

/// The scripts of all pages in one file, to keep the number of requests low. The first applies to every page,
/// the others do nothing on pages that are not theirs. Each has its own scope.
const SCRIPTS: &str = concat!(
    include_str!("assets/app.js"),
    "{\n",
    include_str!("assets/search.js"),
    "}\n{\n",
    include_str!("assets/batch.js"),
    "}\n{\n",
    include_str!("assets/refresh.js"),
    "}\n",
);
