//! The account to which the page of a hit belongs.

use super::*;

/// Fails where a check of `addresses.txt` with this title ends otherwise with the pages.
fn play(title: &str, pages: fn(&str, &str) -> Vec<(String, String)>) {
    let sections = include_str!("addresses.txt").split("\n= ");
    let (_, rows) = sections.filter_map(|section| section.split_once('\n')).find(|it| it.0 == title).unwrap();
    for row in rows.lines().filter(|row| !row.is_empty() && !row.starts_with('#')) {
        let [end, kind, url, query, other] = row.splitn(5, ' ').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let scripts = (kind == "username").then_some("any");
        let probes = json!([{"url": url, "follow": true}]);
        let site = module(&json!({"type": kind, "probes": probes, "scripts": scripts}));
        let asked = url.replace("{query}", query);
        let query = Query::parse(site.search_type(), query).unwrap();
        for (final_url, head) in pages(&asked, other) {
            let body = format!("<html><head>{head}</head><body>profile</body></html>");
            let response = respond(200, &[("content-type", "text/html")], body);
            let response = Response { final_url: final_url.parse().unwrap(), ..response };
            let verdict = judge(&site, &query, &response);
            let ended = match verdict.outcome {
                Outcome::Hit => "hit",
                _ => verdict.reason.map_or("", Reason::as_str),
            };
            assert_eq!(ended, end, "{row}: {head}");
            let is_blocked = !["hit", "other_account", "front_page"].contains(&end);
            assert_eq!(verdict.outcome == Outcome::Blocked, is_blocked, "{row}");
        }
    }
}

#[test]
fn a_page_of_another_account_is_not_a_hit() {
    play("The address that a page names as its own", |asked, named| {
        let both = format!("<link rel=canonical href='{asked}'><meta property=og:url content='{named}'>");
        [
            format!("<link rel='alternate canonical' href='{named}'>"),
            format!("<meta property=og:url content='{named}'>"),
            format!("<title>Site</title>{both}"),
        ]
        .map(|head| (asked.to_owned(), head))
        .to_vec()
    });
}

#[test]
fn a_redirect_to_another_page_is_not_a_hit() {
    play("The address to which the request was redirected", |_, landed| {
        vec![(landed.to_owned(), String::new())]
    });
}
