//! The reactions of sites that misbehave.

use url::Url;

use super::answer::answer;
use super::options::SiteBehavior;
use crate::modules::probe::{ProbeError, Request, Response};

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
        SiteBehavior::Reset => return Some(Err(ProbeError::Connect("the site reset the connection".into()))),
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
