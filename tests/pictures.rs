//! Profile pictures: the real binary, with a site over TLS that serves good and hostile pictures.

mod site;

use serde_json::{Value, json};
use sightline::base::encoding::sha256;

use crate::support::databases::{TestDatabase, databases};
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, ok, read_request, to, with_headers};
use site::{GOOD, HEAVY, HOSTILE, PictureSite};

/// Starts a search for `alice` with pictures, and returns its run when it has ended.
fn search(server: &Server, options: &Value) -> Value {
    let mut body = json!({"type": "username", "query": "alice", "avatars": true});
    body.as_object_mut().unwrap().extend(options.as_object().unwrap().clone());
    let answer = server.post(&body);
    assert_eq!(answer.status, 200, "{answer}");
    server.finished(answer.json()["run_id"].as_str().unwrap())
}

fn result_of<'a>(run: &'a Value, module: &str) -> &'a Value {
    let results = run["results"].as_array().unwrap();
    results.iter().find(|result| result["source"] == module).unwrap_or_else(|| panic!("no {module} in {run}"))
}

fn thumbnails(database: &TestDatabase) -> i64 {
    database.number("SELECT count(*) FROM thumbnails")
}

#[test]
fn good_pictures_are_kept_and_hostile_ones_change_nothing() {
    for database in databases() {
        let site = PictureSite::start();
        let server =
            Setup::real().database(&database.url).flags(&site.flags(&[GOOD, HOSTILE].concat())).start();
        let run = search(&server, &json!({}));
        let id = run["run_id"].as_str().unwrap();
        assert_eq!((&run["status"], &run["avatars"]), (&json!("completed"), &json!(true)));
        // A picture that cannot be had is not a failed check.
        let all = GOOD.len() + HOSTILE.len();
        assert_eq!((&run["coverage"]["hit"], &run["coverage"]["ratio"]), (&json!(all), &json!(1.0)), "{run}");
        for kind in GOOD {
            let result = result_of(&run, kind);
            let avatar = &result["metadata"]["avatar"];
            assert_eq!(avatar["sha256"], site::hex(&sha256(site::file(kind))), "{kind}: {result}");
            assert_eq!(avatar["phash"].as_str().map(str::len), Some(16), "{kind}");
            let path = format!("/v1/searches/{id}/thumbnails/{}", result["id"]);
            let shown = server.get(&path);
            assert_eq!((shown.status, shown.header("content-type")), (200, Some("image/png")), "{kind}");
            let png = png::Decoder::new(std::io::Cursor::new(&shown.body)).read_info().unwrap();
            assert_eq!((png.info().width, png.info().height), (64, 64));
            assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
            assert_eq!(shown.header("content-security-policy"), Some("default-src 'none'"));
            assert!(shown.header("cache-control").unwrap().starts_with("private, "), "{:?}", shown.headers);
            let tag = shown.header("etag").unwrap();
            let again = server.request("GET", &path).key(&server.key).header("If-None-Match", tag).send();
            assert_eq!((again.status, again.body.len()), (304, 0));
            let other = server.new_key("unlimited");
            server.request("GET", &path).key(&other).send().is_error(404, "not_found");
        }
        for kind in HOSTILE {
            let result = result_of(&run, kind);
            assert_eq!(result["metadata"]["avatar"], Value::Null, "{kind}: {result}");
            let path = format!("/v1/searches/{id}/thumbnails/{}", result["id"]);
            server.get(&path).is_error(404, "not_found");
        }
        for other in ["0", "999", "x", "1.5", "-1", "4294967297"] {
            server.get(&format!("/v1/searches/{id}/thumbnails/{other}")).is_error(404, "not_found");
        }
        let report =
            String::from_utf8(server.get(&format!("/v1/searches/{id}/export?format=html")).body).unwrap();
        let (_, results) = report.split_once("<h2>Results").unwrap();
        assert_eq!(results.matches("src=\"data:image/png;base64,").count(), GOOD.len());
        assert_eq!(results.matches(" id=\"result-").count(), GOOD.len() + HOSTILE.len());
        assert_eq!(thumbnails(&database), i64::try_from(GOOD.len()).unwrap());
        assert_eq!(server.delete(&format!("/v1/searches/{id}")).status, 204);
        assert_eq!(thumbnails(&database), 0);
    }
}

/// The most kilobytes that pictures take: a progressive JPEG takes three times the 64 MB of its pixels, and a GIF as much.
const MOST_MEMORY_KB: usize = 256 * 1024;

