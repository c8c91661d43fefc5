//! The global list.

/// With which answers a wall's marks count.
#[derive(Debug, Clone, Copy)]
pub(super) enum Needs {
    /// All.
    Any,
    /// HTML and plain text with any status.
    Page,
    /// Statuses by which walls refuse (403, 503, …); not 401, which has sign-in forms with captchas.
    Refusal,
    /// Any status from 400 on.
    Failure,
    /// These statuses.
    Status(&'static [u16]),
}

/// One wall: all of its conditions hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wall {
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
    pub(super) needs: Needs,
    /// One of these headers holds this text (lower case); after a `=`: is this text.
    pub(super) headers: &'static [(&'static str, &'static str)],
    /// All of these stand in the first part of the body, in any case.
    pub(super) all: &'static [&'static str],
    /// One of these does.
    pub(super) any: &'static [&'static str],
}

const fn by_header(
    name: &'static str,
    reason: &'static str,
    needs: Needs,
    headers: &'static [(&'static str, &'static str)],
) -> Wall {
    Wall { name, reason, needs, headers, all: &[], any: &[] }
}

const fn by_any(
    name: &'static str,
    reason: &'static str,
    needs: Needs,
    any: &'static [&'static str],
) -> Wall {
    Wall { name, reason, needs, headers: &[], all: &[], any }
}

const fn by_all(
    name: &'static str,
    reason: &'static str,
    needs: Needs,
    all: &'static [&'static str],
) -> Wall {
    Wall { name, reason, needs, headers: &[], all, any: &[] }
}

const CHALLENGE: &str = "challenge";
const CAPTCHA: &str = "captcha";
const BLOCK: &str = "blocked";
const LIMIT: &str = "rate_limit";

