//! What built-in username modules read from pages and answers of the form that the sites give.

use super::*;

/// Returns the metadata of the main result. The made-up name of the control check gets 404.
fn profile(id: &str, name: &'static str, body: String) -> Value {
    let module = builtin().get(id).unwrap().clone();
    let is_json = body.starts_with('{');
    let bench = Bench::new(move |request| {
        let is_asked = request.url.path().ends_with(name);
        let (status, body) = if is_asked { (200, body.clone()) } else { (404, "\"Missing blog\"".into()) };
        let kind = if is_json { "application/json" } else { "text/html" };
        Ok(Response { final_url: request.url.clone(), ..respond(status, &[("content-type", kind)], body) })
    });
    let report = bench.check(&module, &username(name));
    assert_eq!(report.outcome, Outcome::Hit, "{:?} {:?}", report.reason, report.evidence.matcher);
    Value::Object(report.findings[0].metadata.clone())
}

#[test]
fn telegram_pages_tell_users_bots_channels_and_groups_apart() {
    let page = |name: &str, extra: &[&str], action: &str, preview: bool| {
        let extra: String =
            extra.iter().map(|text| format!("<div class=\"tgme_page_extra\">\n  {text}\n</div>")).collect();
        let preview = if preview {
            format!("<a class=\"tgme_page_context_link\" href=\"/s/{name}\">Preview channel</a>")
        } else {
            String::new()
        };
        format!(
            "<html><head><meta property=\"og:title\" content=\"{name}\"><title>Telegram: @{name}</title></head><body>\
             <div class=\"tgme_page_title\"><span>{name}</span></div>{extra}\
             <a class=\"tgme_action_button_new\" href=\"tg://resolve?domain={name}\">{action}</a>{preview}</body></html>"
        )
    };
    for (name, extra, action, preview, kind) in [
        ("alice_a", vec!["@alice_a"], "Send Message", false, "user"),
        ("helper_bot", vec!["@helper_bot"], "Send Message", false, "bot"),
        ("wiki", vec!["@wiki"], "Start Bot", false, "bot"),
        ("maps_bot", vec!["1 204 monthly users"], "Start Bot", false, "bot"),
        ("news_now", vec!["12 345 subscribers"], "View in Telegram", true, "channel"),
        ("old_news", vec!["12 345 members"], "View in Telegram", true, "channel"),
        ("chatters", vec!["321 members, 12 online"], "View in Telegram", false, "group"),
    ] {
        let read = profile("telegram", name, page(name, &extra, action, preview));
        assert_eq!(read["account_type"], kind, "{name}: {read}");
    }
    let read = profile("telegram", "old_news", page("old_news", &["12 345 members"], "View", true));
    assert_eq!(read["members"], 12345);
    let both = ["@maps_bot", "1 204 monthly users"];
    let read = profile("telegram", "maps_bot", page("maps_bot", &both, "Start Bot", false));
    assert_eq!(read["monthly_users"], 1204, "{read}");
}

#[test]
fn a_blog_on_paragraph_shows_its_author() {
    let body = json!({"id": "b1", "userId": "u1", "name": "Notes", "lowercase_url": "@alice", "summary": "On things",
        "createdAt": "2023-11-14T22:13:20.000Z", "logo_url": "https://img.example/l.png",
        "user": {"displayName": {"fullName": "Alice A"}, "authorBio": " Writes. ", "avatar_url": "https://img.example/a.png",
            "social": {"twitter": "@alice_a"}, "wallet_address": "0xabc"}});
    let read = profile("paragraph", "alice", body.to_string());
    for (name, want) in [
        ("display_name", "Alice A"),
        ("bio", "Writes."),
        ("avatar_url", "https://img.example/a.png"),
        ("blog_id", "b1"),
        ("user_id", "u1"),
        ("username", "alice"),
        ("twitter", "alice_a"),
        ("wallet_address", "0xabc"),
        ("created_at", "2023-11-14T22:13:20Z"),
    ] {
        assert_eq!(read[name], want, "{name}");
    }
}

#[test]
fn a_profile_on_github_has_counts_links_and_dates() {
    let body = json!({"login": "alice", "id": 7, "name": "Alice A", "blog": "alice.example", "email": "Alice@Example.org",
        "hireable": null, "public_repos": 3, "public_gists": 0, "followers": 12, "following": 1, "site_admin": false,
        "twitter_username": "@alice_a", "type": "User", "bio": "", "created_at": "2011-01-25T18:44:36Z",
        "updated_at": "2024-05-01T02:00:00+02:00"});
    let read = profile("github", "alice", body.to_string());
    let want = json!({"profile_url": "https://github.com/alice", "account_type": "User", "changed_at": "2024-05-01T00:00:00Z",
        "created_at": "2011-01-25T18:44:36Z", "display_name": "Alice A", "email": "Alice@example.org", "followers": 12,
        "following": 1, "gists": 0, "repositories": 3, "staff": false, "twitter": "alice_a", "user_id": 7,
        "username": "alice", "website": "https://alice.example"});
    assert_eq!(read, want);
}