#[test]
fn pictures_are_decoded_one_at_a_time_in_bounded_memory() {
    assert!(HEAVY.iter().all(|kind| site::file(kind).len() <= 512 * 1024), "none is refused for its size");
    let site = PictureSite::start();
    let server = Setup::real().flags(&site.flags(&[HEAVY, &["png"]].concat())).start();
    let before = server.of_process("VmHWM");
    search(&server, &json!({}));
    // Each alone, too, because a search gives up pictures that have not begun after a while.
    for kind in HEAVY {
        let asked = site.asked_pictures();
        search(&server, &json!({"modules": [kind]}));
        assert!(site.asked_pictures() > asked, "{kind}");
    }
    // Whatever was being decoded has ended when another picture can be.
    eventually("a small picture is decoded", || {
        let run = search(&server, &json!({"modules": ["png"]}));
        result_of(&run, "png")["metadata"]["avatar"]["sha256"].is_string()
    });
    let grown = server.of_process("VmHWM").saturating_sub(before);
    println!("{grown} kB for pictures");
    assert!(grown < MOST_MEMORY_KB, "{grown} kB");
    // The limit is worth something only if some pictures were decoded.
    assert!(grown > 40 * 1024, "{grown} kB");
}

#[test]
fn no_picture_is_asked_for_without_the_option_or_in_a_passive_search() {
    let site = PictureSite::start();
    let server = Setup::real().flags(&site.flags(GOOD)).start();
    for options in [json!({"avatars": false}), json!({"avatars": null}), json!({"passive": true})] {
        let run = search(&server, &options);
        assert_eq!(
            (&run["coverage"]["hit"], &run["avatars"]),
            (&json!(GOOD.len()), &Value::Null),
            "{options}"
        );
    }
    assert_eq!(site.asked_pictures(), 0);
    search(&server, &json!({}));
    assert_eq!(site.asked_pictures(), GOOD.len());
    server
        .post(&json!({"type": "username", "query": "alice", "avatars": 1}))
        .is_error(400, "invalid_request");
}

/// The module is on a public address, for which a proxy on loopback answers. The proxy must not see the other ones.
#[test]
fn pictures_on_forbidden_addresses_are_not_fetched() {
    let secret = Site::saying(with_headers("Content-Type: image/png\r\n", &site::file("png")));
    let local = format!("http://127.0.0.1:{}/p.png", secret.addr.port());
    let addresses = [
        ("direct", local.clone()),
        ("metadata", "http://169.254.169.254/latest/meta-data/p.png".to_owned()),
        ("redirect", "http://1.2.3.4/moved".to_owned()),
    ];
    let of_module = addresses.clone();
    let proxy = Site::start(move |stream, connect| {
        use std::io::Write as _;
        assert_eq!(connect.line(), "CONNECT 1.2.3.4:80 HTTP/1.1");
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let Some(request) = read_request(stream) else { return };
        let found = of_module.iter().find(|(module, _)| request.path() == format!("/{module}/alice"));
        let answer = match found {
            Some((_, address)) => ok(&json!({"avatar": address}).to_string()),
            None => to(302, &local),
        };
        stream.write_all(&answer).unwrap();
    });
    let folder = Folder::new();
    let catalog = folder.path("catalog.json");
    let modules: Vec<Value> =
        addresses.iter().map(|(id, _)| site::module(id, &format!("http://1.2.3.4/{id}/{{query}}"))).collect();
    std::fs::write(&catalog, Value::Array(modules).to_string()).unwrap();
    let server = Setup::real()
        .flag("--no-builtin")
        .flag(&format!("--catalog={catalog}"))
        .flag(&format!("--outbound-proxy={}", proxy.url("")))
        .start();
    let run = search(&server, &json!({}));
    assert_eq!((&run["status"], &run["coverage"]["hit"]), (&json!("completed"), &json!(3)), "{run}");
    for (module, _) in addresses {
        assert_eq!(result_of(&run, module)["metadata"]["avatar"], Value::Null, "{module}");
    }
    assert_eq!(secret.connections(), 0);
    assert!(proxy.received().len() >= 4, "the three modules and the redirect");
}

/// A run that is interrupted fetches the pictures that it does not have, and nothing is charged twice.
#[test]
fn an_interrupted_run_fetches_its_pictures_again() {
    let site = PictureSite::start();
    let flags = site.flags(&["png", "held"]);
    let mut server = Setup::real().flags(&flags).start();
    let answer = server.post(&json!({"type": "username", "query": "alice", "avatars": true}));
    let id = answer.json()["run_id"].as_str().unwrap().to_owned();
    eventually("the picture is asked for", || site.held() == 1);
    server.terminate();
    site.release();
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.push("--sandbox=off");
    let server = server.restart(&flags);
    let run = server.finished(&id);
    assert_eq!((&run["status"], run["results"].as_array().unwrap().len()), (&json!("completed"), 2), "{run}");
    for module in ["png", "held"] {
        assert!(result_of(&run, module)["metadata"]["avatar"]["sha256"].is_string(), "{module}: {run}");
    }
    assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
}

/// Readers of a stream get the result again with its picture, before the end.
#[test]
fn a_stream_shows_pictures() {
    let site = PictureSite::start();
    let server = Setup::real().flags(&site.flags(GOOD)).start();
    let body = json!({"type": "username", "query": "alice", "avatars": true, "stream": true});
    let events = server.post_stream(&body).all();
    let with_picture = events
        .iter()
        .filter(|event| event.event == "result" && event.data["metadata"]["avatar"]["sha256"].is_string());
    assert_eq!(with_picture.count(), GOOD.len(), "{events:#?}");
    assert_eq!(events.last().unwrap().event, "done");
}
