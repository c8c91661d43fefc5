//! Fetches a picture through the same guarded prober as every check.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use log::{debug, error};
use url::Url;

use super::picture::Picture;
use crate::modules::definition::{Method, Via};
use crate::modules::probe::{CookieJar, Prober, Request, Trace};

/// The most bytes of a picture's file.
pub const MAX_FILE_BYTES: usize = 512 * 1024;
/// The most redirects that are followed to a picture, as for a check.
const MAX_REDIRECTS: u8 = 5;
const ACCEPT: &str = "image/webp,image/png,image/jpeg,image/gif;q=0.9";

/// Fetches and decodes the picture at an address until `deadline` at most. Returns `None` if there is no picture within
/// the limits: that is no failure of the site.
pub(in crate::runs) fn fetch(
    prober: &dyn Prober,
    url: Url,
    trace: Trace,
    deadline: Instant,
) -> Option<Picture> {
    // A decoder that panics ends only this picture.
    let attempt = AssertUnwindSafe(|| fetch_unguarded(prober, url, trace, deadline));
    catch_unwind(attempt).unwrap_or_else(|_| {
        error!("a picture broke its decoder");
        None
    })
}

fn fetch_unguarded(prober: &dyn Prober, url: Url, trace: Trace, deadline: Instant) -> Option<Picture> {
    let module = trace.module.clone();
    let request = Request {
        method: Method::Get,
        via: Via::Http,
        url,
        headers: vec![("Accept".into(), ACCEPT.into())],
        body: None,
        max_redirects: MAX_REDIRECTS,
        body_limit: MAX_FILE_BYTES,
        render: None,
        trace,
    };
    let answer = match prober.send(&request, &mut CookieJar::default(), deadline) {
        Ok(answer) if answer.status == 200 && !answer.truncated => answer,
        Ok(answer) => {
            debug!("no picture for {module}: status {}, truncated: {}", answer.status, answer.truncated);
            return None;
        }
        Err(error) => {
            debug!("no picture for {module}: {}", error.reason());
            return None;
        }
    };
    match Picture::decode(&answer.body, deadline) {
        Ok(picture) => picture,
        Err(refusal) => {
            debug!("no picture for {module}: {refusal}");
            None
        }
    }
}
