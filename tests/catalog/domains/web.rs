//! Modules that read the site of the domain.

use super::*;

const HTML: &str = "text/html; charset=utf-8";

#[test]
fn technologies_are_recognized_on_a_front_page() {
    let body = "<!doctype html><html lang=\"de\"><head><title>Example  Shop</title>\
        <link rel=\"canonical\" href=\"/home\"><link rel=\"alternate\" type=\"application/rss+xml\" href=\"feed.xml\">\
        <meta name=\"generator\" content=\"WordPress 6.4\"><script src=\"/wp-content/x.js\"></script>\
        <script src=\"https://www.googletagmanager.com/gtag/js?id=G-ABCDEF1234\"></script>\
        <script>fbq('init', '123456789012345');</script></head><body>\
        <a href=\"https://github.com/example\">Code</a><a href=\"https://github.com/example/repo/issues\">Bugs</a>\
        <a rel=\"me\" href=\"https://social.example.net/@shop\">M</a><a href=\"https://twitter.com/intent/tweet?x\">Share</a>\
        <a href=\"mailto:Info@example.com?subject=Hi\">Mail</a><a href=\"tel:+49%2030%201234\">Call</a></body></html>";
    let mut answer = page("https://example.com/", 200, HTML, body);
    let headers = [
        ("server", "cloudflare"),
        ("x-powered-by", "PHP/8.2"),
        (
            "content-security-policy",
            "default-src 'self' https://cdn.example.net *.stripe.com; script-src 'unsafe-inline'",
        ),
    ];
    answer.headers.extend(headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
    play("front_page", "example.com", vec![answer])
        .tells("https://example.com/", &json!({"title": "Example Shop", "language": "de", "canonical": "https://example.com/home", "server": "cloudflare"}))
        .has("technology", &["WordPress", "Google Tag Manager", "WordPress 6.4", "Cloudflare", "PHP/8.2", "G-ABCDEF1234", "123456789012345"])
        .has("account", &["https://github.com/example", "https://social.example.net/@shop"])
        .has("email", &["info@example.com"])
        .has("phone", &["+49 30 1234"])
        .has("domain", &["cdn.example.net", "stripe.com"])
        .has("url", &["https://example.com/", "https://example.com/feed.xml"]);
}

#[test]
fn a_favicon_has_the_hash_of_the_search_engines() {
    // Long enough for a line break inside; hashed by another implementation.
    let icon = page("/favicon.ico", 200, "image/x-icon", b"\x00\x00\x01\x00icon".repeat(20));
    play("favicon", "example.com", vec![icon]).tells(
        "https://example.com/favicon.ico",
        &json!({"kind": "favicon", "md5": "35a7fdccfa92fce1b49fea6706ec33ab", "mmh3": 572496003}),
    );
    play(
        "favicon",
        "example.com",
        vec![page("/favicon.ico", 200, HTML, "<!DOCTYPE html><html>Not here</html>")],
    )
    .outcome(Outcome::Miss);
    play("favicon", "example.com", vec![page("/favicon.ico", 200, "image/x-icon", "")])
        .outcome(Outcome::Error);
}

#[test]
fn well_known_files_are_read() {
    let security = "-----BEGIN PGP SIGNED MESSAGE-----\r\n\r\nContact: mailto:Security@example.com\r\nContact: https://example.com/report\r\nExpires: 2030-01-02T03:04:05.000Z\r\nPreferred-Languages: en, de\r\nPolicy: https://example.com/policy\r\n";
    play("security_txt", "example.com", vec![text("/.well-known/security.txt", security)])
        .tells(
            "https://example.com/.well-known/security.txt",
            &json!({"expires_at": "2030-01-02T03:04:05Z", "languages": ["en", "de"], "signed": "OpenPGP"}),
        )
        .has("email", &["security@example.com"]);
    play(
        "robots_txt",
        "example.com",
        vec![text(
            "/robots.txt",
            "User-agent: *\nDisallow: /wp-admin/\nDisallow: /\nSitemap: https://example.com/map.xml\n",
        )],
    )
    .has(
        "url",
        &["https://example.com/robots.txt", "https://example.com/map.xml", "https://example.com/wp-admin/"],
    )
    .tells("https://example.com/robots.txt", &json!({"cms_hint": "WordPress"}));
    let map = "<?xml version=\"1.0\"?><urlset><url><loc>https://example.com/a?b=1&amp;c=2</loc><lastmod>2024-01-02</lastmod></url><url><loc><![CDATA[https://example.com/d]]></loc></url></urlset>";
    play(
        "sitemap",
        "example.com",
        vec![not_found("/sitemap.xml"), page("/sitemap_index.xml", 200, "application/xml", map)],
    )
    .has(
        "url",
        &["https://example.com/sitemap_index.xml", "https://example.com/a?b=1&c=2", "https://example.com/d"],
    )
    .tells("https://example.com/sitemap_index.xml", &json!({"last_modified_at": "2024-01-02"}));
    play(
        "humans_txt",
        "example.com",
        vec![text(
            "/humans.txt",
            "/* TEAM */\nDeveloper: Grace\nTwitter: @grace_ex\nContact: grace@example.com\n",
        )],
    )
    .has("account", &["https://x.com/grace_ex"])
    .has("email", &["grace@example.com"]);
    play("ads_txt", "example.com", vec![text("/ads.txt", "# list\nOWNERDOMAIN=Example.com\ngoogle.com, pub-123, DIRECT, f08c47fec0942fa0\nother.net, 77, RESELLER\n")])
        .tells("https://example.com/ads.txt", &json!({"owner_domain": "example.com"}))
        .has("technology", &["pub-123"])
        .tells("pub-123", &json!({"network": "google.com"}));
    let sellers = "a.example, 1234, DIRECT\nB.example, 1234, DIRECT\na.example, 1234, direct\n";
    let played = play("ads_txt", "example.com", vec![text("/ads.txt", sellers)]);
    played.has("technology", &["1234", "1234"]);
    assert_eq!(played.members("technology", "network"), ["a.example", "b.example"]);
    play("assetlinks", "example.com", vec![doc("assetlinks.json", &json!([{"relation": ["x"], "target": {"namespace": "android_app", "package_name": "com.example.app", "sha256_cert_fingerprints": ["AA:BB"]}}, {"target": {"namespace": "web", "site": "https://shop.example.net"}}]))])
        .has("technology", &["com.example.app"])
        .has("domain", &["shop.example.net"])
        .tells("com.example.app", &json!({"certificate_sha256": "AA:BB"}));
    let apps = json!({"applinks": {"apps": [], "details": [{"appIDs": ["ABCDE12345.com.example.one"], "components": []}, {"appID": "ABCDE12345.com.example.two", "paths": ["*"]}]}, "webcredentials": {"apps": ["ABCDE12345.com.example.one"]}});
    play(
        "apple_app_links",
        "example.com",
        vec![page("apple-app-site-association", 200, "application/octet-stream", apps.to_string())],
    )
    .has("technology", &["com.example.one", "com.example.two"])
    .tells("com.example.two", &json!({"team_id": "ABCDE12345"}));
}

/// Many sites answer every path with their front page, or with a redirect to it.
#[test]
fn an_html_page_instead_of_a_file_is_not_a_hit() {
    let front = "<!DOCTYPE html><html><head><title>Welcome</title></head><body>Contact: us, user-agent: any; did:plc:abc; version: STSv1</body></html>";
    let ids = [
        "security_txt",
        "robots_txt",
        "sitemap",
        "humans_txt",
        "ads_txt",
        "assetlinks",
        "apple_app_links",
        "favicon",
        "openid_configuration",
        "mastodon_instance",
        "host_meta",
        "webfinger_domain",
        "matrix_server",
        "matrix_client",
        "atproto_did",
        "nostr_names",
        "nodeinfo",
        "change_password",
    ];
    for id in ids {
        play(id, "example.com", vec![page("https://example.com/", 200, HTML, front)]).outcome(Outcome::Miss);
    }
}

#[test]
fn the_change_password_page_is_the_target_of_its_redirect() {
    let led_to = |location: &str| {
        let mut answer = page("/.well-known/change-password", 302, HTML, "");
        answer.headers.push(("location".to_owned(), location.to_owned()));
        vec![answer]
    };
    for (location, page) in [
        ("/settings/security", "https://example.com/settings/security"),
        (
            "https://accounts.example.com/en/password/change",
            "https://accounts.example.com/en/password/change",
        ),
        ("https://example.com/login?next=x", "https://example.com/login?next=x"),
    ] {
        play("change_password", "example.com", led_to(location)).has("url", &[page]);
    }
    play("change_password", "example.com", led_to("https://www.example.com/")).outcome(Outcome::Miss);
    play("change_password", "example.com", led_to("https://www.example.com/.well-known/change-password"))
        .outcome(Outcome::Error);
}

#[test]
fn site_lists_are_read() {
    play(
        "hsts_preload",
        "example.com",
        vec![doc(
            "hstspreload.org",
            &json!({"name": "example.com", "status": "preloaded", "preloadedDomain": "example.com"}),
        )],
    )
    .has("reputation", &["HSTS: preloaded"]);
    play("mdn_observatory", "example.com", vec![doc("/api/v2/scan", &json!({"grade": "B+", "score": 80, "tests_failed": 2, "tests_passed": 8, "scanned_at": "2024-01-02T03:04:05.000Z", "details_url": "https://x.example/"}))])
        .tells("security headers: B+", &json!({"grade": "B+", "score": 80, "scanned_at": "2024-01-02T03:04:05Z"}));
    play("green_web", "example.com", vec![doc("greencheck", &json!({"url": "example.com", "green": true, "hosted_by": "Example Hosting", "hosted_by_website": "https://h.example", "modified": "2024-01-02T03:04:05"}))])
        .tells("Example Hosting", &json!({"green": true, "checked_at": "2024-01-02T03:04:05Z"}));
    play("green_web", "example.com", vec![doc("greencheck", &json!({"url": "example.com", "green": false}))])
        .outcome(Outcome::Miss);
    let xml = "<?xml version=\"1.0\"?><clientConfig version=\"1.1\"><emailProvider id=\"example.com\"><displayName>Example &amp; Mail</displayName><incomingServer type=\"imap\">\n<hostname>imap.example.com</hostname></incomingServer><outgoingServer type=\"smtp\"><hostname>smtp.example.com</hostname></outgoingServer></emailProvider></clientConfig>";
    play("thunderbird_ispdb", "example.com", vec![page("/v1.1/example.com", 200, "text/xml", xml)])
        .tells("Example & Mail", &json!({"imap_host": "imap.example.com", "smtp_host": "smtp.example.com"}));
}
