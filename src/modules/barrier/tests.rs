use super::*;
use crate::modules::catalog::Catalog;
use crate::modules::probe::Timing;

fn module(extra: &str) -> std::sync::Arc<Module> {
    let text = format!(
        r#"[{{"id": "x", "platform": "X", "type": "username", "category": "test",
        "probes": [{{"url": "https://x.org/u/{{query}}"}}],
        "hit": [{{"status": [200]}}], "miss": [{{"status": [404]}}]{extra}}}]"#
    );
    Catalog::from_text("test", &text).unwrap().get("x").unwrap().clone()
}

fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    Response {
        status,
        final_url: url::Url::parse("https://x.org/u/bob").unwrap(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.into(),
        truncated: false,
        timing: Timing::default(),
    }
}

fn reason(status: u16, headers: &[(&str, &str)], body: &str) -> Option<&'static str> {
    find(&module(""), &response(status, headers, body)).map(|barrier| barrier.reason)
}

const HTML: (&str, &str) = ("content-type", "text/html; charset=utf-8");

#[test]
fn every_wall_is_known() {
    for (status, headers, body, want) in [
        (429, vec![], "", "rate_limit"),
        (503, vec![("retry-after", "5")], "", "rate_limit"),
        (999, vec![], "", "login_wall"),
        (200, vec![("cf-mitigated", "challenge")], "", "challenge"),
        (403, vec![HTML], "<title>Just a moment...</title><script>window._cf_chl_opt={}", "challenge"),
        (200, vec![HTML], "<title>Just a moment...</title><script>window._cf_chl_opt={}", "challenge"),
        (403, vec![HTML], "<title>Attention Required! | Cloudflare</title>", "blocked"),
        (403, vec![HTML], "<script src=https://ct.captcha-delivery.com/c.js>", "captcha"),
        (
            403,
            vec![("content-type", "application/json")],
            r#"{"url":"https://geo.captcha-delivery.com/x"}"#,
            "captcha",
        ),
        (403, vec![HTML], "<div id=\"px-captcha\"></div>", "captcha"),
        (200, vec![HTML], "<script>window._pxAppId='PX1'</script><div id=\"px-captcha\">", "captcha"),
        (403, vec![HTML], "<H1>Access Denied</H1> https://errors.edgesuite.net/18.1", "blocked"),
        (200, vec![HTML], "<div id=\"sec-if-cpt-container\">", "challenge"),
        (200, vec![HTML], "<iframe id=\"main-iframe\" src=\"/_Incapsula_Resource?x\">", "challenge"),
        (200, vec![HTML], "Request unsuccessful. Incapsula incident ID: 1-2", "blocked"),
        (200, vec![HTML], "<title>Pardon Our Interruption...</title>", "challenge"),
        (405, vec![("x-amzn-waf-action", "captcha")], "", "captcha"),
        (202, vec![HTML], "<script src=https://a.b.token.awswaf.com/c.js>", "challenge"),
        (403, vec![HTML], "<title>Sucuri WebSite Firewall - Access Denied</title>", "blocked"),
        (200, vec![HTML], "<script>var s={},sucuri_cloudproxy_js=''", "challenge"),
        (403, vec![("server", "ddos-guard"), HTML], "", "challenge"),
        (200, vec![HTML], "<script id=\"anubis_challenge\" type=json>", "challenge"),
        (429, vec![("x-vercel-mitigated", "challenge")], "", "rate_limit"),
        (403, vec![("x-vercel-mitigated", "deny")], "", "challenge"),
        (403, vec![HTML], "<div class=\"g-recaptcha\"></div>", "captcha"),
        (200, vec![HTML], "<html><title>Robot Check</title>", "captcha"),
        (
            403,
            vec![("content-type", "application/json")],
            r#"{"message":"API rate limit exceeded for 1.2.3.4"}"#,
            "rate_limit",
        ),
        (403, vec![("x-ratelimit-remaining", "0")], "{}", "rate_limit"),
        (200, vec![HTML], "<title>Too Many Requests</title>", "rate_limit"),
    ] {
        assert_eq!(reason(status, &headers, body), Some(want), "{status} {headers:?} {body}");
    }
}

