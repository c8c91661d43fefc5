//! Measures the time to judge and read a page of 100 KB. It prints figures and asserts nothing about time.
//!
//! `cargo test --release --test main checks::speed -- --ignored --nocapture --test-threads 1`

use super::*;

const PAGE_BYTES: usize = 100 * 1000;
/// The time for which each figure is measured.
const MEASURED: Duration = Duration::from_millis(700);

/// A typical profile page: metadata, scripts and a hundred posts.
fn profile_page() -> String {
    let mut html = String::from(
        r#"<!doctype html><html lang=en><head><meta charset=utf-8><title>Bob Example (@bob) | Site</title>
        <link rel=canonical href="https://site.example/u/bob"><meta property="og:title" content="Bob Example (@bob)">
        <meta property="og:description" content="Maps and mountains"><meta property="og:image" content="/i/bob.png">
        <script>window.__STATE__={"user":{"login":"bob","followers":12,"posts":["#,
    );
    for number in 0..150 {
        html.push_str(&format!(r#"{{"id":{number},"text":"a post \"quoted\" & more","tags":["a","b"]}},"#));
    }
    html.push_str("null]}};</script></head><body><header><nav><ul>");
    for number in 0..60 {
        html.push_str(&format!(
            "<li class=\"item n{number}\"><a href=\"/section/{number}\">Section {number}</a></li>"
        ));
    }
    html.push_str("</ul></nav></header><main><h1 class=name>bob</h1><div class=followers>12 followers</div>");
    for number in 0.. {
        if html.len() > PAGE_BYTES {
            break;
        }
        html.push_str(&format!(
            "<article class=\"post card\" id=p{number} data-n={number}><h2><a href='/p/{number}'>Post {number}</a></h2>\
             <p>Walked up the hill &amp; down again; saw <b>two</b> birds, one of them large.</p>\
             <span class=meta><time datetime=2024-01-02>today</time> · <i>{number} likes</i></span></article>"
        ));
    }
    html.push_str("</main></body></html>");
    html
}

fn profile_json() -> String {
    let posts: Vec<Value> = (0..700)
        .map(|number| json!({"id": number, "title": format!("Post {number}"), "text": "Walked up the hill & down again; saw two birds", "tags": ["a", "b"]}))
        .collect();
    json!({"login": "bob", "followers": 12, "posts": posts}).to_string()
}

/// Returns the microseconds of one call: the median of all calls in the given time.
fn micros(mut call: impl FnMut()) -> f64 {
    let mut each = Vec::new();
    let started = Instant::now();
    while started.elapsed() < MEASURED || each.len() < 5 {
        let at = Instant::now();
        call();
        each.push(at.elapsed());
    }
    each.sort();
    each[each.len() / 2].as_secs_f64() * 1e6
}

#[test]
#[ignore = "measures; its figures are for people"]
fn the_cost_of_a_page_of_100_kb() {
    let (html, api) = (profile_page(), profile_json());
    let html = respond(200, &[("content-type", "text/html; charset=utf-8")], html);
    let api = respond(200, &[("content-type", "application/json")], api);
    let nobody = json!([{"status": [200], "words": ["No such member"]}]);
    let metadata = json!({"type": "profile", "metadata": {
        "followers": {"from": ["css:.followers"], "transform": ["number"]}, "name": "css:h1", "tags": "script:/user/posts/*/id",
    }});
    println!("| what | bytes | judge µs | whole check µs | pages a second |");
    for (what, fields, response) in [
        ("status alone: the barriers and whose page it is", json!({}), &html),
        ("words", json!({"hit": [{"words": ["class=name", "{query}"]}], "miss": nobody}), &html),
        (
            "words, any case",
            json!({"hit": [{"words": ["CLASS=name", "{query}"], "ignore_case": true}], "miss": nobody}),
            &html,
        ),
        (
            "regex with the query",
            json!({"hit": [{"regex": "(?i)<h1[^>]*>{query}</h1>"}], "miss": nobody}),
            &html,
        ),
        (
            "regex without",
            json!({"hit": [{"regex": "<time datetime=\\d{4}-\\d\\d"}], "miss": [{"regex": "(?:user|member) (?:is )?(?:gone|missing)"}]}),
            &html,
        ),
        (
            "elements",
            json!({"hit": [{"css": [{"select": "main h1.name", "equals_query": true}, "article.post time[datetime]"]}], "miss": [{"css": ["div.error-404"]}]}),
            &html,
        ),
        (
            "elements and metadata",
            json!({"hit": [{"css": ["main h1.name"]}], "miss": nobody, "result": metadata}),
            &html,
        ),
        (
            "JSON",
            json!({"hit": [{"json": [{"at": "/login", "equals_query": true}]}], "result": {"type": "profile", "metadata": {
                "followers": "json:/followers", "posts": "count:/posts/*"}}}),
            &api,
        ),
    ] {
        let mut fields = fields;
        fields["control"] = json!(false);
        let site = module(&fields);
        let query = username("bob");
        let answers = [Some(response.clone())];
        assert_eq!(judge(&site, &query, &answers).outcome, Outcome::Hit, "{what}");
        let judged = micros(|| assert_eq!(judge(&site, &query, &answers).outcome, Outcome::Hit));
        let given = response.clone();
        let bench = Bench::new(move |_| Ok(given.clone()));
        let checked = micros(|| assert_eq!(bench.check(&site, &query).outcome, Outcome::Hit));
        println!("| {what} | {} | {judged:.0} | {checked:.0} | {:.0} |", response.body.len(), 1e6 / checked);
    }
}
