//! The catalogue feed: signed, checked, used by running servers without a restart, and kept.

use jiff::{SignedDuration, Timestamp};
use sightline::base::signature::SigningKey;
use sightline::modules::catalog::{Feed, FeedVersion};
use sightline::store::{self, Role};

use super::*;
use crate::cli::{Folder, ran};
use crate::support::databases::{databases, sqlite};
use crate::support::eventually;
use crate::support::held_site::Site;
use crate::support::server::{Server, Setup};
use crate::support::site::{self, answer, page, to, with_headers};
use crate::web::person::{Person, text};

const PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
    -----END PRIVATE KEY-----\n";
const FAILED: &str = "sightline_catalog_feed_failed";
const AGE: &str = "sightline_catalog_feed_age_seconds";

fn key() -> SigningKey {
    SigningKey::from_pem(PEM).unwrap()
}

fn another_key() -> SigningKey {
    SigningKey::from_pem(&PEM.replace("BCIEINTu", "BCIEINTv")).unwrap()
}

/// Returns the option that trusts a key.
fn trust(key: &SigningKey) -> String {
    format!("--catalog-key={}", key.public_key())
}

/// Returns the text of a feed that was signed so many seconds ago.
fn signed(seconds: i64, entries: &[Value], key: &SigningKey) -> String {
    let entries = entries.iter().map(|entry| serde_json::from_value(entry.clone()).unwrap()).collect();
    Feed::write(entries, Timestamp::now() - SignedDuration::from_secs(seconds), key)
}

fn opened(text: &str) -> Feed {
    Feed::open(text, &[key().public_key()]).unwrap()
}

/// Returns an entry with this id for a site of the test's own.
fn entry(site: &Site, id: &str, asks: &str, host: usize) -> Value {
    let mut entry = site.module(asks, host);
    entry["id"] = json!(id);
    entry
}

/// A server whose own catalogue is the module `old`, with a feed in a file that it reads every moment.
struct Lab {
    site: Site,
    folder: Folder,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { site: Site::start(), folder: Folder::new() };
        lab.site.answer_at_once("old", 404);
        lab
    }

    fn setup(&self, feed: &str, key: &SigningKey) -> Setup {
        let flags = self.site.flags_of(&[self.site.module("old", 1)], &[]);
        let setup =
            Setup::real().flags(&flags).flag("--times=catalog-feed=100ms,control-ttl=0s,share-answers=10m");
        setup.flag(&format!("--catalog-feed={feed}")).flag(&trust(key))
    }

    fn file(&self, text: &str) -> String {
        self.folder.file("feed.json", text)
    }
}

