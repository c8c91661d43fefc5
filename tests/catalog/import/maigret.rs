//! Import of Maigret's list.

use super::*;
use crate::support::site::to;

pub(super) fn site() -> Value {
    json!({
        "url": "{urlMain}u/{username}", "urlMain": "http://site.example/", "checkType": "message",
        "presenseStrs": ["since"], "absenceStrs": ["no such {member}"],
        "usernameClaimed": "ann", "usernameUnclaimed": "noone",
    })
}

fn list(entries: &[(&str, Value)]) -> Value {
    let sites: serde_json::Map<String, Value> =
        entries.iter().map(|(name, changes)| ((*name).to_owned(), with(site(), changes))).collect();
    json!({"sites": sites, "engines": {}, "tags": ["forum"]})
}

fn meadow(request: &Received) -> Vec<u8> {
    match request.path().rsplit('/').next().unwrap_or_default() {
        "ann" => status(200, "since 1999"),
        "moved" => to(302, "/members/ann"),
        "both" => status(200, "since ever no such {member}"),
        "neither" => status(200, "<p>welcome</p>"),
        "404" => status(404, "lost"),
        "404since" => status(404, "since"),
        "403" => status(403, "no such {member}"),
        "403since" => status(403, "since 1999"),
        "wall" => status(200, "since 1999 <i>prove {it}</i>"),
        "500" => status(500, "no such {member}"),
        _ => status(200, "no such {member}"),
    }
}

#[test]
fn presence_and_absence_texts_become_hit_and_miss_rules() {
    let list = list(&[
        ("Both", json!({"errors": {"prove {it}": "Captcha", "": "?"}})),
        (
            "Presence",
            json!({"absenceStrs": null, "presenseStrs": null, "presenceStrs": ["since", "member for"]}),
        ),
        ("Absence", json!({"presenseStrs": []})),
        ("Forbidden", json!({"ignore403": true})),
        ("Status", json!({"checkType": "status_code", "presenseStrs": null, "absenceStrs": null})),
        ("Redirect", json!({"checkType": "response_url", "absenceStrs": null})),
    ]);
    let lab = Lab::new(&list, meadow);
    let unknown = "error unrecognized";
    let blocked = "blocked forbidden";
    let table = [
        ("name", ["both", "presence", "absence", "forbidden", "status", "redirect"]),
        ("ann", ["hit"; 6]),
        ("nobody", ["miss", unknown, "miss", "miss", "hit", unknown]),
        ("both", ["miss", "hit", "miss", "miss", "hit", "hit"]),
        ("neither", [unknown, unknown, "hit", unknown, "hit", unknown]),
        ("404", ["miss", "miss", unknown, "miss", "miss", "miss"]),
        ("404since", [unknown, unknown, unknown, unknown, "miss", "miss"]),
        ("moved", ["hit", "hit", "hit", "hit", "hit", "miss"]),
        ("403", [blocked, blocked, blocked, "miss", blocked, blocked]),
        ("403since", [blocked, blocked, blocked, "hit", blocked, blocked]),
        ("wall", ["blocked barrier", "hit", "hit", "hit", "hit", "hit"]),
        ("500", ["error server_error"; 6]),
    ];
    for (name, outcomes) in &table[1..] {
        for (id, want) in table[0].1.iter().zip(outcomes) {
            // If every name is a hit, the control check detects it.
            let is_lax = *id == "status" && *want == "hit";
            let want = if is_lax { "unreliable control_hit" } else { want };
            assert_eq!(lab.outcome(&format!("maigret.{id}"), name), want, "{id} {name}");
        }
    }
}

