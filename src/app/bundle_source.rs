//! Reads a catalogue bundle from a file or from the web.

use std::path::Path;
use std::time::{Duration, Instant};

use url::Url;

use super::engine::net_config;
use super::error::AppError;
use crate::base::address::is_loopback;
use crate::config::EngineConfig;
use crate::modules::catalog::{MAX_FILE_BYTES, decode, read_file};
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, Prober as _, Request, Trace};
use crate::net::HttpProber;

/// The longest time for a download.
const DOWNLOAD_TIME: Duration = Duration::from_secs(120);
/// The most redirects of a download.
const MAX_REDIRECTS: u8 = 5;

/// Returns the text of a bundle. `source` is a path, or an `https://` address, which is asked as sites are.
///
/// # Errors
/// Fails if the bundle cannot be read, or is larger than [`MAX_FILE_BYTES`].
pub fn read_bundle(source: &str, engine: &EngineConfig) -> Result<String, AppError> {
    let text = match Url::parse(source) {
        Ok(url) if url.has_host() => download(url, engine)?,
        _ => read_file(Path::new(source)).map_err(AppError::failed)?,
    };
    Ok(text)
}

fn download(url: Url, engine: &EngineConfig) -> Result<String, AppError> {
    check_scheme(&url, engine)?;
    let request = Request {
        method: Method::Get,
        via: Via::Http,
        url,
        headers: Vec::new(),
        body: None,
        max_redirects: MAX_REDIRECTS,
        body_limit: usize::try_from(MAX_FILE_BYTES).unwrap_or(usize::MAX),
        render: None,
        trace: Trace { module: "catalogue-bundle".into(), probe: 0, query: "".into(), control: false },
    };
    let response = HttpProber::new(net_config(engine))
        .send(&request, &mut CookieJar::default(), Instant::now() + DOWNLOAD_TIME)
        .map_err(AppError::failed)?;
    check_scheme(&response.final_url, engine)?;
    if response.status != 200 {
        return Err(AppError::failed(format!(
            "the answer has the status {}, only 200 is allowed",
            response.status
        )));
    }
    if response.truncated {
        return Err(AppError::failed(format!(
            "it has more than {MAX_FILE_BYTES} bytes, which is the most that is read"
        )));
    }
    decode(response.body).map_err(AppError::failed)
}

/// Refuses an address without TLS, except on this machine in a lab.
fn check_scheme(url: &Url, engine: &EngineConfig) -> Result<(), AppError> {
    let is_lab = engine.allow_private_targets && is_loopback(url) && url.scheme() == "http";
    if url.scheme() == "https" || is_lab {
        return Ok(());
    }
    let message = "a file or an https:// address is allowed, and http:// only on this machine with --allow-private-targets";
    Err(AppError::config(message))
}
