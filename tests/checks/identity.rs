//! The account to which the page of a hit belongs.

use super::*;

fn page(final_url: &str, head: &str) -> Response {
    let body = format!("<html><head>{head}</head><body>profile</body></html>");
    Response { final_url: final_url.parse().unwrap(), ..respond(200, &[("content-type", "text/html")], body) }
}

fn ends(module: &Module, name: &str, response: Response) -> (Outcome, Option<&'static str>) {
    let verdict = judge(module, &username(name), &[Some(response)]);
    (verdict.outcome, verdict.reason.map(Reason::as_str))
}

const HIT: (Outcome, Option<&str>) = (Outcome::Hit, None);
const OTHER: (Outcome, Option<&str>) = (Outcome::Error, Some("other_account"));
const FRONT: (Outcome, Option<&str>) = (Outcome::Error, Some("front_page"));
const LOGIN: (Outcome, Option<&str>) = (Outcome::Blocked, Some("login_wall"));

/// A module that requests `url` and hits on every 200.
fn asking(url: &str) -> Arc<Module> {
    module(&json!({"probes": [{"url": url, "follow": true}]}))
}

/// Returns the words of each row of a table, without its comments.
fn rows(table: &'static str, columns: usize) -> impl Iterator<Item = Vec<&'static str>> {
    let rows = table.lines().map(str::trim).filter(|row| !row.is_empty() && !row.starts_with('#'));
    rows.map(move |row| row.splitn(columns, ' ').collect())
}

/// Returns how a check ends: with a hit, or for this reason.
fn end_of(word: &'static str) -> (Outcome, Option<&'static str>) {
    match word {
        "hit" => HIT,
        "other_account" => OTHER,
        _ => (Outcome::Blocked, Some(word)),
    }
}

/// How a check ends, its address, the queried name, and the address that the page gives as its own.
const NAMED_PAGES: &str = "
    other_account https://s.example/u/{query} bob https://s.example/u/alice
    other_account https://s.example/u/{query} bob /u/alice
    other_account https://s.example/u/{query} john.doe https://s.example/u/johndoe
    other_account https://s.example/u/{query} bob.smith https://s.example/u/bob
    other_account https://s.example/@{query}/ bob https://www.s.example/@Alice
    other_account https://s.example/u/{query}.html bob https://s.example/u/alice.html
    other_account https://s.example/{query} böb https://s.example/%C3%A4l
    # The same account in another spelling.
    hit https://s.example/u/{query} bob https://s.example/u/Bob/
    hit https://s.example/u/{query} BOB https://S.example/U/bob?ref=x
    hit https://s.example/u/{query} böb https://s.example/u/B%C3%96B
    hit https://s.example/u/{query} john_doe https://s.example/u/john-doe
    hit https://s.example/{query} bob https://s.example/@bob
    hit https://s.example/{query} bob https://m.s.example/bob#about
    # Another form of its address.
    hit https://s.example/u/{query} bob https://s.example/u/12345
    hit https://s.example/u/{query} bob https://s.example/u/12345-bob
    hit https://s.example/u/{query} bob https://s.example/u/bob-smith.7
    hit https://s.example/u/{query} bob https://s.example/u/3f2a9c0d-11aa-4b2c-9d1e-aabbccddeeff
    hit https://s.example/u/{query} bob https://s.example/u/UCx2k9Zb81QpLm
    hit https://s.example/u/{query} bob https://s.example/channel/alice
    hit https://s.example/u/{query} bob https://s.example/de/u/alice
    hit https://s.example/u/{query} bob https://alice.s.example/
    hit https://s.example/u/{query} bob https://other.example/u/alice
    hit https://s.example/{query} bob https://s.example/
    hit https://s.example/{query} bob https://s.example/profile
    hit https://s.example/{query} bob https://s.example/index.php
    hit https://s.example/u/{query} bob https://s.example/u/{username}
    hit https://s.example/u/{query} bob not an address
    # The name is not in the path, so its meaning is unknown.
    hit https://s.example/?u={query} bob https://s.example/?u=alice
    hit https://{query}.s.example/ bob https://alice.s.example/
    hit https://s.example/{query}/u/{query} bob https://s.example/alice/u/alice
";

#[test]
fn a_page_of_another_account_is_not_a_hit() {
    for row in rows(NAMED_PAGES, 4) {
        let [end, url, name, named] = row[..] else { panic!("{row:?}") };
        let want = end_of(end);
        let fields = json!({"probes": [{"url": url}], "scripts": "any"});
        let site = module(&fields);
        let asked = url.replace("{query}", name);
        for head in [
            format!("<link rel='alternate canonical' href='{named}'>"),
            format!("<meta property=og:url content='{named}'>"),
            format!(
                "<title>Site</title><link rel=canonical href='{asked}'><meta property=og:url content='{named}'>"
            ),
        ] {
            assert_eq!(ends(&site, name, page(&asked, &head)), want, "{url} {name}: {head}");
        }
    }
}

#[test]
fn other_evidence_on_the_page_is_accepted() {
    let head = "<title>bob on Site</title><link rel=canonical href='/u/alice'>";
    let asked = "https://site.example/u/bob";
    assert_eq!(ends(&module(&json!({})), "bob", page(asked, head)), HIT, "the title speaks of bob");
    assert_eq!(ends(&module(&json!({})), "bob", page(asked, &head.replace("bob", "bobby"))), OTHER);
    let head = "<h1>bob</h1><link rel=canonical href='/u/alice'>";
    let proven = json!({"hit": [{"css": [{"select": "h1", "equals_query": true}]}]});
    assert_eq!(ends(&module(&proven), "bob", page(asked, head)), HIT);
    let echoed = json!({"hit": [{"words": ["{query}"]}]});
    assert_eq!(ends(&module(&echoed), "bob", page(asked, head)), OTHER, "a word may stand in a search field");
    let other_type = module(&json!({"type": "domain", "probes": [{"url": "https://site.example/{query}"}]}));
    let domain = Query::parse(SearchType::Domain, "a.com").unwrap();
    let answer = page("https://site.example/a.com", "<link rel=canonical href=/b.com>");
    assert_eq!(judge(&other_type, &domain, &[Some(answer)]).outcome, Outcome::Hit);
    let miss = json!({"hit": [{"words": ["never"]}], "miss": [{"words": ["profile"]}]});
    assert_eq!(ends(&module(&miss), "bob", page(asked, head)).0, Outcome::Miss, "only hits are questioned");
}

#[test]
fn a_redirect_to_another_page_is_not_a_hit() {
    let plain = asking("https://s.example/u/{query}");
    for (landed, want) in [
        ("https://s.example/u/bob", HIT),
        ("http://www.s.example/U/Bob/", HIT),
        ("https://s.example/", FRONT),
        ("https://www.s.example/de/", FRONT),
        ("https://s.example/index.php?ref=u", FRONT),
        ("https://elsewhere.example/home", FRONT),
        ("https://bob.s.example/", HIT),
        ("https://s.example/?user=Bob", HIT),
        ("https://s.example/u/alice", OTHER),
        ("https://s.example/u/4711", HIT),
        ("https://s.example/profile/4711/bob", HIT),
        ("https://s.example/login?next=/u/bob", LOGIN),
        ("https://s.example/users/sign_in", LOGIN),
    ] {
        assert_eq!(ends(&plain, "bob", page(landed, "")), want, "{landed}");
    }
    // A rule on addresses decides only about the addresses that it matches.
    let fields = json!({
        "probes": [{"url": "https://s.example/u/{query}", "follow": true}],
        "hit": [{"words": ["profile"]}, {"final_url": "/$"}], "miss": [{"final_url": "/gone$"}],
    });
    assert_eq!(ends(&module(&fields), "bob", page("https://s.example/", "")), FRONT, "the first rule fired");
    assert_eq!(ends(&module(&fields), "bob", page("https://s.example/login", "")), LOGIN);
    let fields = json!({
        "probes": [{"url": "https://s.example/u/{query}", "follow": true}], "hit": [{"final_url": "/$"}], "miss": [{"status": [404]}],
    });
    assert_eq!(ends(&module(&fields), "bob", page("https://s.example/", "")), HIT, "it says so itself");
    let front = asking("https://s.example/{query}");
    assert_eq!(ends(&front, "home", page("https://s.example/", "")), HIT, "a front page was asked for");
}

#[test]
fn a_redirect_that_is_not_followed_is_judged_by_its_target() {
    let site = module(&json!({"hit": [{"status": [302]}]}));
    let to = |location: &str| {
        let mut response = respond(302, &[("location", location)], "");
        response.final_url = "https://site.example/u/bob".parse().unwrap();
        ends(&site, "bob", response)
    };
    assert_eq!(to("/"), FRONT);
    assert_eq!(to("/login?next=%2Fu%2Fbob"), LOGIN);
    assert_eq!(to("/u/alice"), OTHER);
    assert_eq!(to("/u/Bob"), HIT);
    assert_eq!(to("/profiles/17"), HIT);
}

#[test]
fn an_empty_answer_is_neither_hit_nor_miss() {
    let absent = json!({"hit": [{"json": [{"at": "/id", "exists": true}]}], "miss": [{"status": [200], "no_word": ["id\":"]}, {"status": [404]}]});
    let html = &[("content-type", "text/html")];
    let unrecognized = (Outcome::Error, Some("unrecognized"));
    for (fields, response, want) in [
        (json!({}), respond(200, &[], ""), (Outcome::Error, Some("empty"))),
        (json!({}), respond(200, html, " \n"), (Outcome::Error, Some("empty"))),
        (json!({"hit": [{"no_word": ["gone"]}]}), respond(200, &[], ""), (Outcome::Error, Some("empty"))),
        (json!({"hit": [{"status": [204]}]}), respond(204, &[], ""), HIT),
        (json!({"hit": [{"body_is": ""}]}), respond(200, &[], ""), HIT),
        (json!({"hit": [{"header": {"x-id": "."}}]}), respond(200, &[("x-id", "7")], ""), HIT),
        (
            json!({"probes": [{"url": "https://site.example/{query}", "method": "HEAD"}]}),
            respond(200, &[], ""),
            HIT,
        ),
        (json!({}), respond(404, &[], ""), (Outcome::Miss, None)),
        (absent.clone(), respond(200, &[], ""), (Outcome::Error, Some("empty"))),
        // A page instead of JSON.
        (absent.clone(), respond(200, html, "<p>Welcome</p>"), unrecognized),
        (absent.clone(), respond(200, &[("content-type", "application/json")], "{}"), (Outcome::Miss, None)),
        (absent, respond(404, html, "<p>Not found</p>"), (Outcome::Miss, None)),
        (
            json!({"hit": [{"json": [{"at": "/id", "exists": true}]}], "miss": [{"words": ["No such user"]}]}),
            respond(200, html, "<p>No such user</p>"),
            (Outcome::Miss, None),
        ),
    ] {
        assert_eq!(ends(&module(&fields), "bob", response), want, "{fields}");
    }
}

#[test]
fn a_redirect_to_a_barrier_or_to_the_same_page_is_not_a_miss() {
    let fields = json!({"hit": [{"status": ["2xx"]}], "miss": [{"status": ["3xx", 404]}]});
    let (unseeing, blocked) = (module(&fields), |reason| (Outcome::Blocked, Some(reason)));
    let odd = (Outcome::Error, Some("unrecognized"));
    let led =
        |module: &Module, location: &str| ends(module, "bob", respond(302, &[("location", location)], ""));
    for (location, want) in [
        ("/", (Outcome::Miss, None)),
        ("/u/alice", (Outcome::Miss, None)),
        ("https://www.site.example/u/bob/", odd),
        ("http://site.example/u/bob", odd),
        ("/u/Bob", odd),
        ("/u/b%6Fb", odd),
        ("/captcha?next=/u/bob", blocked("captcha")),
        ("https://geo.captcha-delivery.com/?x", blocked("datadome")),
        ("/account/login.php", blocked("login_wall")),
    ] {
        assert_eq!(led(&unseeing, location), want, "{location}");
    }
    // A rule that tests the target takes precedence, and so does a form that is sent.
    let fields = json!({"miss": [{"status": [302], "header": {"Location": "/$"}}]});
    assert_eq!(led(&module(&fields), "/u/bob/").0, Outcome::Miss);
    let post = json!([{"url": "https://site.example/ask", "method": "POST", "form": {"name": "{query}"}}]);
    let form = module(&json!({"probes": post, "miss": [{"status": [302]}]}));
    assert_eq!(led(&form, "https://site.example/ask").0, Outcome::Miss);
}

/// How a check ends, the type of its query, its address, the query, and the address of the answer.
const WORDS_OF_BARRIERS: &str = "
    hit username https://{query}.s.example/ consent https://consent.s.example/
    hit username https://{query}.s.example/ guce https://guce.s.example/en/?ref=guce.s.example
    hit username https://{query}.s.example/ login https://s.example/login
    hit username https://s.example/{query}/about sorry https://s.example/sorry/about
    hit username https://s.example/@{query} consent https://consent.s.example/
    hit username https://s.example/@{query} login https://s.example/login
    hit username https://s.example/?u={query} captcha.king https://s.example/captcha-king
    hit username https://s.example/?u={query} the_challenge https://s.example/u/TheChallenge
    hit username https://s.example/?u={query} blocked https://s.example/u/blocked/
    hit username https://s.example/?u={query} authwall https://s.example/?u=authwall
    hit domain https://{domain}/ consent.io https://www.consent.io/
    hit domain https://www.{domain}/ consent.io https://consent.io/
    hit domain https://{domain}/ captcha-delivery.com https://www.captcha-delivery.com/
    hit domain https://s.example/?d={domain} login.gov https://s.example/domain/login.gov
    hit email https://s.example/?e={query} sorry@x.org https://s.example/sorry/posts
    hit email https://s.example/?e={query} bob@captcha.org https://s.example/bob@captcha.org
    hit email https://{domain}/x?{local} bob@guce.io https://guce.io/x?bob
    # Barriers all the same: they are to lead back to the page, or have words of their own.
    login_wall username https://s.example/@{query} login https://s.example/login?next=%2F%40login
    login_wall username https://s.example/?u={query} login https://s.example/login?to=%2F%3Fu%3Dlogin
    captcha username https://s.example/x/{query} sorry https://s.example/sorry/?q=s.example/x/sorry
    captcha username https://s.example/x/{query} sorry https://s.example/captcha
    captcha username https://s.example/x/{query} a https://s.example/captcha
    login_wall username https://s.example/x/{query} captcha https://s.example/login
    consent_wall domain https://s.example/?d={domain} bob.io https://consent.s.example/
    captcha email https://s.example/?e={query} bob@captcha.org https://s.example/captcha
";

#[test]
fn an_address_with_the_words_of_a_barrier_is_none_if_the_query_has_them() {
    for row in rows(WORDS_OF_BARRIERS, 5) {
        let [end, search_type, url, query, final_url] = row[..] else { panic!("{row:?}") };
        let want = end_of(end);
        let module = module(&json!({"type": search_type, "probes": [{"url": url, "follow": true}]}));
        let query = Query::parse(module.search_type(), query).unwrap();
        let verdict = judge(&module, &query, &[Some(page(final_url, ""))]);
        assert_eq!(
            (verdict.outcome, verdict.reason.map(Reason::as_str)),
            want,
            "{url} {query:?} {final_url}"
        );
    }
}
