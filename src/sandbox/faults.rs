//! The reactions of sites that misbehave.

use super::answer::Answer;
use super::options::SiteBehavior;
use crate::modules::probe::{ProbeError, Request};

/// The `Retry-After` of a rate-limit page, in seconds.
const RETRY_AFTER_SECS: u64 = 30;

/// The address to which a site with a login page redirects.
const LOGIN: &str = "/login?next=%2F";

/// Returns the reaction of a site with the given behaviour, or `None` if the site answers as its module expects.
/// `dice` is a number that depends on the site.
pub(super) fn answer(
    behavior: SiteBehavior,
    request: &Request,
    dice: u64,
) -> Option<Result<Answer, ProbeError>> {
    Some(Ok(match behavior {
        SiteBehavior::Clear | SiteBehavior::Slow | SiteBehavior::SaysYes | SiteBehavior::Silent => {
            return None;
        }
        SiteBehavior::Reset => return Some(Err(ProbeError::Connect("the site reset the connection".into()))),
        SiteBehavior::Blocked => challenge(dice),
        SiteBehavior::RateLimited => too_many(),
        SiteBehavior::Broken => page(500, "Internal Server Error", "Something went wrong on our side."),
        SiteBehavior::Empty => Answer { status: 200, ..Answer::default() },
        SiteBehavior::LoginPage if request.max_redirects == 0 => {
            page(302, "Found", "Please sign in.").with_header("Location", LOGIN)
        }
        SiteBehavior::LoginPage => Answer { moved_to: request.url.join(LOGIN).ok(), ..login() },
    }))
}

fn page(status: u16, title: &str, text: &str) -> Answer {
    let body = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>{text}</p>\n</body>\n</html>\n"
    );
    Answer::new(status, "text/html; charset=utf-8", body)
}

/// Returns a challenge page like those of a large content delivery network.
fn challenge(dice: u64) -> Answer {
    let status = if dice.is_multiple_of(2) { 403 } else { 503 };
    let text = "Checking your browser before accessing this site. Enable JavaScript and cookies to continue.\
                <script src=\"/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1\"></script>";
    page(status, "Just a moment...", text)
        .with_header("Server", "cloudflare")
        .with_header("CF-Mitigated", "challenge")
        .with_header("CF-RAY", format!("{dice:016x}-LIS"))
}

fn too_many() -> Answer {
    page(429, "Too Many Requests", "You are asking too often.")
        .with_header("Retry-After", RETRY_AFTER_SECS.to_string())
}

fn login() -> Answer {
    let form = "<form action=\"/login\" method=\"post\"><input type=\"text\" name=\"user\">\
                <input type=\"password\" name=\"password\"><button>Log in</button></form>";
    page(200, "Log in", form)
}

/// Returns the page of a site for which no answer can be made from the module's rules.
pub(super) fn unplayable() -> Answer {
    page(501, "Not Implemented", "The simulated web cannot simulate this site.")
}
