//! The global list of barriers.
//!
//! Patterns that count with any status begin with a `<` if possible. Sites escape the `<` in text that their
//! users write, but not in the markup of a barrier.

use super::pattern::{Needs, Pattern, block, limit};
use crate::modules::reason::Reason;

/// Texts that indicate a form to sign in or to sign up. A captcha on such a page belongs to the form.
const FORMS: &[&str] = &["type=\"password\"", "type='password'", "type=password"];
/// Texts that indicate a profile page. The name of a user may contain any of the words below.
const PROFILES: &[&str] = &[
    "property=\"og:type\" content=\"profile\"",
    "property=\"profile:username\"",
    "\"@type\":\"profilepage\"",
];

/// Texts that indicate an ordinary page and that no barrier contains: text fields, and metadata for other
/// sites.
const CONTENTS: &[&str] = &[
    "<textarea",
    "property=\"og:",
    "property='og:",
    "property=og:",
    "type=\"password\"",
    "type='password'",
    "type=password",
    "\"@type\":\"profilepage\"",
];
/// Texts that indicate a page that reloads itself or redirects.
const RELOADS: &[&str] =
    &["http-equiv=\"refresh\"", "http-equiv='refresh'", "http-equiv=refresh", "location.reload"];

/// Texts that indicate a captcha to be solved. The scripts of captchas do not count, since ordinary pages
/// load them too.
const SITES_OF_CAPTCHAS: &[&str] = &[
    "class=\"g-recaptcha",
    "class='g-recaptcha",
    "class=g-recaptcha",
    "class=\"h-captcha",
    "class='h-captcha",
    "class=h-captcha",
    "class=\"cf-turnstile",
    "class='cf-turnstile",
    "class=cf-turnstile",
    "class=\"smart-captcha",
    "class=\"frc-captcha",
];

/// Texts that indicate a captcha of any vendor.
const WIDGETS: &[&str] = &[
    "g-recaptcha",
    "recaptcha/api.js",
    "recaptcha/enterprise.js",
    "h-captcha",
    "hcaptcha.com/1/api.js",
    "cf-turnstile",
    "challenges.cloudflare.com/turnstile",
    "arkoselabs.com",
    "funcaptcha",
    "smartcaptcha",
    "geetest",
    "friendlycaptcha",
];