fn modules(server: &Server) -> Vec<String> {
    let shown = server.get("/v1/modules").json();
    shown["modules"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the age of the feed that the API shows.
fn age(server: &Server) -> Option<i64> {
    server.get("/v1/modules").json()["feed"]["age_seconds"].as_i64()
}

/// Returns what the module of the feed says to a search for a new name.
fn report(server: &Server, module: &str, name: &str) -> (Value, Value) {
    let run = server.search("username", name);
    server.finished(&run);
    let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
    let all = reports["modules"].as_array().unwrap().clone();
    let of_module = all.into_iter().find(|report| report["module"] == module).unwrap();
    (of_module["status"].clone(), of_module["reason"].clone())
}

#[test]
fn a_changed_cut_or_foreign_feed_is_refused() {
    let good = signed(0, &[super::entry()], &key());
    for (text, want) in [
        (good.replace("site.example", "evil.example"), "the signature fits no --catalog-key"),
        (signed(0, &[super::entry()], &another_key()), "the signature fits no --catalog-key"),
        (good[..good.len() - 20].to_owned(), "not a complete feed"),
        (String::new(), "not a complete feed"),
        (json!([super::entry()]).to_string(), "not a complete feed, as `sightline catalog sign` writes it"),
    ] {
        let error = Feed::open(&text, &[key().public_key()]).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    Feed::open(&good, &[another_key().public_key(), key().public_key()]).unwrap();
    let of_another_format = |signed: &str| {
        let signature = key().sign(signed.as_bytes());
        let text = format!("{{\"signed\": {signed}, \"signature\": \"{signature}\"}}");
        Feed::open(&text, &[key().public_key()]).unwrap_err()
    };
    let later =
        of_another_format(r#"{"format": "x-2", "created_at": "2026-05-06T07:08:09Z", "entries": []}"#);
    assert!(later.starts_with("unknown format \"x-2\""), "{later}");
    assert!(
        of_another_format(r#"{"format": "sightline-catalog-feed-1"}"#).starts_with("not a complete feed")
    );
}

#[test]
fn a_feed_of_a_wrong_date_or_size_replaces_none() {
    let now = Timestamp::now();
    let version =
        |seconds: i64, entries| FeedVersion { created_at: now + SignedDuration::from_secs(seconds), entries };
    let in_use = version(-100, 11);
    for (fetched, want) in [
        (version(3600, 11), "one of the clocks is wrong"),
        (version(-101, 11), "before the feed in use"),
        (version(0, 5), "5 entries instead of 11: a feed must keep at least half of them"),
    ] {
        let error = fetched.check(Some(&in_use), now).unwrap_err();
        assert!(error.contains(want), "{error}");
    }
    version(0, 6).check(Some(&in_use), now).unwrap();
    version(60, 1).check(None, now).unwrap();
}

#[test]
fn an_entry_of_a_feed_replaces_the_built_in_one_and_a_file_replaces_both() {
    let folder = Folder::new();
    let named = |platform: &str| {
        let mut entry = super::entry();
        (entry["id"], entry["platform"]) = (json!("github"), json!(platform));
        entry
    };
    let feed = opened(&signed(0, &[named("Of the feed"), super::entry()], &key()));
    let file = folder.file("mine.json", &json!([named("Of the file")]).to_string());
    let platform = |files: &[&str], feed: Option<&Feed>| {
        let files: Vec<_> = files.iter().map(PathBuf::from).collect();
        let catalog = Catalog::load(true, &files, feed).unwrap();
        let all = catalog.modules().len();
        (catalog.get("github").unwrap().platform().to_owned(), all)
    };
    let (built_in, count) = platform(&[], None);
    assert_eq!(built_in, "GitHub");
    assert_eq!(platform(&[], Some(&feed)), ("Of the feed".to_owned(), count + 1));
    assert_eq!(platform(&[&file], Some(&feed)), ("Of the file".to_owned(), count + 1));

    let mut wrong = super::entry();
    wrong["needs"] = json!(["config.unused"]);
    let wrong = opened(&signed(0, &[wrong], &key()));
    let error = Catalog::load(true, &[], Some(&wrong)).unwrap_err().to_string();
    assert!(error.contains("catalogue feed:") && error.contains(": site: needs[0]: "), "{error}");
}

#[test]
fn signed_modules_are_a_feed() {
    let folder = Folder::new();
    let file = folder.file("mine.json", &json!([super::entry()]).to_string());
    let (pem, output) = (folder.file("key.pem", PEM), folder.path("feed.json"));
    let sign = |key: &str, more: &[&str]| {
        ran(&[&["catalog", "sign", "--key", key, "--output", &output], more].concat(), &[])
    };
    let public = sign(&pem, &["--no-builtin", "--catalog", &file]).code_is(0).out;
    assert_eq!(public.trim(), key().public_key().to_string());
    let feed = opened(&std::fs::read_to_string(&output).unwrap());
    assert_eq!(feed.version.entries, 1);
    feed.version.check(None, Timestamp::now()).unwrap();
    sign(&pem, &[]).code_is(0);
    let all = opened(&std::fs::read_to_string(&output).unwrap()).version.entries;
    assert_eq!(all, builtin().modules().len());
    sign(&file, &[]).code_is(2).err_has("expected a private Ed25519 key in PEM").never_prints("site.example");
}

#[test]
fn a_running_server_uses_new_feeds_and_keeps_the_last_good_one() {
    for database in databases() {
        let lab = Lab::new();
        let path = lab.file(&signed(100, &[entry(&lab.site, "new", "first", 2)], &key()));
        let mut server = lab.setup(&path, &key()).database(&database.url).start();
        eventually("the server has the feed", || modules(&server) == ["new", "old"]);
        assert!((100..200).contains(&age(&server).unwrap()));
        assert!((100.0..200.0).contains(&server.figure(AGE)));
        assert_eq!(server.figure(FAILED), 0.0);
        let before = server.search("username", "before");
        lab.site.wait_for_held(1);
        let newer = signed(10, &[entry(&lab.site, "new", "second", 3)], &key());
        lab.file(&newer);
        eventually("the entry is replaced", || age(&server).unwrap() < 100);
        lab.site.answer_one(404);
        server.finished(&before);
        let asked = |module: &str, name: &str| lab.site.asked().contains(&(module.into(), name.into()));
        assert!(asked("first", "before") && !asked("second", "before"), "a run keeps its modules");
        ["first", "second"].into_iter().for_each(|module| lab.site.answer_at_once(module, 200));
        assert_eq!(report(&server, "new", "alice").0, "hit");
        assert!(asked("second", "alice") && !asked("first", "alice"));

        lab.file(&signed(50, &[entry(&lab.site, "new", "first", 2)], &key()));
        eventually("an older one is refused", || server.figure(FAILED) == 1.0);
        assert!(server.log().contains("before the feed in use"), "{}", server.log());
        lab.file(&newer);
        eventually("the feed is good again", || server.figure(FAILED) == 0.0);
        lab.file(&newer[..newer.len() / 2]);
        eventually("a cut one is refused", || server.figure(FAILED) == 1.0);
        let email = format!("{}@example.org", uuid::Uuid::new_v4().simple());
        let ann = Person::signed_in(&server, &email, "pro");
        server.cli(&["account", "set-role", "--email", &email, "--role", "operator"]);
        let page = text(&ann.get("/app/operator"));
        assert!(page.contains("The catalogue feed in use was signed"), "{page}");
        assert!(page.contains("was not renewed: not a complete feed"), "{page}");

        let api_key = server.key.clone();
        server.kill();
        for (trusted, want) in [(key(), &["new", "old"][..]), (another_key(), &["old"])] {
            let away = format!("http://127.0.0.1:{}/feed.json", site::closed_port());
            let mut server = lab.setup(&away, &trusted).database(&database.url).start();
            server.key.clone_from(&api_key);
            assert_eq!(modules(&server), want, "{}", database.name);
            eventually("no feed is found", || server.figure(FAILED) == 1.0);
            assert!(server.log().contains(&format!(": {away}: ")), "{}", server.log());
        }
    }
}

#[test]
fn a_kept_feed_that_does_not_load_is_still_the_oldest_that_is_accepted() {
    for database in databases() {
        let lab = Lab::new();
        let mut wrong = entry(&lab.site, "new", "first", 2);
        wrong["needs"] = json!(["config.unused"]);
        let keep = |seconds: i64, key: &SigningKey| {
            let text = signed(seconds, &[wrong.clone()], key);
            let store = store::open(&database.url.parse().unwrap(), Role::Command).unwrap();
            store.keep_catalog_feed(Timestamp::now() - SignedDuration::from_secs(seconds), &text).unwrap();
            assert_eq!(store.catalog_feed().unwrap(), Some(text), "{}", database.name);
        };
        // A feed of another key, which is not used, is no reason to lose a later one that is dated before it.
        keep(0, &another_key());
        keep(50, &key());
        let path = lab.file(&signed(100, &[entry(&lab.site, "new", "first", 2)], &key()));
        let server = lab.setup(&path, &key()).database(&database.url).start();
        eventually("an older one is refused", || server.figure(FAILED) == 1.0);
        assert!(server.log().contains("the catalogue feed that was kept is not used"), "{}", server.log());
        assert!(server.log().contains("before the feed in use"), "{}", server.log());
        lab.file(&signed(10, &[entry(&lab.site, "new", "first", 2)], &key()));
        eventually("a newer one is used", || modules(&server) == ["new", "old"]);
    }
}

#[test]
fn what_was_learned_of_an_entry_is_forgotten_when_a_feed_changes_it() {
    let site = site::Site::by_path(|path| {
        let is_miss = !path.starts_with("/broken/") && !path.contains("alice");
        page(if is_miss { 404 } else { 200 })
    });
    let lab = Lab::new();
    let entry = |path: &str| {
        let mut entry = super::entry();
        entry["probes"][0]["url"] = json!(site.url(&format!("/{path}/{{query}}")));
        entry["control"] = json!(true);
        entry
    };
    let path = lab.file(&signed(100, &[entry("good")], &key()));
    let database = sqlite();
    let server = lab.setup(&path, &key()).database(&database.url).start();
    eventually("the server has the feed", || age(&server).is_some());
    assert_eq!(report(&server, "site", "alice").0, "hit");
    lab.file(&signed(50, &[entry("broken")], &key()));
    eventually("the entry is changed", || age(&server).unwrap() < 100);
    // A site that shows a profile for every name.
    for name in ["alice2", "second"] {
        assert_eq!(report(&server, "site", name), (json!("unreliable"), json!("control_hit")));
    }
    assert_eq!(report(&server, "site", "third"), (json!("unreliable"), json!("quarantined")));
    lab.file(&signed(0, &[entry("mended")], &key()));
    eventually("the entry is mended", || age(&server).unwrap() < 50);
    assert_eq!(report(&server, "site", "fourth").0, "miss");
}

#[test]
fn a_feed_is_downloaded_through_the_guard_and_the_simulated_web_has_its_sites() {
    let mut entry = super::entry();
    entry["id"] = json!("of-the-feed");
    let feed = signed(0, &[entry], &key()).into_bytes();
    let site = site::Site::by_path(move |path| match path {
        "/feed" => with_headers("", &feed),
        "/moved" => to(302, "/feed"),
        _ => answer(404, "text/plain", ""),
    });
    let start = |url: &str, lab: bool| {
        let setup = Setup::new().flag(&format!("--catalog-feed={url}")).flag(&trust(&key()));
        if lab { setup.flag("--allow-private-targets") } else { setup }.start()
    };
    let server = start(&site.url("/moved"), true);
    eventually("the server has the feed", || age(&server).is_some());
    let chosen = json!({
        "type": "username", "query": "everybody", "modules": ["of-the-feed"], "wait": true,
    });
    let run = server.post(&chosen).json();
    assert_eq!((&run["coverage"]["hit"], &run["status"]), (&json!(1), &json!("completed")), "{run}");
    drop(server);
    for (url, lab, want) in [
        (site.url("/none"), true, "expected status 200 and at most"),
        (site.url("/feed"), false, "the address is not allowed"),
        (site.url("/feed").replace("http://", "https://u:hunter2@"), false, "the address is not allowed"),
    ] {
        let server = start(&url, lab);
        eventually("the feed is refused", || server.figure(FAILED) == 1.0);
        assert!(server.log().contains(want) && !server.log().contains("hunter2"), "{}", server.log());
        assert!(modules(&server).len() > 1, "the catalogue stays");
    }
}