pub(super) const WALLS: &[Wall] = &[
    // Limits that come without 429.
    by_header("limit header", LIMIT, Needs::Status(&[403]), &[("x-ratelimit-remaining", "=0")]),
    by_any(
        "limit message",
        LIMIT,
        Needs::Failure,
        &[
            "api rate limit exceeded",
            "you have exceeded a secondary rate limit",
            "you are being rate limited",
            "error code: 1015",
            "<title>too many requests</title>",
            "<title>429 too many requests</title>",
            "<title>rate limit exceeded</title>",
        ],
    ),
    by_any(
        "limit page",
        LIMIT,
        Needs::Page,
        &["<title>429 too many requests</title>", "<title>too many requests</title>"],
    ),
    // Cloudflare. Ordinary pages behind it load scripts from /cdn-cgi/challenge-platform/ too.
    by_header("Cloudflare", CHALLENGE, Needs::Any, &[("cf-mitigated", "challenge")]),
    by_any(
        "Cloudflare",
        CHALLENGE,
        Needs::Refusal,
        &[
            "<title>just a moment...</title>",
            "cf_chl_opt",
            "/cdn-cgi/challenge-platform/",
            "cf-browser-verification",
            "checking your browser before accessing",
        ],
    ),
    by_all("Cloudflare", CHALLENGE, Needs::Page, &["<title>just a moment...</title>", "cf_chl_opt"]),
    by_any(
        "Cloudflare",
        BLOCK,
        Needs::Refusal,
        &["<title>attention required! | cloudflare</title>", "cf-error-details", "error code: 1020"],
    ),
    // DataDome. Its x-datadome header stands on ordinary pages too.
    by_header("DataDome", CAPTCHA, Needs::Refusal, &[("x-dd-b", "")]),
    by_any("DataDome", CAPTCHA, Needs::Refusal, &["captcha-delivery.com"]),
    // PerimeterX (HUMAN).
    by_any(
        "PerimeterX",
        CAPTCHA,
        Needs::Refusal,
        &["px-captcha", "_pxappid", "captcha.px-cdn.net", "captcha.px-cloud.net"],
    ),
    by_all("PerimeterX", CAPTCHA, Needs::Page, &["id=\"px-captcha\"", "_pxappid"]),
    // Akamai.
    by_any("Akamai", BLOCK, Needs::Refusal, &["errors.edgesuite.net", "reference&#32;&#35;"]),
    by_any("Akamai", CHALLENGE, Needs::Page, &["id=\"sec-if-cpt-container\"", "id=\"sec-cpt-if\""]),
    by_any("Akamai", CHALLENGE, Needs::Status(&[428]), &["sec-cpt", "cp_challenge"]),
    // Imperva (Incapsula, Distil). Its script stands on ordinary pages too.
    by_any("Imperva", BLOCK, Needs::Page, &["incapsula incident id"]),
    by_all("Imperva", CHALLENGE, Needs::Page, &["_incapsula_resource", "id=\"main-iframe\""]),
    by_any("Imperva", CHALLENGE, Needs::Page, &["<title>pardon our interruption", "distil_referrer"]),
    // AWS WAF.
    by_header("AWS WAF", CHALLENGE, Needs::Any, &[("x-amzn-waf-action", "challenge")]),
    by_header("AWS WAF", CAPTCHA, Needs::Any, &[("x-amzn-waf-action", "captcha")]),
    by_any(
        "AWS WAF",
        CHALLENGE,
        Needs::Status(&[202, 403, 405]),
        &[".awswaf.com/", "awswafintegration", "awswafcookiedomainlist"],
    ),
    // Sucuri.
    by_any("Sucuri", BLOCK, Needs::Page, &["<title>sucuri website firewall - access denied</title>"]),
    by_any("Sucuri", CHALLENGE, Needs::Page, &["sucuri_cloudproxy_js"]),
    // DDoS-Guard.
    by_any(
        "DDoS-Guard",
        CHALLENGE,
        Needs::Page,
        &["<title>ddos-guard</title>", "/.well-known/ddos-guard/js-challenge"],
    ),
    by_header("DDoS-Guard", CHALLENGE, Needs::Refusal, &[("server", "ddos-guard")]),
    // Anubis, and others that let the browser compute.
    by_any(
        "Anubis",
        CHALLENGE,
        Needs::Page,
        &[
            "id=\"anubis_challenge\"",
            "<title>making sure you&#39;re not a bot!</title>",
            "<title>making sure you're not a bot!</title>",
        ],
    ),
    by_any("Go-away", CHALLENGE, Needs::Page, &["/.well-known/.git.gammaspectra.live/"]),
    by_header(
        "Vercel",
        CHALLENGE,
        Needs::Any,
        &[("x-vercel-mitigated", "challenge"), ("x-vercel-mitigated", "deny")],
    ),
    by_any("Vercel", CHALLENGE, Needs::Page, &["<title>vercel security checkpoint</title>"]),
    by_header("Kasada", CHALLENGE, Needs::Refusal, &[("x-kpsdk-ct", ""), ("x-kpsdk-r", "")]),
    by_any(
        "F5",
        BLOCK,
        Needs::Page,
        &[
            "<title>request rejected</title>",
            "the requested url was rejected. please consult with your administrator",
        ],
    ),
    by_any("StackPath", CHALLENGE, Needs::Page, &["<title>stackpath</title>", "/sbbi/?sbbpg="]),
    by_any("Wordfence", BLOCK, Needs::Refusal, &["generated by wordfence"]),
    // Captchas of any maker: on a refusing answer, or as the very title.
    by_any(
        "captcha",
        CAPTCHA,
        Needs::Refusal,
        &[
            "g-recaptcha",
            "recaptcha/api.js",
            "recaptcha/enterprise.js",
            "h-captcha",
            "hcaptcha.com/1/api.js",
            "cf-turnstile",
            "arkoselabs.com",
            "funcaptcha",
            "smartcaptcha",
            "geetest",
            "friendlycaptcha",
            "verify you are human",
            "verify that you are human",
            "are you a robot",
            "i'm not a robot",
            "prove you are not a robot",
            "unusual activity",
            "unusual traffic",
        ],
    ),
    by_any(
        "captcha",
        CAPTCHA,
        Needs::Page,
        &[
            "<title>captcha</title>",
            "<title>robot check</title>",
            "<title>are you a robot?</title>",
            "<title>are you human?</title>",
            "<title>human verification</title>",
            "<title>bot verification</title>",
            "<title>verify you are human</title>",
            "<title>security check</title>",
            "<title>captcha challenge</title>",
            "our systems have detected unusual traffic from your computer network",
            "<title>are you not a robot?</title>",
            "<title>verification required</title>",
        ],
    ),
    by_any(
        "block page",
        BLOCK,
        Needs::Page,
        &[
            "<title>access to this page has been denied</title>",
            "<title>sorry, you have been blocked</title>",
        ],
    ),
    by_any(
        "block page",
        BLOCK,
        Needs::Refusal,
        &["<title>access denied</title>", "you have been blocked", "has been blocked by"],
    ),
];