pub(super) const BARRIERS: &[Pattern] = &[
    // Rate limits without status 429.
    limit(Reason::RateLimit, Needs::Status(&[403])).header(&[("x-ratelimit-remaining", "=0")]),
    limit(Reason::CloudflareRateLimit, Needs::Failure).any(&[
        "error code: 1015",
        "class=\"cf-error-code\">1015<",
        "<title>access denied | rate limited",
    ]),
    limit(Reason::RateLimit, Needs::Failure).any(&[
        "api rate limit exceeded",
        "you have exceeded a secondary rate limit",
        "you are being rate limited",
        "<title>rate limit exceeded</title>",
        "<title>429",
    ]),
    limit(Reason::RateLimit, Needs::Refusal).any(&[
        "too many requests",
        "rate limit exceeded",
        "rate limit reached",
        "rate-limit exceeded",
        "request limit exceeded",
        "you have been rate limited",
        "you have sent too many requests",
        "requests too frequently",
    ]),
    limit(Reason::RateLimit, Needs::Page)
        .any(&[
            "<title>429 too many requests</title>",
            "<title>too many requests</title>",
            "<title>rate limited</title>",
            "<title>rate limit exceeded</title>",
            "<title>error 429",
            "<title>429 error",
            "<title>429 | too many requests",
            "<h1>429 too many requests",
            "<h1>too many requests</h1>",
            "<h1>error 429",
        ])
        .none(PROFILES),
    limit(Reason::RateLimit, Needs::Json).any(&[
        "\"error\":\"too many requests",
        "\"error\": \"too many requests",
        "\"message\":\"too many requests",
        "\"message\": \"too many requests",
        "\"error\":\"rate limit exceeded",
        "\"error\": \"rate limit exceeded",
        "\"message\":\"rate limit exceeded",
        "\"message\": \"rate limit exceeded",
        "\"error\":\"rate_limit",
        "\"error\": \"rate_limit",
        "\"error\":\"ratelimit",
        "\"error\":\"rate limited",
    ]),
    limit(Reason::RateLimit, Needs::Bare).any(&["too many requests", "rate limit exceeded", "rate limited"]),
    // DDoS-Guard shows a page like that of Cloudflare. Ordinary pages have its name in their headers too.
    block(Reason::DdosGuard, Needs::Refusal)
        .header(&[("server", "ddos-guard")])
        .any(&["ddos-guard", "checking your browser before accessing"]),
    // Cloudflare. Ordinary pages behind it load scripts from /cdn-cgi/challenge-platform/ too.
    block(Reason::CloudflareChallenge, Needs::Any).header(&[("cf-mitigated", "challenge")]),
    block(Reason::CloudflareChallenge, Needs::Refusal).any(&[
        "<title>just a moment...</title>",
        "cf_chl_opt",
        "/orchestrate/chl_page",
        "/orchestrate/jsch/",
        "/orchestrate/captcha/",
        "/orchestrate/managed/",
        "cf-browser-verification",
        "checking your browser before accessing",
    ]),
    block(Reason::CloudflareChallenge, Needs::Page).all(&["<title>just a moment...</title>", "cf_chl_opt"]),
    block(Reason::CloudflareBlock, Needs::Failure).any(&[
        "<title>attention required! | cloudflare</title>",
        "used cloudflare to restrict access</title>",
        "error code: 1005",
        "error code: 1006",
        "error code: 1007",
        "error code: 1008",
        "error code: 1009",
        "error code: 1010",
        "error code: 1012",
        "error code: 1020",
        "class=\"cf-error-code\">1005<",
        "class=\"cf-error-code\">1006<",
        "class=\"cf-error-code\">1007<",
        "class=\"cf-error-code\">1008<",
        "class=\"cf-error-code\">1009<",
        "class=\"cf-error-code\">1010<",
        "class=\"cf-error-code\">1012<",
        "class=\"cf-error-code\">1020<",
    ]),
    block(Reason::CloudflareBlock, Needs::Refusal).any(&["cf-error-details"]),
    // DataDome. Ordinary pages have its x-datadome header too.
    block(Reason::Datadome, Needs::Refusal).header(&[("x-dd-b", "")]),
    block(Reason::Datadome, Needs::Failure).any(&["captcha-delivery.com/"]),
    block(Reason::Datadome, Needs::Page).all(&["captcha-delivery.com/", "<script>var dd={"]),
    // PerimeterX (HUMAN). Ordinary pages have its sensor with an app id too.
    block(Reason::Perimeterx, Needs::Refusal).any(&[
        "px-captcha",
        "captcha.px-cdn.net",
        "captcha.px-cloud.net",
        "press &amp; hold to confirm you are",
        "\"blockscript\":\"",
    ]),
    block(Reason::Perimeterx, Needs::Page).any(&[
        "<div id=\"px-captcha\"",
        "<meta name=\"description\" content=\"px-captcha\"",
        "<title>access to this page has been denied",
    ]),
    // Akamai.
    block(Reason::AkamaiBlock, Needs::Failure).any(&["errors.edgesuite.net", "reference&#32;&#35;"]),
    block(Reason::AkamaiBlock, Needs::Page).all(&["<h1>access denied</h1>", "reference&#32;&#35;"]),
    block(Reason::AkamaiChallenge, Needs::Page)
        .any(&["<div id=\"sec-if-cpt-container\"", "<iframe id=\"sec-cpt-if\""]),
    block(Reason::AkamaiChallenge, Needs::Status(&[428])).any(&[
        "sec-cp-challenge",
        "sec-cpt",
        "cp_challenge",
    ]),
    // Imperva (Incapsula, Distil). Ordinary pages have its script too.
    block(Reason::ImpervaBlock, Needs::Refusal)
        .any(&["incapsula incident id", "blocked by our security service"]),
    block(Reason::ImpervaChallenge, Needs::Page).all(&["_incapsula_resource", "<iframe id=\"main-iframe\""]),
    block(Reason::ImpervaChallenge, Needs::Page).any(&["<title>pardon our interruption"]),
    // AWS WAF and CloudFront. Ordinary pages load a token script from awswaf.com too.
    block(Reason::AwsWafChallenge, Needs::Any).header(&[("x-amzn-waf-action", "challenge")]),
    block(Reason::AwsWafCaptcha, Needs::Any).header(&[("x-amzn-waf-action", "captcha")]),
    block(Reason::AwsWafChallenge, Needs::Status(&[202])).any(&[".awswaf.com/", "gokuprops"]),
    block(Reason::AwsWafCaptcha, Needs::Status(&[403, 405]))
        .any(&["gokuprops", "awswafcaptcha.rendercaptcha"]),
    block(Reason::AwsWafBlock, Needs::Refusal)
        .all(&["<title>error: the request could not be satisfied</title>", "request blocked."]),
    // Sucuri.
    block(Reason::SucuriBlock, Needs::Failure).header(&[("x-sucuri-block", "")]),
    block(Reason::SucuriBlock, Needs::Page).any(&["<title>sucuri website firewall"]),
    block(Reason::SucuriChallenge, Needs::Page)
        .all(&["<title>you are being redirected...</title>", "sucuri_cloudproxy_js"]),
    block(Reason::DdosGuard, Needs::Page)
        .any(&["<title>ddos-guard</title>", "src=\"/.well-known/ddos-guard/js-challenge"]),
    // Anubis and other challenges that make the browser compute a proof of work.
    block(Reason::Anubis, Needs::Page).any(&[
        "<script id=\"anubis_challenge\"",
        "<script id=\"anubis_version\"",
        "<title>making sure you&#39;re not a bot!</title>",
        "<title>making sure you're not a bot!</title>",
    ]),
    block(Reason::GoAway, Needs::Page).any(&["\"/.well-known/.git.gammaspectra.live/"]),
    block(Reason::VercelChallenge, Needs::Any)
        .header(&[("x-vercel-mitigated", "challenge"), ("x-vercel-mitigated", "deny")]),
    block(Reason::VercelChallenge, Needs::Page).any(&["<title>vercel security checkpoint</title>"]),
    block(Reason::FastlyChallenge, Needs::Page).all(&["<title>client challenge</title>", "/_fs-ch-"]),
    block(Reason::Kasada, Needs::Refusal).header(&[("x-kpsdk-ct", ""), ("x-kpsdk-r", "")]),
    block(Reason::F5, Needs::Page)
        .all(&["the requested url was rejected. please consult with your administrator", "support id"])
        .any(&["<title>request rejected</title>", "<html><head><title>request rejected"]),
    block(Reason::Radware, Needs::Page).any(&["<title>radware captcha page</title>"]),
    block(Reason::Stackpath, Needs::Page).any(&["<title>stackpath</title>", "\"/sbbi/?sbbpg="]),
    block(Reason::Wordfence, Needs::Refusal).any(&["generated by wordfence"]),
    // Captchas of any vendor: on a refusal that is not a form to sign up, or in the title.
    block(Reason::Captcha, Needs::Refusal).any(WIDGETS).none(FORMS),
    block(Reason::Captcha, Needs::Refusal).any(&[
        "verify you are human",
        "verify that you are human",
        "verifying you are human",
        "are you a robot",
        "i'm not a robot",
        "prove you are not a robot",
        "unusual activity from your",
        "unusual traffic from your",
    ]),
    block(Reason::Captcha, Needs::Page)
        .any(&[
            "<title>captcha</title>",
            "<title>captcha challenge</title>",
            "<title>robot check</title>",
            "<title>are you a robot?</title>",
            "<title>are you not a robot?</title>",
            "<title>вы не робот?</title>",
            "<title>百度安全验证</title>",
            "<title>are you human?</title>",
            "<title>human verification</title>",
            "<title>bot verification</title>",
            "<title>verify you are human</title>",
            "<title>verification required</title>",
            "<title>security verification</title>",
            "<title>security check</title>",
            "<title>one more step</title>",
        ])
        .none(PROFILES),
    block(Reason::Captcha, Needs::Page).all(&[
        "<form",
        "our systems have detected unusual traffic from your computer network",
        "id=\"captcha-form\"",
    ]),
    // A captcha on a page without other content.
    block(Reason::Captcha, Needs::Success).any(SITES_OF_CAPTCHAS).none(CONTENTS).short(),
    block(Reason::Captcha, Needs::Page)
        .all(&["<title>attention required!", "complete the security check"])
        .any(WIDGETS)
        .none(PROFILES),
    // Pages that inspect the browser and then reload.
    block(Reason::Challenge, Needs::Success)
        .any(&["<title>one moment, please", "<title>please wait..", "<title>please wait…"])
        .also(RELOADS)
        .none(CONTENTS)
        .short(),
    // Refusals of an unknown vendor.
    block(Reason::BlockPage, Needs::Page)
        .any(&["<title>sorry, you have been blocked</title>"])
        .none(PROFILES),
    block(Reason::BlockPage, Needs::Refusal).any(&[
        "<title>access denied</title>",
        "<title>blocked</title>",
        "you have been blocked",
        "you've been blocked by network security",
        "has been blocked by",
        "your ip has been banned",
        "your ip address has been blocked",
    ]),
    // Consent pages that replace the content. A consent banner does not count.
    block(Reason::ConsentWall, Needs::Page).any(&[
        "<form action=\"https://consent.google.com/",
        "<form action=\"https://consent.youtube.com/",
        "<form method=\"post\" class=\"consent-form\"",
        "<title>before you continue to ",
        "<title>dpg media privacy gate",
        "<title>privacy gate</title>",
    ]),
    // Sign-in pages that are shown instead of the requested page.
    block(Reason::LoginWall, Needs::LoginPage)
        .any(&[
            "<title>log in</title>",
            "<title>log in | ",
            "<title>log in to ",
            "<title>log into ",
            "<title>login</title>",
            "<title>login | ",
            "<title>sign in</title>",
            "<title>sign in | ",
            "<title>sign in to ",
            "<title>sign in or ",
            "<title>sign up | ",
            "<title>anmelden</title>",
            "<title>anmelden | ",
            "<title>einloggen | ",
            "<title>connexion | ",
            "<title>se connecter | ",
            "<title>iniciar sesión | ",
            "<title>inloggen | ",
            "<title>accedi | ",
            "<title>войти | ",
            "<title>вход | ",
            "<title>ログイン | ",
            "<title>登录 | ",
            "<title>please log in",
            "<title>please sign in",
            "<title>authentication required</title>",
        ])
        .none(PROFILES),
    // Texts about signing in that may also appear on an ordinary page. They count only on a page with a form
    // and little text.
    block(Reason::LoginWall, Needs::LoginPage)
        .any(&[
            "<title>login to ",
            " | log in</title>",
            " | login</title>",
            " | sign in</title>",
            " | anmelden</title>",
            ": log in</title>",
            ": login</title>",
            ": sign in</title>",
            "log in to view this profile",
            "log in to see this profile",
            "sign in to view this profile",
            "sign in to see this profile",
            "logged in to view this profile",
            "logged in to see this profile",
            "logged in to view this page",
        ])
        .also(FORMS)
        .none(PROFILES)
        .short(),
    // Sites that no longer exist.
    block(Reason::ParkedDomain, Needs::Page).any(&[
        "<script src=\"//img1.wsimg.com/parking-lander/",
        "<script>window.onload=function(){window.location.href=\"/lander\"}",
        "\"https://img1.wsimg.com/parking-lander/",
        "img.sedoparking.com/templates/",
        "img.sedoparking.com/js/",
        "parkingcrew.net/jsparkcaf",
        "<script>window.park = \"",
        "//parkingpage.namecheap.com/",
        "is for sale | hugedomains</title>",
        "is for sale | dan.com</title>",
        "is for sale | afternic</title>",
        "<title>(host) | afternic</title>",
        "<title>(host) is for sale",
        "<title>this domain is for sale",
        "<title>this domain name is for sale",
        "<title>domain parked",
        "<title>parked domain",
        "<title>this domain is parked",
        "<title>domain name for sale",
    ]),
    block(Reason::ParkedDomain, Needs::Page)
        .any(&["this domain may be for sale", "the domain may be for sale"])
        .none(CONTENTS)
        .short(),
    block(Reason::SuspendedSite, Needs::Page).all(&["<title>account suspended</title>"]).any(&[
        "hosting provider",
        "hosting company",
        "contact your host",
        "contact your web host",
    ]),
    block(Reason::SuspendedSite, Needs::Page)
        .any(&[
            "<title>this account has been suspended</title>",
            "<title>website suspended</title>",
            "<title>site suspended</title>",
            "<title>this site is suspended",
            "<title>hosting account suspended",
            "<title>suspended domain</title>",
            "<title>509 bandwidth limit exceeded</title>",
            "url=https://suspended-website.com/",
            "url=/cgi-sys/suspendedpage.cgi",
            "<title>registrant whois contact information verification",
        ])
        .none(PROFILES),
];
