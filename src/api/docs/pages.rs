//! The pages and their content security policies.

use std::sync::{Arc, LazyLock};

use super::assets::with_addresses;
use crate::http::{Reply, Request, Response, StaticFile};

/// The part of the policy that all pages share: each page loads only what its own part allows, and no page
/// may be framed.
const BASE_POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
/// Allows our own styles and images.
const LANDING_POLICY: &str = "form-action 'none'; style-src 'self'; img-src 'self'";
/// Allows our own styles and images, and search forms.
pub(super) const MANUAL_POLICY: &str = "form-action 'self'; style-src 'self'; img-src 'self'";
/// For Swagger UI, whose stylesheet contains its images. Browsers let it send requests to this server only.
const SWAGGER_UI_POLICY: &str =
    "form-action 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'";
/// For ReDoc, which writes two style elements: an empty one that it fills with rules, and one for its scroll
/// bar.
const REDOC_POLICY: &str = "form-action 'none'; script-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self' \
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='";

/// The markers around the part of a template that only a sandbox shows.
const SANDBOX_BEGINS: &str = "<!-- sandbox -->";
const SANDBOX_ENDS: &str = "<!-- /sandbox -->";

pub(super) static LANDING: LazyLock<Page> =
    LazyLock::new(|| Page::new(&without_sandbox(include_str!("pages/landing.html")), LANDING_POLICY));
pub(super) static SANDBOX_LANDING: LazyLock<Page> =
    LazyLock::new(|| Page::new(include_str!("pages/landing.html"), LANDING_POLICY));
pub(super) static SWAGGER_UI: LazyLock<Page> =
    LazyLock::new(|| Page::new(&reference("docs", include_str!("pages/swagger-ui.html")), SWAGGER_UI_POLICY));
pub(super) static REDOC: LazyLock<Page> =
    LazyLock::new(|| Page::new(&reference("redoc", include_str!("pages/redoc.html")), REDOC_POLICY));

/// A page that is ready to be sent.
pub(super) struct Page {
    file: Arc<StaticFile>,
    /// Content-Security-Policy.
    policy: String,
}

impl Page {
    pub(super) fn new(template: &str, may: &str) -> Self {
        let text = with_addresses(template).replace("{{version}}", env!("CARGO_PKG_VERSION"));
        Self {
            file: Arc::new(StaticFile::plain("text/html; charset=utf-8", text.into_bytes())),
            policy: format!("{BASE_POLICY}; {may}"),
        }
    }

    /// Returns the response. Browsers may store the page but must revalidate it, since its address does not
    /// change with its content.
    pub(super) fn answer(&self, request: &Request) -> Response {
        Response::of_file(&self.file, request)
            .with_header("Cache-Control", "no-cache")
            .with_header("Content-Security-Policy", self.policy.clone())
            .with_header("Referrer-Policy", "no-referrer")
    }
}

/// Answers with a page. With a slash at the end of the path its relative addresses would be wrong, so such a
/// request is redirected.
pub(super) fn show(page: &Page, request: &Request) -> Reply {
    let path = request.path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or_default();
    Reply::Now(if request.path.len() > 1 && request.path.ends_with('/') {
        Response::empty(308).with_header("Location", format!("../{name}"))
    } else {
        page.answer(request)
    })
}

/// Returns the template of the page with this address that shows the reference with these styles and scripts.
fn reference(address: &str, assets: &str) -> String {
    let link = format!("<a href=\"{address}\"");
    include_str!("pages/reference.html")
        .replace(&link, &format!("{link} aria-current=\"page\""))
        .replace("{{assets}}", assets)
}

fn without_sandbox(template: &str) -> String {
    let parts = template
        .split_once(SANDBOX_BEGINS)
        .and_then(|(before, rest)| Some((before, rest.split_once(SANDBOX_ENDS)?.1)));
    parts.map_or_else(|| template.to_owned(), |(before, after)| format!("{before}{after}"))
}
