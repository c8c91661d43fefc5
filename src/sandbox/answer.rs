//! Answers of simulated sites, and the reactions of those that misbehave.

use std::time::{Duration, Instant};

use ureq::http::HeaderValue;
use url::Url;

use super::world::SiteBehavior;
use crate::modules::definition::Method;
use crate::modules::probe::{CookieJar, ProbeError, Request, Response};
use crate::modules::reason::Reason;

/// Returns the answer of a site to a request for `url`, with a body of the given content type.
pub(super) fn answer(url: &Url, status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Response {
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    Response { status, final_url: url.clone(), headers, body: body.into(), truncated: false }
}

/// Returns whether HTTP carries the answer without changes. Clients trim white space in headers.
pub(super) fn is_sendable(answer: &Response) -> bool {
    let is_bodiless = matches!(answer.status, 204 | 304);
    (200..=599).contains(&answer.status)
        && (!is_bodiless || answer.body.is_empty())
        && answer
            .headers
            .iter()
            .all(|(_, value)| HeaderValue::from_str(value).is_ok() && value.trim() == value)
}

/// Returns the answer as a client that reads at most `limit` bytes of the body gets it.
pub(super) fn cut(mut answer: Response, limit: usize) -> Response {
    answer.headers.push(("content-length".to_owned(), answer.body.len().to_string()));
    answer.truncated = answer.body.len() > limit;
    answer.body.truncate(limit);
    answer
}

/// Returns the answer as a prober gets it, and stores its cookies.
///
/// # Errors
/// Returns an error if the answer redirects to an address that never answers differently.
pub(super) fn sent(
    mut answer: Response,
    request: &Request,
    jar: &mut CookieJar,
) -> Result<Response, ProbeError> {
    if request.method == Method::Head {
        answer.body.clear();
    }
    let answer = cut(answer, request.body_limit);
    let redirects = (300..400).contains(&answer.status) && answer.header("location").is_some();
    if redirects && request.max_redirects > 0 {
        return Err(Reason::Redirect.because("in a circle"));
    }
    for (_, cookie) in answer.headers.iter().filter(|(name, _)| name == "set-cookie") {
        jar.store(answer.final_url.host_str().unwrap_or_default(), cookie);
    }
    Ok(answer)
}

/// Waits for an answer that comes after `delay`.
///
/// # Errors
/// Returns an error at the deadline if the answer comes later.
pub(super) fn wait(delay: Duration, deadline: Instant) -> Result<(), ProbeError> {
    let left = deadline.saturating_duration_since(Instant::now());
    std::thread::sleep(delay.min(left));
    if delay <= left { Ok(()) } else { Err(ProbeError::late(Reason::TimeoutFirstByte)) }
}

/// The address to which a site with a login page redirects.
const LOGIN: &str = "/login?next=%2F";

/// Returns the reaction of a site with the given behaviour, or `None` if the site answers as its module expects.
/// `dice` is a number that depends on the site.
pub(super) fn reaction(
    behavior: SiteBehavior,
    request: &Request,
    dice: u64,
) -> Option<Result<Response, ProbeError>> {
    let url = &request.url;
    Some(Ok(match behavior {
        SiteBehavior::Clear | SiteBehavior::Slow | SiteBehavior::SaysYes | SiteBehavior::Silent => {
            return None;
        }
        SiteBehavior::Reset => {
            return Some(Err(Reason::Connect.because("the site reset the connection")));
        }
        SiteBehavior::Blocked => challenge(url, dice),
        SiteBehavior::RateLimited => {
            page(url, 429, "Too Many Requests", "You are asking too often.", &[("retry-after", "30")])
        }
        SiteBehavior::Broken => {
            page(url, 500, "Internal Server Error", "Something went wrong on our side.", &[])
        }
        SiteBehavior::Empty => Response { headers: Vec::new(), ..answer(url, 200, "", "") },
        SiteBehavior::LoginPage if request.max_redirects == 0 => {
            page(url, 302, "Found", "Please sign in.", &[("location", LOGIN)])
        }
        SiteBehavior::LoginPage => login(&url.join(LOGIN).unwrap_or_else(|_| url.clone())),
    }))
}

fn page(url: &Url, status: u16, title: &str, text: &str, headers: &[(&str, &str)]) -> Response {
    let body = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>{text}</p>\n</body>\n</html>\n"
    );
    let mut page = answer(url, status, "text/html; charset=utf-8", body);
    page.headers.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    page
}

/// Returns a challenge page like those of a large content delivery network.
fn challenge(url: &Url, dice: u64) -> Response {
    let status = if dice.is_multiple_of(2) { 403 } else { 503 };
    let text = "Checking your browser before accessing this site. Enable JavaScript and cookies to continue.\
                <script src=\"/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1\"></script>";
    let ray = format!("{dice:016x}-LIS");
    let headers = [("server", "cloudflare"), ("cf-mitigated", "challenge"), ("cf-ray", &ray)];
    page(url, status, "Just a moment...", text, &headers)
}

fn login(url: &Url) -> Response {
    let form = "<form action=\"/login\" method=\"post\"><input type=\"text\" name=\"user\">\
                <input type=\"password\" name=\"password\"><button>Log in</button></form>";
    page(url, 200, "Log in", form, &[])
}