#[test]
fn an_engine_is_merged_into_its_sites() {
    let mut list = list(&[
        (
            "One",
            json!({
                "engine": "Fo/rum", "url": "http://lost.example/", "checkType": null, "urlSubpath": "/board",
                "absenceStrs": ["gone"], "presenseStrs": ["please prove it", "about"], "errors": {"prove it": "Captcha"},
                "tags": ["us"],
            }),
        ),
        (
            "Two",
            json!({"engine": ["Fo/rum", "More"], "checkType": null, "absenceStrs": null, "presenseStrs": null}),
        ),
        ("Three", json!({"engine": "Lost"})),
        ("Four", json!({"engine": "Hollow"})),
    ]);
    list["engines"] = json!({
        "Fo/rum": {
            "name": "Fo/rum", "presenseStrs": ["not the site's"],
            "site": {
                "url": "{urlMain}{urlSubpath}//members/?u={username}", "checkType": "message",
                "absenceStrs": ["no such {member}"], "presenceStrs": ["since"], "errors": {"banned": "IP ban"},
            },
        },
        "More": {"site": {"absenceStrs": ["never"], "ignore403": true}},
        "Hollow": {},
    });
    let imported =
        take_over("list.json", &list.to_string().replace("site.example", "meadow.example")).unwrap();
    assert_eq!(
        notes(&imported.report, NoteKind::LeftOut),
        [
            "Three: its engine `Lost` is not among the list's `engines`, or has no `site`",
            "Four: its engine `Hollow` is not among the list's `engines`, or has no `site`",
        ]
    );
    let entries: Vec<Value> =
        imported.modules.iter().map(|module| serde_json::to_value(module.entry()).unwrap()).collect();
    let (one, two) = (&entries[0], &entries[1]);
    // Slashes are normalized as in the original tool.
    assert_eq!(one["probes"][0]["url"], "http://meadow.example/board/members/?u={query}");
    assert_eq!(two["probes"][0]["url"], "http://meadow.example/members/?u={query}");
    assert_eq!(one["hit"][0]["any_word"], json!(["since", "about"]));
    assert_eq!(one["hit"][0]["no_word"], json!(["gone", "no such {{member}}"]));
    assert_eq!(one["barrier"], json!([{"any_word": ["prove it", "banned"]}]));
    assert_eq!(one["tags"], json!(["maigret", "us", "fo-rum"]));
    assert_eq!(two["hit"][0]["no_word"], json!(["no such {{member}}", "never"]));
    assert_eq!(two["hit"][0]["status"], json!(["2xx", 403]));
}

