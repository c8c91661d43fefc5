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
    // A decoder that panics ends only this picture.
    let fetched = catch_unwind(AssertUnwindSafe(|| {
        let answer = prober.send(&request, &mut CookieJar::default(), deadline);
        match answer.map_err(|error| error.reason().to_string())? {
            answer if answer.status == 200 && !answer.truncated => {
                Picture::decode(&answer.body, deadline).map_err(|refusal| refusal.to_string())
            }
            answer => Err(format!("status {}, truncated: {}", answer.status, answer.truncated)),
        }
    }));
    match fetched {
        Ok(Ok(picture)) => picture,
        Ok(Err(why)) => {
            debug!("no picture for {module}: {why}");
            None
        }
        Err(_) => {
            error!("a picture broke its decoder");
            None
        }
    }
}