#[test]
fn an_ordinary_page_is_no_wall() {
    for (status, headers, body) in [
        (
            200,
            vec![HTML],
            "<title>Bob</title><a href=/login>Log in</a><script src=https://www.google.com/recaptcha/api.js></script>",
        ),
        (
            404,
            vec![HTML],
            "<title>Not found</title><div class=\"g-recaptcha\"></div><div class=cf-turnstile>",
        ),
        (
            200,
            vec![HTML, ("x-datadome", "protected")],
            "<script src=https://js.datadome.co/tags.js></script>",
        ),
        (200, vec![HTML, ("server", "ddos-guard")], "<title>Bob</title>"),
        (
            200,
            vec![HTML],
            "<script src=/cdn-cgi/challenge-platform/scripts/jsd/main.js></script><title>Bob</title>",
        ),
        (200, vec![HTML], "<script src=\"/_Incapsula_Resource?SWJIYLWA=1\"></script>"),
        (
            200,
            vec![HTML],
            "<p>How to fix &quot;Access denied&quot; and &lt;title&gt;captcha&lt;/title&gt;</p>",
        ),
        (401, vec![HTML], "<form>password<div class=\"g-recaptcha\"></div></form>"),
        (404, vec![("x-ratelimit-remaining", "0")], "{}"),
        (403, vec![("x-ratelimit-remaining", "40")], "{}"),
        (503, vec![HTML], "down for maintenance"),
        (200, vec![("content-type", "application/json")], r#"{"bio":"<title>captcha</title>"}"#),
    ] {
        assert_eq!(reason(status, &headers, body), None, "{status} {headers:?} {body}");
    }
}

#[test]
fn consent_and_sign_in_pages_are_seen_by_their_address() {
    let at = |module: &Module, status: u16, final_url: &str, location: Option<&str>| {
        let headers: Vec<(&str, &str)> = location.map(|it| ("location", it)).into_iter().collect();
        let mut response = response(status, &headers, "<html>");
        response.final_url = url::Url::parse(final_url).unwrap();
        find(module, &response).map(|barrier| barrier.reason)
    };
    let plain = module("");
    assert_eq!(at(&plain, 200, "https://consent.google.com/ml?continue=x", None), Some("consent"));
    assert_eq!(
        at(&plain, 302, "https://x.org/u/bob", Some("https://guce.yahoo.com/consent")),
        Some("consent")
    );
    assert_eq!(at(&plain, 200, "https://www.google.com/sorry/index?x", None), Some("captcha"));
    assert_eq!(at(&plain, 200, "https://x.org/accounts/login/?next=/u/bob", None), Some("login_wall"));
    assert_eq!(at(&plain, 302, "https://x.org/u/bob", Some("/Login?next=%2Fu%2Fbob")), Some("login_wall"));
    assert_eq!(at(&plain, 200, "https://x.org/u/login_bob", None), None);
    assert_eq!(at(&plain, 302, "https://x.org/u/bob", Some("/u/logins")), None);
    let knowing = module(r#", "barrier": [{"final_url": "/never"}]"#);
    assert_eq!(at(&knowing, 302, "https://x.org/u/bob", Some("/login")), None, "it has rules on addresses");
    let discovery = module(r#", "discovery": true"#);
    assert_eq!(at(&discovery, 200, "https://x.org/login", None), None);
}

#[test]
fn retry_after_is_read_as_seconds_or_against_the_answers_date() {
    let secs = |headers: &[(&str, &str)]| retry_after_secs(&response(429, headers, ""));
    assert_eq!(secs(&[("retry-after", " 7 ")]), Some(7));
    assert_eq!(secs(&[("retry-after", "99999999999")]), Some(86_400));
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(secs(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), date]), Some(60));
    assert_eq!(secs(&[("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT"), date]), None);
    assert_eq!(secs(&[("retry-after", "soon")]), None);
    assert_eq!(secs(&[]), None);
}

#[test]
fn only_the_first_part_of_a_body_is_searched() {
    let late = format!("{}<title>captcha</title>", " ".repeat(BARRIER_REACH));
    assert_eq!(reason(200, &[HTML], &late), None);
    let huge = "<title>".repeat(200_000);
    assert_eq!(reason(200, &[HTML], &huge), None);
}