#[test]
fn the_probe_follows_the_entry() {
    let list = list(&[
        (
            "Api",
            json!({
                "url": "https://meadow.example/{username}", "urlProbe": "{urlMain}/api//graph", "requestMethod": "post",
                "requestPayload": {"query": "{{ user(n: \"{username}\") {{ id }} }}", "deep": ["{username}"], "n": 5},
                "headers": {"Content-Type": "application/json", "X-Brace": "{username}"},
            }),
        ),
        (
            "Form",
            json!({
                "url": "{urlMain}form", "requestMethod": "POST", "requestPayload": {"u[]": "{username}", "n": 5},
                "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            }),
        ),
        (
            "Status",
            json!({"checkType": "status_code", "requestPayload": {"a": "b"}, "getParams": {"b": "x y", "n": 5}}),
        ),
        ("More", json!({"url": "{urlMain}?u={username}#top", "getParams": {"a": "b"}})),
    ]);
    let lab = Lab::new(&list, |_| status(404, ""));
    for id in ["api", "form", "status", "more"] {
        lab.check(&format!("maigret.{id}"), "bob");
    }
    // Each miss is confirmed with the known account.
    let received: Vec<Received> = lab.site.received().into_iter().step_by(2).collect();
    let lines: Vec<&str> = received.iter().map(Received::line).collect();
    assert_eq!(
        lines,
        [
            "POST //api//graph HTTP/1.1",
            "POST /form HTTP/1.1",
            "GET /u/bob?b=x%20y&n=5 HTTP/1.1",
            "GET /?u=bob&a=b HTTP/1.1",
        ]
    );
    let body: Value = serde_json::from_slice(&received[0].body).unwrap();
    assert_eq!(body, json!({"query": "{ user(n: \"bob\") { id } }", "deep": ["{username}"], "n": 5}));
    assert_eq!(received[0].header("x-brace").as_deref(), Some("{username}"));
    assert_eq!(received[1].body, b"n=5&u%5B%5D=bob");
    assert_eq!(received[1].header("content-type").as_deref(), Some("application/x-www-form-urlencoded"));
}

#[test]
fn what_an_entry_says_beside_its_rules_is_kept() {
    let entry = only_entry(&list(&[(
        "Meadow [EU]",
        json!({
            "url": "https://{username}.meadow.example/#top", "urlMain": "https:/meadow.example", "disabled": true,
            "tags": ["us", "Q&A", "porn"], "alexaRank": 12, "checkType": "status_code",
            "regexCheck": "^[a-z]+$", "presenseStrs": null, "absenceStrs": null, "source": "Elsewhere",
        }),
    )]));
    let want = json!({
        "id": "maigret.meadow-eu", "platform": "Meadow [EU]", "type": "username", "category": "adult",
        "tags": ["maigret", "us", "q-a", "porn"], "rank": 12, "enabled": false, "nsfw": true,
        "home": "https://meadow.example/", "profile": "https://{query}.meadow.example/", "accepts": "^[a-z]+$",
        "probes": [{"url": "https://{query}.meadow.example/", "follow": true}],
        "hit": [{"status": ["2xx"]}], "miss": [{"status": [400, 404, 410, 422]}], "known": ["ann"],
    });
    assert_eq!(entry, want);
}

#[test]
fn what_is_lost_of_an_entry_is_told() {
    let list = list(&[
        (
            "Fragment",
            json!({"url": "https://meadow.example/#/{username}", "urlProbe": "https://meadow.example/api/{username}"}),
        ),
        ("Words", json!({"alexaRank": "high", "encoding": "gbk", "newThing": 1, "usernameClaimed": "a b"})),
        ("More", json!({"newThing": 2, "alexaRank": 0})),
    ]);
    let imported =
        take_over("list.json", &list.to_string().replace("site.example", "meadow.example")).unwrap();
    assert_eq!(
        notes(&imported.report, NoteKind::Changed),
        [
            "Fragment: its page has the name after a `#`, which links of results cannot contain: `https://meadow.example/#/NAME`",
            "Words: its known name `a b` is not valid here",
            ": `encoding` is not used (1 entries)",
            ": `newThing` is not used (2 entries)",
            ": `usernameUnclaimed` is not used (3 entries)",
        ]
    );
}

#[test]
fn what_cannot_be_asked_is_left_out_with_the_reason() {
    let list = list(&[
        ("Id", json!({"type": "gaia_id"})),
        ("Tor", json!({"protocol": "tor"})),
        ("Dns", json!({"protocol": "dns", "url": "{username}.com"})),
        ("Token", json!({"activation": {"method": "x"}, "disabled": true})),
        ("Similar", json!({"similarSearch": true})),
        ("Texts", json!({"presenseStrs": null, "absenceStrs": null})),
        ("Type", json!({"checkType": "smell"})),
        ("None", json!({"checkType": null})),
        ("Field", json!({"url": "{urlMain}{userId}"})),
        ("Brace", json!({"url": "{urlMain}{username"})),
        (
            "Braces",
            json!({
                "requestMethod": "POST", "requestPayload": {"u{}": "{username}"},
                "headers": {"Content-Type": "application/x-www-form-urlencoded"},
            }),
        ),
        ("Nobody", json!({"url": "{urlMain}"})),
        ("Null", json!({"url": null})),
        ("Same", json!({"absenceStrs": ["since"]})),
        ("Wrong", json!({"errors": ["x"]})),
        ("Walled", json!({"errors": {"sin": "?"}})),
    ]);
    let imported =
        take_over("list.json", &list.to_string().replace("site.example", "meadow.example")).unwrap();
    assert_eq!((imported.modules.len(), imported.report.off), (0, 1));
    assert_eq!(
        notes(&imported.report, NoteKind::LeftOut),
        [
            "Id: it accepts a `gaia_id`, not a username",
            "Tor: it is reached over `tor`, and only public websites are supported",
            "Dns: it looks up a domain of that name, and a domain is not an account",
            "Token: it needs a token that Maigret's own code fetches first (`activation`) (the list has disabled it, too)",
            "Similar: it finds accounts with similar names (`similarSearch`)",
            "Texts: its type is `message`, but it has neither presence nor absence texts",
            "Type: unknown type `smell`; status_code, message, response_url are supported",
            "None: the type of its check is missing",
            "Field: `{userId}` is not a variable of this list",
            "Brace: an unmatched `{` in `{urlMain}{username`",
            "Braces: probes[0].form: `u{}` is not allowed here; a name is sent as it is: allowed are all characters but `{` and `}`",
            format!("Nobody: {NOT_ABOUT_THE_QUERY}").as_str(),
            "Null: `url` is missing",
            "Same: one text marks both an existing account and a missing one",
            "Wrong: `errors`: invalid type: sequence, expected a map",
            "Walled: each of its presence texts is among its own `errors`",
        ]
    );
}
