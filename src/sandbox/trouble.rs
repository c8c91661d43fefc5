//! What sites in trouble answer.

use super::options::Mood;
use super::server::Act;
use super::wire::Answer;

/// How long a site that is asked too often wants to be left alone, in seconds.
const RETRY_AFTER_SECS: u64 = 30;

/// Where a site with a login wall leads to.
pub(super) const LOGIN_PATH: &str = "/login";

/// What comes of a request to a site in that mood; `None`: an answer as the module expects it.
/// `first_hop`: the request is not one that a redirect led to. `dice`: a number that belongs to the site.
pub(super) fn act(mood: Mood, first_hop: bool, dice: u64) -> Option<Act> {
    match mood {
        Mood::Clear | Mood::Slow | Mood::SaysYes => None,
        Mood::Blocked => Some(Act::Answer(challenge(dice))),
        Mood::RateLimited => Some(Act::Answer(too_many())),
        Mood::Silent => Some(Act::Silence),
        Mood::Reset => Some(Act::Reset),
        Mood::Broken => {
            Some(Act::Answer(page(500, "Internal Server Error", "Something went wrong on our side.")))
        }
        Mood::Empty => Some(Act::Answer(Answer { status: 200, ..Answer::default() })),
        Mood::Walled if first_hop => Some(Act::Answer(to_login())),
        Mood::Walled => Some(Act::Answer(login())),
    }
}

/// The page for requests that no module sent.
pub(super) fn unknown() -> Answer {
    page(404, "Not part of the simulated web", "This server answers Sightline's own probes only.")
}

fn page(status: u16, title: &str, text: &str) -> Answer {
    let body = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<title>{title}</title>\n</head>\n<body>\n<h1>{title}</h1>\n\
         <p>{text}</p>\n</body>\n</html>\n"
    );
    Answer::new(status, "text/html; charset=utf-8", body)
}

/// What a challenge of a large content network looks like.
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

fn to_login() -> Answer {
    page(302, "Found", "Please sign in.").with_header("Location", format!("{LOGIN_PATH}?next=%2F"))
}

fn login() -> Answer {
    let form = "<form action=\"/login\" method=\"post\"><input type=\"text\" name=\"user\">\
                <input type=\"password\" name=\"password\"><button>Log in</button></form>";
    page(200, "Log in", form)
}

/// The page of a site whose module has no rules that an answer could be made for.
pub(super) fn unplayable() -> Answer {
    page(501, "Not Implemented", "The simulated web cannot play this site.")
}
