//! The landing page, Swagger UI and ReDoc, with their content security policies.

use std::sync::LazyLock;

use askama::Template;

use super::frame::{Frame, Page};

/// Allows our own styles and images.
const LANDING_POLICY: &str = "form-action 'none'; style-src 'self'; img-src 'self'";
/// For Swagger UI, whose stylesheet contains its images. Browsers let it send requests to this server only.
const SWAGGER_UI_POLICY: &str =
    "form-action 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'";
/// For ReDoc, which writes two style elements: an empty one that it fills with rules, and one for its scroll
/// bar.
const REDOC_POLICY: &str = "form-action 'none'; script-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self' \
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='";

pub(super) static LANDING: LazyLock<Page> = LazyLock::new(|| landing(false));
pub(super) static SANDBOX_LANDING: LazyLock<Page> = LazyLock::new(|| landing(true));
pub(super) static SWAGGER_UI: LazyLock<Page> = LazyLock::new(|| {
    Page::new(&SwaggerUiPage { frame: Frame { root: "", here: "docs" } }, SWAGGER_UI_POLICY)
});
pub(super) static REDOC: LazyLock<Page> =
    LazyLock::new(|| Page::new(&RedocPage { frame: Frame { root: "", here: "redoc" } }, REDOC_POLICY));

#[derive(Template)]
#[template(path = "landing.html", config = "src/api/docs/askama.toml")]
struct LandingPage {
    frame: Frame,
    /// Whether a simulated web answers every search.
    sandbox: bool,
}

#[derive(Template)]
#[template(path = "swagger-ui.html", config = "src/api/docs/askama.toml")]
struct SwaggerUiPage {
    frame: Frame,
}

#[derive(Template)]
#[template(path = "redoc.html", config = "src/api/docs/askama.toml")]
struct RedocPage {
    frame: Frame,
}

fn landing(sandbox: bool) -> Page {
    Page::new(&LandingPage { frame: Frame { root: "", here: "" }, sandbox }, LANDING_POLICY)
}
