//! The pages, and what each may load.

use std::sync::{Arc, LazyLock};

use super::assets::with_addresses;
use crate::http::{Request, Response, StaticFile};

/// What holds for every page: nothing but what its own line adds, and nobody may frame it.
const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// Styles and pictures of our own.
const LANDING_MAY: &str = "style-src 'self'; img-src 'self'";
/// Swagger UI's stylesheet has its pictures inside. It asks our API, and no other: the browser sees to it.
const SWAGGER_UI_MAY: &str = "script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'";
/// ReDoc writes two style elements: an empty one that it fills rule by rule, and its scroll bar's.
const REDOC_MAY: &str = "script-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self' \
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='";

/// In a template: the part that only a sandbox shows.
const SANDBOX_BEGINS: &str = "<!-- sandbox -->";
const SANDBOX_ENDS: &str = "<!-- /sandbox -->";

pub(super) static LANDING: LazyLock<Page> =
    LazyLock::new(|| Page::new(&without_sandbox(include_str!("pages/landing.html")), LANDING_MAY));
pub(super) static SANDBOX_LANDING: LazyLock<Page> =
    LazyLock::new(|| Page::new(include_str!("pages/landing.html"), LANDING_MAY));
pub(super) static SWAGGER_UI: LazyLock<Page> =
    LazyLock::new(|| Page::new(include_str!("pages/swagger-ui.html"), SWAGGER_UI_MAY));
pub(super) static REDOC: LazyLock<Page> =
    LazyLock::new(|| Page::new(include_str!("pages/redoc.html"), REDOC_MAY));

/// A page, ready to be sent.
pub(super) struct Page {
    file: Arc<StaticFile>,
    /// Content-Security-Policy.
    policy: String,
}

impl Page {
    fn new(template: &str, may: &str) -> Self {
        let text = with_addresses(template).replace("{{version}}", env!("CARGO_PKG_VERSION"));
        Self {
            file: Arc::new(StaticFile::plain("text/html; charset=utf-8", text.into_bytes())),
            policy: format!("{NOTHING}; {may}"),
        }
    }

    /// The page: kept by browsers, but asked about each time, since its address stays when it changes.
    pub(super) fn answer(&self, request: &Request) -> Response {
        self.file
            .answer(request)
            .with_header("Cache-Control", "no-cache")
            .with_header("Content-Security-Policy", self.policy.clone())
            .with_header("Referrer-Policy", "no-referrer")
    }
}

fn without_sandbox(template: &str) -> String {
    let parts = template
        .split_once(SANDBOX_BEGINS)
        .and_then(|(before, rest)| Some((before, rest.split_once(SANDBOX_ENDS)?.1)));
    parts.map_or_else(|| template.to_owned(), |(before, after)| format!("{before}{after}"))
}
